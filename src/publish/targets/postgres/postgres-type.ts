import type { PostgresTarget } from '../../../config/targets/postgres.ts'
import { loadExtension } from '../../target-database.ts'
import type { TargetType } from '../target-type.ts'
import { obstaclesOf, representedValue } from './representation.ts'

export const postgresType: TargetType<PostgresTarget> = {
  erasesByDelta: true,
  represent: representedValue,
  obstacles: obstaclesOf,
  contents: ({ search }) => [search],
  partitionBy: () => null,
  async open(database, target, { extensions }) {
    await loadExtension(database, 'postgres_scanner', extensions)
    return (await import('./postgres.ts')).openPostgres(database, target)
  },
  isMaintained: false,
  folder: async () => null,
  probe: target => async (database, extensions) => {
    await loadExtension(database, 'postgres_scanner', extensions)
    return (await import('./postgres.ts')).probePostgres(database, target)
  },
}
