import { describe, expect, it } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { EXPORT_FIELDS } from '../../src/sandbox/world/conversation/record-shape.ts'
import { createWorld } from '../../src/sandbox/world/world.ts'
import { DAY, START_MS } from './caller.ts'
import { BOOLEANS, NUMBERS, SECTION_2_10, STRUCTURED, TEXT_LISTS } from './export/section-2-10.ts'

const options: Partial<SandboxOptions> = { startMs: START_MS, conversations: 2_000, agents: 2, seed: 7 }
const world = createWorld(options)
const texts = [...Array(2_000).keys()].map(index => world.render(index, START_MS))
const documents = texts.map(text => JSON.parse(text) as Record<string, unknown>)

/** Calls `see` with path and value for each value at any depth, null included. */
function visit(value: unknown, path: string, see: (path: string, value: unknown) => void): void {
  if (path !== '') see(path, value)
  if (Array.isArray(value)) for (const element of value) visit(element, `${path}[]`, see)
  else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) visit(inner, path === '' ? key : `${path}.${key}`, see)
  }
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return value.every(element => typeof element === 'string') ? 'texts' : 'array'
  return typeof value
}

function declaredType(path: string): string {
  if (NUMBERS.has(path)) return 'number'
  if (BOOLEANS.has(path)) return 'boolean'
  return TEXT_LISTS.has(path) ? 'texts' : 'string'
}

describe('a generated conversation', () => {
  it('has every field of section 2.10 in some of 2,000 records', () => {
    const seen = new Set<string>()
    for (const document of documents) visit(document, '', (path, value) => value !== null && seen.add(path))
    expect(SECTION_2_10.filter(path => !seen.has(path))).toEqual([])
  })

  it('has values of the declared types only', () => {
    const declared = new Set(SECTION_2_10.filter(path => !STRUCTURED.has(path)))
    const wrong = new Set<string>()
    for (const document of documents) {
      visit(document, '', (path, value) => {
        if (value !== null && declared.has(path) && typeOf(value) !== declaredType(path)) wrong.add(path)
      })
    }
    expect([...wrong]).toEqual([])
  })

  it('lacks optional fields in some records, and has null in others', () => {
    const optional = ['userEmail', 'notes', 'csat', 'tags', 'browserTimezone', 'handoffHistory', 'summary']
    for (const field of optional) {
      const values = documents.map(document => document[field])
      expect(values, field).toContain(undefined)
      expect(values, field).toContain(null)
    }
  })

  it('has undocumented fields, also nested ones and in array elements', () => {
    const seen = new Map<string, number>()
    for (const document of documents) {
      visit(document, '', path => seen.set(path, (seen.get(path) ?? 0) + 1))
    }
    expect(seen.get('title')).toBeGreaterThan(1_000)
    expect(seen.get('lastMessage')).toBeGreaterThan(1_000)
    expect(seen.get('detailedCost.twilioCost')).toBeGreaterThan(500)
    expect(seen.get('crmActivities[].priority')).toBeGreaterThan(100)
  })

  it('is about 7 KB long, and some records are much longer', () => {
    const sizes = texts.map(text => Buffer.byteLength(text))
    const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length
    expect(mean).toBeGreaterThan(6_500)
    expect(mean).toBeLessThan(7_700)
    expect(Math.max(...sizes)).toBeGreaterThan(12_000)
  })

  it('has each top-level key once, and only keys with a column in CSV', () => {
    const columns = new Set(EXPORT_FIELDS)
    for (const [place, document] of documents.entries()) {
      expect(Object.keys(document).filter(key => !columns.has(key))).toEqual([])
      // Parsing drops duplicate keys: the text of a record that has one is longer than its parsed value.
      expect(JSON.stringify(document).length).toBe(texts[place]!.length)
    }
  })

  it('holds well-formed text of many scripts, with what JSON has to escape', () => {
    const all = texts.join('')
    for (const sample of [
      /\p{Script=Han}/u,
      /\p{Script=Arabic}/u,
      /\p{Script=Hebrew}/u,
      /\p{M}/u,
      /\p{Emoji_Presentation}/u,
    ]) {
      expect(all).toMatch(sample)
    }
    expect(all).toContain('\\n')
    expect(all).toContain('\\"')
    expect(all).not.toMatch(/\p{Surrogate}/u)
  })

  it('writes string dates as ISO-8601 and as epochs', () => {
    const dates = documents.flatMap(document =>
      typeof document.lastActivityDate === 'string' ? document.lastActivityDate : [],
    )
    expect(dates.some(date => /^\d{4}-\d{2}-\d{2}T/.test(date))).toBe(true)
    expect(dates.some(date => /^\d{13}$/.test(date))).toBe(true)
    expect(dates.some(date => /^\d{10}$/.test(date))).toBe(true)
  })

  it('contains no time in the future', () => {
    const future: string[] = []
    for (const document of documents) {
      visit(document, '', (path, value) => {
        if (typeof value === 'number' && value > START_MS && value < 1e14) future.push(path)
      })
    }
    expect(future).toEqual([])
  })

  it('is the same for the same seed, and differs for another', () => {
    const again = createWorld(options)
    expect([...Array(200).keys()].map(index => again.render(index, START_MS))).toEqual(texts.slice(0, 200))
    expect(createWorld({ ...options, seed: 8 }).render(0, START_MS)).not.toBe(texts[0])
  })
})

describe('a conversation that continues', () => {
  const lively = createWorld({ ...options, conversations: 500, historyDays: 5 })
  const record = (index: number, nowMs: number) => JSON.parse(lively.render(index, nowMs)) as Record<string, unknown>
  const laterMs = START_MS + 40 * DAY
  const pairs = [...Array(500).keys()].map(index => ({
    before: record(index, START_MS),
    after: record(index, laterMs),
  }))
  const grown = pairs.filter(({ before, after }) => Number(after.sessionsNum) > Number(before.sessionsNum))

  it('keeps its ts and its id, and its counters grow', () => {
    expect(grown.length).toBeGreaterThan(20)
    for (const { before, after } of grown) {
      expect({ ts: after.ts, ID: after.ID }).toEqual({ ts: before.ts, ID: before.ID })
      for (const counter of ['lastModified', 'messagesNum']) {
        expect(Number(after[counter]), counter).toBeGreaterThan(Number(before[counter]))
      }
    }
  })

  it('keeps the fields that do not depend on later sessions', () => {
    const steady = [
      'userEmail',
      'userName',
      'notes',
      'ipAddress',
      'tags',
      'summary',
      'hotLabel',
      'value',
      'firstMessageTS',
    ]
    for (const { before, after } of grown) {
      for (const field of steady) expect(after[field], field).toEqual(before[field])
    }
  })

  it('has another state key exactly when its record differs', () => {
    for (const [index, { before, after }] of pairs.entries()) {
      const sameKey = lively.stateKey(index, laterMs) === lively.stateKey(index, START_MS)
      expect(JSON.stringify(before) === JSON.stringify(after), `record ${index}`).toBe(sameKey)
    }
  })
})
