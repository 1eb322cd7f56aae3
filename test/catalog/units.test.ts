// Fields for which the API document states no unit: no column name and no description may claim one.
import { describe, expect, it } from 'vitest'
import { tablesOf } from '../../src/catalog/ddl.ts'
import { type Column, layoutOf } from '../../src/catalog/layout.ts'
import { RECORD_TYPES } from '../../src/catalog/records.ts'

const columns = RECORD_TYPES.flatMap(record => tablesOf(layoutOf(record))).flatMap(table =>
  (table.columns as ((typeof table.columns)[number] & Partial<Column>)[]).map(column => ({
    ...column,
    table: table.name,
  })),
)

const UNSTATED = [
  ['conversations', 'detailed_cost_speech_gen_cost'],
  ['conversations', 'detailed_cost_transcriber_cost'],
  ['conversations', 'detailed_cost_llm_cost'],
  ['conversations', 'ext_cost'],
  ['conversations', 'ext_call_duration'],
  ['conversations', 'average_latency'],
  ['conversations', 'value'],
  ['conversations', 'rating_from5'],
  ['conversations', 'csat_satisfaction10'],
  ['conversations', 'csat_ease10'],
  ['conversation_campaign_calls', 'duration'],
  ['token_usage_by_model', 'cost'],
] as const

describe('a unit', () => {
  it.each(UNSTATED)('is not claimed for %s.%s', (table, name) => {
    const column = columns.find(one => one.table === table && one.name === name)!
    expect(`${column.about} ${column.unit ?? ''}`).toContain('not stated')
    expect(`${column.about} ${column.unit ?? ''}`).not.toMatch(/credits|usd|dollar|seconds|\d to \d+/i)
  })

  it('is in the name of a column only if it is in the name of its field', () => {
    const words = /(^|_)(seconds|minutes|hours|days|ms|usd|credits|tokens|percent)(_|$)/
    for (const { table, name, path } of columns) {
      const [, , unit] = words.exec(name) ?? []
      if (unit === undefined || path === undefined || path === null) continue
      for (const key of path.split(/[.|]/).slice(-path.split('|').length))
        expect(key.toLowerCase(), `${table}.${name}`).toContain(unit.replace(/s$/, ''))
    }
  })
})
