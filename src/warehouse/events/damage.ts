// `_issues` of events that cannot be read any more: a row for each segment of the spool that has been damaged, told once, by what is
// left of it. Nothing of what it holds: what is damaged may be anything.
import { webhookEvent } from '../../catalog/event-records.ts'
import { quoteText } from '../../catalog/layout.ts'
import { iso, type Writer } from '../connection.ts'

export interface ReportedDamage {
  /** The segment's name. */
  segment: string
  begunMs: number
  lines: number
  bytes: number
  /** Where it is kept, as the spool has it. */
  file: string
}

/** However often it is told, there is one row of it. */
export async function recordDamage(
  { writer, workspaceId }: { writer: Writer; workspaceId: string },
  { segment, begunMs, lines, bytes, file }: ReportedDamage,
): Promise<void> {
  const workspace = quoteText(workspaceId)
  const [record, path, issue] = [webhookEvent.name, segment, 'damaged in the spool'].map(quoteText)
  const begun = `TIMESTAMP '${iso(begunMs)}'`
  await writer.transaction(() =>
    writer.run(`INSERT INTO _issues BY NAME
      SELECT ${workspace} AS workspace_id, ${record} AS record, ${path} AS path, ${issue} AS issue, NULL AS declared,
        ${quoteText(`${bytes} bytes`)} AS seen, ${lines} AS occurrences, ${begun} AS first_seen, ${begun} AS last_seen,
        ${quoteText(file)} AS example_file
      WHERE NOT EXISTS (FROM _issues WHERE workspace_id = ${workspace} AND record = ${record} AND path = ${path})`),
  )
}
