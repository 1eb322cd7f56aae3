// The time zone of a workspace's days. It is stored with the rows (`_workspaces`), which are updated when the configuration changes.
import { layoutOf, quoteText } from '../../catalog/layout.ts'
import { RECORD_TYPES } from '../../catalog/records.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { beginEpoch } from '../changes/log-changes.ts'
import type { Writer } from '../connection.ts'

/** Asks DuckDB itself, since Node knows other time zones. @throws CONFIG_INVALID, before anything is requested and billed */
export async function expectTimeZones(
  { rows }: Pick<Writer, 'rows'>,
  workspaces: readonly { id: string; timeZone: string }[],
): Promise<void> {
  for (const { id, timeZone } of workspaces)
    await rows('SELECT now() AT TIME ZONE $zone', { zone: timeZone }).catch(cause => {
      throw new ConvohouseError('CONFIG_INVALID', {
        what: `The timeZone of workspace ${id} is ${JSON.stringify(timeZone)}, which DuckDB does not know.`,
        hint: 'Choose an IANA time zone such as Europe/Berlin: `SELECT name FROM pg_timezone_names()` lists them.',
        cause,
      })
    })
}

/** Derives the days of all rows of a workspace again, in the open warehouse or in the attached `schema`. */
export async function deriveDays(
  writer: Writer,
  { workspaceId, timeZone, schema }: { workspaceId: string; timeZone: string; schema?: string },
): Promise<void> {
  for (const { record, rederived } of RECORD_TYPES.map(type => layoutOf(type, timeZone)))
    for (const { column, value } of rederived)
      await writer.run(`UPDATE ${schema === undefined ? '' : `${schema}.`}${record.table} SET ${column} = ${value}
        WHERE workspace_id = ${quoteText(workspaceId)} AND ${column} IS DISTINCT FROM ${value}`)
}

async function storedZone(writer: Writer, workspaceId: string): Promise<string | undefined> {
  const [row] = await writer.rows<{ time_zone: string }>(
    'SELECT time_zone FROM _workspaces WHERE workspace_id = $workspace',
    { workspace: workspaceId },
  )
  return row?.time_zone
}

/** Stores the time zone, inside the caller's transaction. If it differs from the stored one, derives every day again in a new epoch. */
export async function storeTimeZone(writer: Writer, workspaceId: string, timeZone: string): Promise<void> {
  const stored = await storedZone(writer, workspaceId)
  if (stored === timeZone) return
  const params = { workspace: workspaceId }
  await writer.run('DELETE FROM _workspaces WHERE workspace_id = $workspace', params)
  await writer.run('INSERT INTO _workspaces VALUES ($workspace, $zone)', { ...params, zone: timeZone })
  if (stored === undefined) return
  await deriveDays(writer, { workspaceId, timeZone })
  await beginEpoch(writer)
}

/** Applies a changed time zone to the stored rows, in one transaction, whether or not anything is loaded. */
export async function applyTimeZone(writer: Writer, workspaceId: string, timeZone: string): Promise<void> {
  const stored = await storedZone(writer, workspaceId)
  if (stored === undefined || stored === timeZone) return
  await writer.transaction(() => storeTimeZone(writer, workspaceId, timeZone))
}
