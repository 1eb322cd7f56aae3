// The data dictionary: every table and column that the catalog declares, as a Markdown page.

import { durationText } from '../core/time.ts'
import { tablesOf } from './ddl.ts'
import { type Column, layoutOf } from './layout.ts'
import { REQUESTS_TABLE } from './requests-table.ts'
import { isById } from './resources/resource.ts'
import { RESOURCES } from './resources/resources.ts'
import type { RecordType } from './shape.ts'

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

/** How the rows of a resource's table come about. */
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
      : `a complete list does not hold the row${parent === null ? '' : ', or its parent is missing'}`
  const removed = secrets.map(secret => `\`${secret}\``).join(', ')
  return [
    `\`GET ${path}\`, ${often}; not metered. \`_missing_since\` is set where ${missing}.${removed && ` Never stored: ${removed}.`}`,
    '',
  ]
}

/** The page, Markdown. */
export function dictionary(records: readonly RecordType[]): string {
  const tables: DescribedTable[] = [...records.flatMap(record => tablesOf(layoutOf(record))), REQUESTS_TABLE]
  const sections = tables.map(table =>
    [
      `## ${table.name}`,
      '',
      `${table.about}.`,
      '',
      ...resourceLines(table.name),
      '| Column | Type | Field of the API | Personal data | What it is |',
      '|---|---|---|---|---|',
      ...table.columns.map(columnLine),
    ].join('\n'),
  )
  return `${[
    '# Data dictionary',
    '',
    'Made from the catalog by `npm run docs`; do not edit. Times are UTC. Columns that begin with `_` are bookkeeping.',
    'Personal data: `identity` the contact, `content` what was said or noted, `device` the machine or network, `staff` those who handle conversations.',
    'A text that holds a time is read where it is ISO-8601, in UTC where it has no offset, or an epoch of 10 to 16 digits; else it counts in `_issues`.',
    '',
    sections.join('\n\n'),
  ].join('\n')}\n`
}
