import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { coerceRecord } from '../../src/catalog/inspection/coerce.ts'
import { compileInspection, fits, needsCoercion } from '../../src/catalog/inspection/inspect.ts'
import { agent } from '../../src/catalog/resources/agents.ts'
import type { Field, Fields } from '../../src/catalog/shape.ts'
import { COERCED_EXTRA } from '../../src/catalog/staging.ts'
import { readExactly } from '../../src/json/exact-json.ts'
import { anyAgent, anyConversation as records } from './arbitrary-records.ts'

type Json = Record<string, unknown>

const inspect = compileInspection(conversation)

/** Returns every scalar that is not null, with its path. */
function leaves(value: unknown, path = '$'): [string, unknown][] {
  if (value === null || value === undefined) return []
  if (typeof value !== 'object') return [[path, value]]
  const entries = Object.entries(value)
  return entries.length === 0 ? [] : entries.flatMap(([key, inner]) => leaves(inner, `${path}/${JSON.stringify(key)}`))
}

/** Merges a coerced object with its `extra` values, recursively, also in list elements. */
function merged(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(merged)
  if (typeof value !== 'object' || value === null) return value
  const { [COERCED_EXTRA]: extra, ...kept } = value as Json
  return mergeExtra(Object.fromEntries(Object.entries(kept).map(([key, inner]) => [key, merged(inner)])), extra)
}

function mergeExtra(kept: unknown, extra: unknown): unknown {
  if (extra === undefined) return kept
  if (kept === null || kept === undefined) return extra
  const result = new Map<string, unknown>(Object.entries(kept as Json))
  for (const [key, inner] of Object.entries(extra as Json)) result.set(key, mergeExtra(result.get(key), inner))
  return Object.fromEntries(result)
}

/** A lossless cast may change the notation of a value, but not its meaning. */
const normalized = (value: unknown): string => String(value).trim().toLowerCase()

describe('coercion of any record', () => {
  it('yields records that need no further coercion', () => {
    fc.assert(
      fc.property(records, record => {
        const { record: coerced, issues } = coerceRecord(conversation, record)!
        expect(inspect([coerced]).mismatched).toEqual(Object.create(null))
        const isKept = (path: string) => path.startsWith('sessions[].') || path.includes('.*.')
        const coercedAway = issues.filter(
          ({ path, issue }) =>
            !['no time that can be read', 'zero instead of a time', 'negative rating'].includes(issue) && !isKept(path),
        )
        if (coercedAway.length > 0) expect(needsCoercion(inspect([record]))).toBe(true)
      }),
      { numRuns: 150 },
    )
  })

  it('loses no value: each is in the record or in its extra', () => {
    fc.assert(
      fc.property(records, record => {
        const coerced = merged(coerceRecord(conversation, record)!.record)
        const normalizedLeaves = (all: [string, unknown][]) =>
          all.map(([path, value]) => [path, normalized(value)]).sort()
        expect(normalizedLeaves(leaves(coerced))).toEqual(normalizedLeaves(leaves(record)))
      }),
      { numRuns: 200 },
    )
  })
})

describe('an agent of any shape', () => {
  const fitsAll = (fields: Fields, object: Record<string, unknown>): void => {
    for (const [key, field] of Object.entries(fields)) expect(fits(field, object[key]), key).toBe(true)
  }

  it('has computed fields of the declared types', () => {
    const { fields } = agent.computed!
    const elements = (field: Field): Fields => (field.kind === 'objects' ? field.fields : {})
    fc.assert(
      fc.property(anyAgent, sent => {
        const { record } = coerceRecord(agent, sent)!
        fitsAll(fields, record)
        for (const [key, field] of Object.entries(fields))
          if (field.kind === 'objects')
            for (const element of record[key] as Record<string, unknown>[]) fitsAll(elements(field), element)
      }),
    )
  })
})

describe('coercion', () => {
  it('reports a count with a fraction, and one beyond BIGINT, in elements of unknown shape, which stay as sent', () => {
    const usagePerModel = { a: { inputTokens: 1.5, outputTokens: 2.0 }, b: { promptTokens: '0.5', totalTokens: 1e19 } }
    const sessions = [{ messagesNum: 0.25 }, { messages: [], messageCount: 7 }, 0.5, { messagesNum: 'half' }]
    const record = { ID: 'c', sessions, tokenUsage: { usagePerModel } }
    const { record: coerced, issues } = coerceRecord(conversation, record)!
    expect(coerced).toEqual(record)
    const found = [
      { path: 'sessions[].messagesNum', issue: 'fraction', declared: 'count', seen: 'number' },
      { path: 'tokenUsage.usagePerModel.*.inputTokens', issue: 'fraction', declared: 'count', seen: 'number' },
      { path: 'tokenUsage.usagePerModel.*.promptTokens', issue: 'fraction', declared: 'count', seen: 'string' },
      {
        ...{ path: 'tokenUsage.usagePerModel.*.totalTokens', issue: 'more than a number holds' },
        ...{ declared: 'count', seen: 'number' },
      },
    ]
    expect(issues).toEqual(found)
    const notes = inspect([record, record])
    expect(notes.unread).toEqual(found.map(issue => ({ ...issue, count: 2 })))
    expect(needsCoercion(notes)).toBe(false)
  })

  it('keeps an id as text if a number would truncate it', () => {
    const id = (text: string) => coerceRecord(conversation, readExactly(`{"ID":${text}}`).value)!.record.ID
    expect(id('0.1234567890123456789012')).toBe('0.1234567890123456789012')
    expect(id('1e400')).toBe('1e400')
    expect(id('7')).toBe(7)
  })

  it.each([null, 'c', [], {}, { ID: '' }, { ID: {} }])('returns null for %j, which is not a record', element => {
    expect(coerceRecord(conversation, element)).toBeNull()
  })
})
