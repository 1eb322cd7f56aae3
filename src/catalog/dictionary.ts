// The data dictionary: every table and column that the catalog declares, as a Markdown page.

import { durationText } from '../core/time.ts'
import { tablesOf } from './ddl.ts'
import { type Column, layoutOf } from './layout.ts'
import { isById } from './resources/resource.ts'
import { RESOURCES, STREAMS } from './resources/resources.ts'
import type { RecordType } from './shape.ts'

/** A column of a table that `sql/meta` creates. */
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

const REQUESTS_TABLE = {
  name: '_requests',
  about: 'One row for each answer that landed',
  columns: [
    column('workspace_id', 'VARCHAR', 'Key: workspace id'),
    column('file', 'VARCHAR', 'Key: the landed file'),
    column('run', 'VARCHAR', 'Run that made the request'),
    column('stream', 'VARCHAR', `Kind of request: ${STREAMS.join(', ')}`),
    column('agent_id', 'VARCHAR', 'Agent whose conversations were requested'),
    column('window_name', 'VARCHAR', 'Window of the page'),
    column('sent_at', 'TIMESTAMP', "When the request was sent, server's clock"),
    column('duration_ms', 'BIGINT', 'From the request to the end of the answer (ms)'),
    column('status', 'INTEGER', 'HTTP status'),
    column('returned', 'BIGINT', 'Conversations returned'),
    column('scanned', 'BIGINT', 'Conversations scanned, including skipped ones', 'scannedConvoCount'),
    column('billed_sessions', 'BIGINT', 'Sessions billed; NULL if not reported', 'usage.billableUsedThisRequest'),
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

const CHANGES_TABLE = {
  name: '_changes',
  about:
    'The change log, while a consumer is registered: one row for each record that a transaction was about to change',
  columns: [
    column('seq', 'BIGINT', 'Key: number of the entry, in the order of the commits'),
    column('logged_at', 'TIMESTAMP', 'When the transaction began'),
    column('table_name', 'VARCHAR', 'Table of the record; the entry covers its child tables too'),
    column('key', 'VARCHAR[]', "Values of the table's key columns; of an observation also `observed_at`"),
    column(
      'partition_before',
      'DATE',
      'First day of the UTC month that the row belonged to before the change: of `ts` (conversations), `observed_at` (observations) or `_as_of` (events). NULL: no row, no time, or a table without partitions',
    ),
    column('op', 'VARCHAR', 'insert, update or delete'),
  ],
} as const

const CONSUMERS_TABLE = {
  name: '_consumers',
  about: 'One row for each consumer of the change log',
  columns: [
    column('name', 'VARCHAR', 'Key: name of the consumer'),
    column('seq', 'BIGINT', 'It has applied the entries up to this one; later entries are kept for it, for seven days'),
    column('registered_at', 'TIMESTAMP', 'When it was registered'),
    column('acknowledged_at', 'TIMESTAMP', 'When it last reported `seq`; NULL: never'),
  ],
} as const

/** Tables of `sql/meta` that users read. */
export const BOOK_TABLES = [REQUESTS_TABLE, CHANGES_TABLE, CONSUMERS_TABLE]

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

function columnLine(column: { name: string; sqlType: string; about: string } & Partial<Column>): string {
  const about = column.unit ? `${column.about} (${column.unit})` : column.about
  const pii = column.pii && column.pii !== 'none' ? column.pii : ''
  const path = column.path ? `\`${column.path}\`` : ''
  return `| \`${column.name}\` | ${column.sqlType} | ${cell(path)} | ${pii} | ${cell(about)} |`
}

interface DescribedTable {
  name: string
  about: string
  columns: readonly Parameters<typeof columnLine>[0][]
}

/** When a resource's rows are requested, and what sets `_missing_since`. */
function resourceLines(table: string): string[] {
  const resource = RESOURCES.find(({ record }) => record.table === table)
  if (!resource) return []
  const { path, absence, parent, secrets } = resource
  const changed = isById(resource) ? (resource.freshness.changedAt ?? []) : []
  const sooner =
    changed.length === 0 ? '' : `, sooner where ${changed.map(name => `\`${name}\``).join(' or ')} is later`
  const often = isById(resource)
    ? `for each id at the end of a sync, where the last answer is ${durationText(resource.freshness.everyMs)} old${sooner}`
    : 'by every sync'
  const missing =
    absence === 'not found'
      ? 'the answer is a 404 of the vendor'
      : `a complete list does not contain the row${parent === null ? '' : ', or its parent is missing'}`
  const removed = secrets.map(secret => `\`${secret}\``).join(', ')
  return [
    `\`GET ${path}\`, ${often}; not metered. \`_missing_since\` is set where ${missing}.${removed && ` Never stored: ${removed}.`}`,
    '',
  ]
}

/** The page as Markdown. */
export function dictionary(records: readonly RecordType[]): string {
  const tables: DescribedTable[] = [...records.flatMap(record => tablesOf(layoutOf(record))), ...BOOK_TABLES]
  const sections = tables.map(table =>
    [
      `## ${table.name}`,
      '',
      `${table.about}.`,
      '',
      ...resourceLines(table.name),
      '| Column | Type | Field of the API | Personal data | Description |',
      '|---|---|---|---|---|',
      ...table.columns.map(columnLine),
    ].join('\n'),
  )
  return `${[
    '# Data dictionary',
    '',
    'Generated from the catalog by `npm run docs`; do not edit. Times are UTC. Columns that begin with `_` are bookkeeping.',
    'Personal data: `identity` the contact, `content` what was said or noted, `device` the machine or network, `staff` those who handle conversations.',
    'Counts are BIGINT; amounts, scores and measurements are DOUBLE. A count with a fraction counts in `_issues`, and its value is kept in `extra`.',
    'A text with a time is parsed if it is ISO-8601 (UTC without an offset) or an epoch of 10 to 16 digits; any other text counts in `_issues`.',
    '',
    sections.join('\n\n'),
  ].join('\n')}\n`
}
