import { describe, expect, it } from 'vitest'
import { HOSTILE_NAMES, type HostileName } from '../../../src/sandbox/hostile/hostile-table.ts'
import type { Rate } from '../../../src/sandbox/rates.ts'
import { conversationId } from '../../../src/sandbox/world/identity.ts'
import { createWorld } from '../../../src/sandbox/world/world.ts'
import { call, exportAll, exportable, exportPath, firstAgent, idsOf, open, START_MS } from '../caller.ts'
import { control } from './fault-caller.ts'

type Rates = Partial<Record<HostileName, Rate>>
type Found = Record<string, unknown>

const worldOf = (hostile: Rates, conversations = 60) =>
  createWorld({ startMs: START_MS, agents: 1, conversations, hostile })

const textsOf = (hostile: Rates) => {
  const world = worldOf(hostile)
  return Array.from({ length: 60 }, (_, index) => world.render(index, START_MS))
}

const recordsOf = (hostile: Rates) => textsOf(hostile).map(text => JSON.parse(text) as Found)

const plain = recordsOf({})

/** Top-level and nested fields whose type differs from that in the plain record. */
function mistyped(record: Found, original: Found): string[] {
  const kind = (value: unknown) => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value)
  return Object.keys(original).flatMap(key => {
    const [value, before] = [record[key], original[key]]
    if (kind(value) !== kind(before)) return [key]
    return kind(value) === 'object' ? mistyped(value as Found, before as Found) : []
  })
}

describe('a hostile record', () => {
  it('has fields of wrong types, but its true ID and ts', () => {
    for (const [place, record] of recordsOf({ 'wrong-types': 1 }).entries()) {
      const wrong = mistyped(record, plain[place]!)
      expect([wrong.length > 0, wrong.length <= 4]).toEqual([true, true])
      expect([record.ID, record.ts]).toEqual([plain[place]!.ID, plain[place]!.ts])
    }
  })

  it('has lone surrogates as escapes, so that its bytes are UTF-8', () => {
    for (const text of textsOf({ 'lone-surrogates': 1 })) {
      expect(text).toContain('"half \\ud83d of a face"')
      expect(text.isWellFormed()).toBe(true)
      expect((JSON.parse(text) as { userName: string }).userName.isWellFormed()).toBe(false)
    }
  })

  it('has duplicate keys, top-level and nested', () => {
    for (const text of textsOf({ 'duplicate-keys': 1 })) {
      expect(text.match(/"summary":"the (first|last)"/g)).toHaveLength(2)
      expect(text).toContain('"nodesInfo":{"currentNode":"first","currentNode":"last"}')
      expect(JSON.parse(text)).toMatchObject({ summary: 'the last', csat: { satisfaction10: 9 } })
    }
  })

  it('has keys that differ only by case', () => {
    for (const record of recordsOf({ 'case-keys': 1 })) {
      const names = Object.keys(record).map(name => name.toLowerCase())
      expect(new Set(names).size).toBeLessThan(names.length)
    }
  })

  it('has undocumented fields, top-level and nested', () => {
    for (const [place, record] of recordsOf({ 'unknown-fields': 1 }).entries()) {
      expect(Object.keys(record)).toEqual(expect.arrayContaining(['', 'future.field', 'futureField', 'select']))
      if (plain[place]!.tokenUsage) expect(record.tokenUsage).toHaveProperty('futureField')
    }
  })

  it('has SQL, NUL, numbers that are too large, and deep nesting', () => {
    const [text] = textsOf({ 'sql-text': 1, 'huge-numbers': 1, 'deep-nesting': { rate: 1, param: 700 } })
    expect(text).toContain('DROP SCHEMA')
    expect(text).toContain('"messagesNum":12345678901234567890,')
    expect(text).toContain('"hotScore":1e400')
    expect(text).toContain(`"futureDepth":${'['.repeat(700)}1${']'.repeat(700)}`)
    expect(textsOf({ 'nul-text': 1 })[0]).toContain('"before\\u0000after"')
    expect(JSON.parse(text!)).toMatchObject({ ID: plain[0]!.ID })
  })

  it('has a ts that is not a time, or none', () => {
    const odd = recordsOf({ 'ts-nonsense': 1 }).map(({ ts }) => JSON.stringify(ts))
    expect(new Set(odd)).toEqual(new Set(['"soon"', '-1', '100000000000000000000', 'true', '[]', '{}']))
    expect(recordsOf({ 'ts-missing': 1 }).every(record => !('ts' in record))).toBe(true)
  })

  it('is as large as configured', () => {
    const sizes = textsOf({ 'huge-record': { rate: 1, param: 300_000 } }).map(text => text.length)
    expect([Math.min(...sizes) > 300_000, Math.max(...sizes) < 330_000]).toEqual([true, true])
    const world = worldOf({ 'huge-record': 1 }, 1)
    expect(world.render(0, START_MS).length).toBeGreaterThan(20 * 1_048_576)
  })

  it('occurs at its rate, in the same conversations for the same seed and any other rates', () => {
    const hit = (hostile: Rates, seed = 1) => {
      const world = createWorld({ startMs: START_MS, agents: 1, conversations: 400, hostile, seed })
      return [...Array(400).keys()].filter(index => world.render(index, START_MS).includes('DROP SCHEMA'))
    }
    const once = hit({ 'sql-text': 0.25 })
    expect([once.length > 70, once.length < 130]).toEqual([true, true])
    expect(hit({ 'sql-text': 0.25, 'case-keys': 0.5 })).toEqual(once)
    expect(hit({ 'sql-text': 0.25 }, 2)).not.toEqual(once)
  })

  it('does not occur by default', () => {
    expect(textsOf({ 'wrong-types': 0 })).toEqual(textsOf({}))
  })
})

