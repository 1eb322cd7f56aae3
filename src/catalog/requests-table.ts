// The bookkeeping of requests, described: what an answer cost, and what identifies its bill. Its columns are made by sql/meta.
import { STREAMS } from './resources/resources.ts'

interface BookColumn {
  name: string
  sqlType: string
  about: string
  path?: string
}

const column = (name: string, sqlType: string, about: string, path?: string): BookColumn => ({
  name,
  sqlType,
  about,
  ...(path !== undefined && { path }),
})

export const REQUESTS_TABLE = {
  name: '_requests',
  about: 'One row for each answer that landed',
  columns: [
    column('workspace_id', 'VARCHAR', 'Key: workspace id'),
    column('file', 'VARCHAR', 'Key: the landed file'),
    column('run', 'VARCHAR', 'Run that made the request'),
    column('stream', 'VARCHAR', `What was requested: ${STREAMS.join(', ')}`),
    column('agent_id', 'VARCHAR', 'Agent whose conversations were asked for'),
    column('window', 'VARCHAR', 'Window that the page is of'),
    column('sent_at', 'TIMESTAMP', "When the request was sent, server's clock"),
    column('duration_ms', 'BIGINT', 'From the request to the end of the answer (ms)'),
    column('status', 'INTEGER', 'HTTP status'),
    column('returned', 'BIGINT', 'Conversations returned'),
    column('scanned', 'BIGINT', 'Conversations looked at, those skipped included', 'scannedConvoCount'),
    column(
      'billed_sessions',
      'BIGINT',
      'Sessions billed; NULL where it was not reported',
      'usage.billableUsedThisRequest',
    ),
    column('body_bytes', 'BIGINT', 'Length of the body (bytes)'),
    column(
      'kind',
      'VARCHAR',
      'Kind of the window: head, tail, full, reread, selected, refresh, sample; NULL for a listing',
    ),
    column('from_at', 'TIMESTAMP', 'First second of `ts` that the page covers'),
    column('to_at', 'TIMESTAMP', 'Last second of `ts` that the page covers'),
    column('log_id', 'VARCHAR', "Id of the billing in the vendor's log", 'usage.logId'),
    column('usage_summary', 'VARCHAR', "The vendor's summary of the billing", 'usage.summary'),
    column('export_request_count', 'BIGINT', 'Export requests that the vendor has counted', 'usage.exportRequestCount'),
  ],
} as const
