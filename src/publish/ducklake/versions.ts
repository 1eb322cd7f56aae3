// What a version of a lake says of itself (`lake.snapshots()`): who wrote it, and whether by a publication or by maintenance.
import { quoteText } from '../../catalog/layout.ts'
import { ATTACHED } from '../attached.ts'
import type { Lake } from './lake.ts'

const AUTHOR = 'convohouse'

/** Maintenance writes rows into other files, which the change feed shows as updates: readers leave out versions with this message. */
const MAINTENANCE = 'maintenance'

/** In the description of a version after which no earlier one may be kept. */
const ERASES = '"erases":true'

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

export const describeMaintenance = (lake: Lake): Promise<void> => describe(lake, MAINTENANCE, '{}')

/** Ids of all versions but the newest. */
export async function earlierVersions({ database, catalogTable }: Lake): Promise<number[]> {
  const rows = await database.rows<{ id: string }>(
    `SELECT snapshot_id::VARCHAR AS id FROM ${catalogTable('ducklake_snapshot')} ORDER BY snapshot_id`,
  )
  return rows.slice(0, -1).map(({ id }) => Number(id))
}

/** True while versions exist that an erasure has to remove. */
export async function hasPendingErasure({ database, catalogTable }: Lake): Promise<boolean> {
  const rows = await database.rows(`
    SELECT 1 FROM ${catalogTable('ducklake_snapshot_changes')} WHERE contains(commit_extra_info, ${quoteText(ERASES)})
      AND snapshot_id > (SELECT min(snapshot_id) FROM ${catalogTable('ducklake_snapshot')}) LIMIT 1`)
  return rows.length > 0
}
