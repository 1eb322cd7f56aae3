import { dirname } from 'node:path'
import type { SnapshotTarget } from '../../../config/targets/snapshot.ts'
import { destinationOf } from '../../../files/destination.ts'
import { loadExtension } from '../../target-database.ts'
import type { TargetType } from '../target-type.ts'

export const snapshotType: TargetType<SnapshotTarget> = {
  // Deleted values survive in the free blocks of a copied file.
  erasesByDelta: false,
  contents: ({ search, compress }) => [search, compress],
  partitionBy: () => null,
  fill: async (filling, selection, target) =>
    (await import('./fill-snapshot.ts')).fillSnapshot(filling, selection, target),
  // Each writing thread holds a row group of a wide table.
  mostThreads: 2,
  async open(database, target, { extensions, refill = false }) {
    if (target.search) await loadExtension(database, 'fts', extensions)
    return (await import('./snapshot.ts')).openSnapshot(database, { ...target, refill })
  },
  isMaintained: false,
  folder: async ({ path }) => dirname(await destinationOf(path)),
  probe: ({ search }) =>
    search === undefined
      ? null
      : async (database, extensions) => {
          await loadExtension(database, 'fts', extensions)
          return 'with the extension fts'
        },
}
