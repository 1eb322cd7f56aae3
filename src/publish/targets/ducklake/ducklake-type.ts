import type { LakeTarget } from '../../../config/targets/ducklake.ts'
import { representedValue } from '../postgres/representation.ts'
import type { TargetType } from '../target-type.ts'

export const ducklakeType: TargetType<LakeTarget> = {
  // A table's statistics keep the minimum and maximum of deleted rows.
  erasesByDelta: false,
  // A lake cannot search for a text with a NUL, and its catalog in PostgreSQL cannot store one.
  represent: representedValue,
  contents: () => [],
  partitionBy: () => null,
  open: async (database, target, { extensions }) =>
    (await import('./ducklake.ts')).openDuckLake(database, target, extensions),
  isMaintained: true,
  folder: async ({ data, s3 }) => (s3 === null ? data : null),
  probe: target => async (database, extensions) =>
    (await import('./ducklake.ts')).probeLake(database, target, extensions),
}
