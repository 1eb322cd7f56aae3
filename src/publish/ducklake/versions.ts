// What a version of a lake says of itself (`lake.snapshots()`): who wrote it, and whether by a publication or by maintenance.
import { quoteText } from '../../catalog/layout.ts'
import { ATTACHED } from '../attached.ts'
import type { Lake } from './lake.ts'

const AUTHOR = 'convohouse'

/** Maintenance writes rows into other files, which the change feed shows as updates: readers leave out versions with this message. */
const MAINTENANCE = 'maintenance'

/** In the description of a version after which no earlier one may be kept. A catalog in a file is without it once it is written again. */
export const ERASES = '"erases":true'

/** Describes the version that the current transaction makes. */
async function describe({ database }: Lake, message: string, facts: string): Promise<void> {
  await database.run(
    `CALL ducklake_set_commit_message('${ATTACHED}', '${AUTHOR}', ${quoteText(message)}, extra_info => ${quoteText(facts)})`,
  )
}

/** `asOf`: when the rows were read from the warehouse. */
export const describePublication = (
  lake: Lake,
  { kind, asOf, erases }: { kind: 'delta' | 'refill'; asOf: string; erases: boolean },
): Promise<void> => describe(lake, kind, `{"asOf":"${asOf}"${erases ? `,${ERASES}` : ''}}`)

/** `erases`: it is part of an erasure, which is pending as long as a version says so. */
export const describeMaintenance = (lake: Lake, { erases }: { erases: boolean }): Promise<void> =>
  describe(lake, MAINTENANCE, erases ? `{${ERASES}}` : '{}')

/** Ids of all versions, the newest last. */
export async function versionsOf({ database, catalogTable }: Lake): Promise<number[]> {
  const rows = await database.rows<{ id: string }>(
    `SELECT snapshot_id::VARCHAR AS id FROM ${catalogTable('ducklake_snapshot')} ORDER BY snapshot_id`,
  )
  return rows.map(({ id }) => Number(id))
}

/** Says in a version that an erasure is pending, before all versions before it expire: it may be one that an owner has made meanwhile. */
export async function keepPending({ database, catalogTable }: Lake, version: number): Promise<void> {
  await database.run(`
    UPDATE ${catalogTable('ducklake_snapshot_changes')} SET commit_extra_info = coalesce(commit_extra_info, '') || '{${ERASES}}'
    WHERE snapshot_id = ${version} AND NOT coalesce(contains(commit_extra_info, ${quoteText(ERASES)}), false)`)
}

/** True while versions exist that an erasure has to remove, or a catalog in a file that it has to write again. */
export async function hasPendingErasure({ database, catalogTable, target }: Lake): Promise<boolean> {
  const hasEarlier = `snapshot_id > (SELECT min(snapshot_id) FROM ${catalogTable('ducklake_snapshot')})`
  const rows = await database.rows(`
    SELECT 1 FROM ${catalogTable('ducklake_snapshot_changes')} WHERE contains(commit_extra_info, ${quoteText(ERASES)})
      ${target.catalog.type === 'postgres' ? `AND ${hasEarlier}` : ''} LIMIT 1`)
  return rows.length > 0
}