describe('an odd id', () => {
  it.each([['unicode-id'], ['odd-id']] as const)(
    'of the kind %s is exported, known to the world, and can be selected',
    async name => {
      const sandbox = await open({ agents: 1, conversations: 40, hostile: { [name]: 0.5 } })
      const agentId = firstAgent(sandbox)
      const truth = exportable(sandbox, agentId).map(({ id }) => id)
      expect(idsOf(await exportAll(sandbox, agentId, { sort: 'asc', limit: 100 }))).toEqual(truth)
      const odd = truth.filter(id => !/^[\w-]+$/.test(id))
      expect(odd.length).toBeGreaterThan(8)
      for (const id of odd) expect(idsOf(await exportAll(sandbox, agentId, { convoIds: id }))).toEqual([id])
      const within = odd.map(id => /[0-9a-f]{8}-[0-9a-f-]{27}|conv_[0-9a-f]{16}/.exec(id)![0])
      expect(idsOf(await exportAll(sandbox, agentId, { convoIds: within.join(',') }))).toEqual([])
    },
  )

  it('with a comma is exported but cannot be selected', async () => {
    const sandbox = await open({ agents: 1, conversations: 5, hostile: { 'comma-id': 1 } })
    const agentId = firstAgent(sandbox)
    const ids = idsOf(await exportAll(sandbox, agentId))
    expect(ids.every(id => id.startsWith('first,'))).toBe(true)
    expect(idsOf(await exportAll(sandbox, agentId, { convoIds: ids.join(',') }))).toEqual([])
  })
})

describe('a record without an id, or a value that is not an object', () => {
  it.each([['no-id'], ['no-object']] as const)(
    'is billed and returned, but not listed by the truth: %s',
    async name => {
      const sandbox = await open({ agents: 1, conversations: 100, hostile: { [name]: 0.3 } })
      const agentId = firstAgent(sandbox)
      const pages = await exportAll(sandbox, agentId, { sort: 'asc', limit: 100 })
      const records = pages.flatMap(page => page.data as unknown[])
      const named = records.filter(record => typeof (record as Found | null)?.ID === 'string') as { ID: string }[]
      expect(named.map(({ ID }) => ID)).toEqual(exportable(sandbox, agentId).map(({ id }) => id))
      const { agents } = (await control<{ agents: Found[] }>(sandbox, 'truth')).json
      expect(agents[0]).toMatchObject({ exportable: named.length, nameless: records.length - named.length })
      expect(records.length - named.length).toBeGreaterThan(15)
      expect(agents[0]!.billableSessions).toBe(pages.at(-1)!.usage.billableUsedThisPeriod)
      const hidden = [...Array(100).keys()].map(index => conversationId(1, index))
      const found = idsOf(await exportAll(sandbox, agentId, { convoIds: hidden.join(',') }))
      expect(found.toSorted()).toEqual(named.map(({ ID }) => ID).toSorted())
    },
  )
})

describe('a page of hostile records', () => {
  const all = Object.fromEntries(HOSTILE_NAMES.map(name => [name, 0.3])) as Rates
  const hostile: Rates = { ...all, 'huge-record': { rate: 0.1, param: 1_000_000 } }

  it('has the records byte for byte as the world renders them, in each export', async () => {
    const sandbox = await open({ agents: 1, conversations: 60, hostile })
    const body = async () => (await call(sandbox, exportPath(firstAgent(sandbox), { sort: 'asc', limit: 100 }))).text()
    const texts = [...Array(60).keys()]
      .filter(index => sandbox.world.billable(index, START_MS) > 0)
      .map(index => sandbox.world.render(index, START_MS))
    const dataOf = (text: string) => text.slice(text.indexOf('"data":['), text.lastIndexOf(',"usage":'))
    const [first, second] = [dataOf(await body()), dataOf(await body())]
    expect(second).toBe(first)
    // Texts are compared regardless of order, because the export returns conversations without `ts` first.
    expect(first.length).toBe(`"data":[${texts.join(',')}]`.length)
    for (const text of texts) expect(first.includes(text)).toBe(true)
  })

  it('is also served as CSV', async () => {
    const sandbox = await open({ agents: 1, conversations: 60, hostile })
    const answer = await call(sandbox, exportPath(firstAgent(sandbox), { limit: 100, format: 'csv' }))
    expect(answer.status).toBe(200)
    expect((await answer.text()).startsWith('userEmail,')).toBe(true)
  })
})

describe('hostile records of an unknown kind', () => {
  it('are refused with a list of the known kinds', () => {
    const refusal = { code: 'CONFIG_INVALID', message: expect.stringContaining('lone-surrogates') }
    expect(() => worldOf({ bogus: 0.1 } as Rates)).toThrow(expect.objectContaining(refusal))
    expect(() => worldOf({ 'sql-text': 2 })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    const tooDeep = { 'deep-nesting': { rate: 1, param: 5_000 } }
    expect(() => worldOf(tooDeep)).toThrow(expect.objectContaining({ message: expect.stringContaining('2000') }))
  })
})
