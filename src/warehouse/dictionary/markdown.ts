// The data dictionary as a Markdown page.
import { isById } from '../../catalog/resources/resource.ts'
import { RESOURCES } from '../../catalog/resources/resources.ts'
import { durationText } from '../../core/time.ts'
import { diagrams } from './diagram.ts'
import { type DescribedColumn, type DescribedTable, describedTables } from './dictionary.ts'

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

function columnLine({ name, sqlType, about, pii, path }: DescribedColumn): string {
  return `| \`${name}\` | ${sqlType} | ${path === null ? '' : cell(`\`${path}\``)} | ${pii === 'none' ? '' : pii} | ${cell(about)} |`
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
  const missing = {
    never: `its parent is missing`,
    'not found': `the answer is a 404 of the vendor${parent === null ? '' : ', or its parent is missing'}`,
    'not listed': `a complete list does not contain the row${parent === null ? '' : ', or its parent is missing'}`,
  }[absence]
  const removed = secrets.map(secret => `\`${secret}\``).join(', ')
  return [
    `\`GET ${path}\`, ${often}; not metered. \`_missing_since\` is set where ${missing}.${removed && ` Never stored: ${removed}.`}`,
    '',
  ]
}

const section = ({ name, kind, about, example, columns }: DescribedTable): string =>
  [
    `## ${name}`,
    '',
    kind === 'view' ? `View: ${about}` : about,
    '',
    ...resourceLines(name),
    ...(example ? ['```sql', example, '```', ''] : []),
    '| Column | Type | Field of the API | Personal data | Description |',
    '|---|---|---|---|---|',
    ...columns.map(columnLine),
  ].join('\n')

/** The page `docs/data-dictionary.md`. */
export async function dictionaryPage(): Promise<string> {
  const sections = (await describedTables()).map(section)
  return `${[
    '# Data dictionary',
    '',
    'Generated from the catalog and from the comments in `sql` by `npm run docs`; do not edit. Times are UTC. Columns and tables that begin with `_` are bookkeeping.',
    '`convohouse dictionary TABLE` prints one table. [How the tables refer to each other](er-diagram.md).',
    'Personal data: `identity` the contact, `content` what was said or noted, `device` the machine or network, `staff` those who handle conversations.',
    'Counts are BIGINT; amounts, scores and measurements are DOUBLE. A count with a fraction counts in `_issues`, and its value is kept in `extra`, or in the JSON column that a child table is read from.',
    'A text with a time is parsed if it is ISO-8601 (UTC without an offset) or an epoch of 10 to 16 digits; any other text counts in `_issues`.',
    '',
    sections.join('\n\n'),
  ].join('\n')}\n`
}

/** The page `docs/er-diagram.md`. */
export const diagramPage = (): string =>
  `${[
    '# How the tables refer to each other',
    '',
    'Generated from the catalog by `npm run docs`; do not edit. Every table also has `workspace_id`, which is part of every key and of every join. An id may refer to a record that is not stored',
    '(of an agent that the vendor no longer lists, for example), so join with `LEFT JOIN`. [Marts](marts.md) are in the schema `marts`. All columns: [the data dictionary](data-dictionary.md).',
    '',
    ...diagrams().flatMap(({ title, mermaid }) => [`## ${title}`, '', '```mermaid', mermaid, '```', '']),
  ].join('\n')}`
