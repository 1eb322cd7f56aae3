// Rules that hold for every row of every mart, in every workspace of the corpus.
import { expect, it } from 'vitest'
import { ROLES } from '../../../src/catalog/events/sender-roles.ts'
import { isPersonal } from '../../../src/catalog/shape.ts'
import { marts } from '../../../src/warehouse/marts/declarations.ts'
import { corpusWarehouse } from '../corpus/template.ts'

const app = corpusWarehouse()

/** Columns that are NULL where there is none: ids, keys, names, and labels of people, teams and records (docs/marts.md). */
const NAMED = /(^|_)(id|ids|key|name|names|label|labels|title|tag)$/
/** Names beside a dimension. */
const NAMES_OF_DIMENSIONS = ['language_name', 'month_name', 'weekday_name', 'week_label']

const dimensions = marts().flatMap(({ name, columns }) =>
  columns
    .filter(({ sqlType, pii }) => sqlType === 'VARCHAR' && !isPersonal(pii))
    .filter(column => !NAMED.test(column.name) || NAMES_OF_DIMENSIONS.includes(column.name))
    .map(column => ({ mart: name, column: column.name })),
)

it('a filter by a dimension loses no row: what a record does not say is `unknown`', async () => {
  const counts = dimensions.map(
    ({ mart, column }) =>
      `SELECT '${mart}.${column}' AS name, count(*) FILTER (coalesce(trim(${column}), '') = '')::INTEGER AS nothing,
       count(*) FILTER (${column} = 'unknown')::INTEGER AS unknown FROM marts.${mart}`,
  )
  const found = await app.warehouse.writer.rows<{ name: string; nothing: number; unknown: number }>(
    counts.join(' UNION ALL '),
  )
  expect(found.filter(({ nothing }) => nothing > 0)).toEqual([])
  const filled = found.filter(({ unknown }) => unknown > 0).map(({ name }) => name)
  expect(filled).toEqual(
    expect.arrayContaining(['fct_conversations.state', 'fct_leads.lead_stage', 'fct_turns.sender']),
  )
})

it('an id, key, name or label is NULL where there is none, never blank', async () => {
  const counts = marts().flatMap(({ name, columns }) =>
    columns
      .filter(({ sqlType }) => sqlType === 'VARCHAR')
      .map(
        column =>
          `SELECT '${name}.${column.name}' AS name, count(*)::INTEGER AS rows FROM marts.${name} WHERE trim(${column.name}) = ''`,
      ),
  )
  const found = await app.warehouse.writer.rows<{ name: string; rows: number }>(counts.join(' UNION ALL '))
  expect(found.filter(({ rows }) => rows > 0)).toEqual([])
})

it('a service level is met if the measured wait is at most the target', async () => {
  const measured = `CASE sla_hours WHEN 'business' THEN wait_business_seconds ELSE wait_seconds END`
  const [row] = await app.warehouse.writer.rows(
    `SELECT count(*) FILTER (is_met IS DISTINCT FROM (${measured} <= sla_seconds))::INTEGER AS contradictions,
       count(DISTINCT is_met)::INTEGER AS kinds FROM marts.fct_responses WHERE is_answered AND sla_seconds IS NOT NULL`,
  )
  expect(row).toEqual({ contradictions: 0, kinds: 2 })
})

it('each word that is taken for a role has a sender, unless no participant wrote the text', async () => {
  const words = Object.values(ROLES).flatMap(roles => roles.map(role => `'${role.toUpperCase()}'`))
  const others = await app.warehouse.writer.rows(
    `SELECT role FROM (SELECT unnest([${words.join(', ')}]) AS role) WHERE sender_of(role) IS NULL ORDER BY role`,
  )
  expect(others.map(({ role }) => role)).toEqual(['DEVELOPER', 'FUNCTION', 'SYSTEM', 'TOOL'])
})
