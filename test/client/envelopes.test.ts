import { describe, expect, it } from 'vitest'
import { AGENTS } from '../../src/catalog/resources/agents.ts'
import { readErrorEnvelope, readExportEnvelope, readResourceEnvelope } from '../../src/client/envelopes.ts'

const USAGE = {
  periodKey: '2026-11',
  billableUsedThisRequest: 7,
  billableUsedThisPeriod: 900,
  includedQuota: 50_000,
  billableRemainingThisPeriod: 49_100,
  overageUsedThisPeriod: 0,
  overagePacksCharged: 0,
  exportRequestCount: 12,
}
const RATE_LIMIT = { requestsPerHour: 1_500, remainingHour: 1_400 }
const PAGING = {
  hasMore: true,
  nextCursor: 'c2',
  limit: 100,
  mode: 'paginated',
  scannedConvoCount: 9,
}
const READ = {
  data: [{ ID: 'c1' }],
  hasMore: true,
  nextCursor: 'c2',
  limit: 100,
  scanned: 9,
  usage: USAGE,
  bill: { logId: 'x', summary: null },
  rateLimit: RATE_LIMIT,
}

describe('an export envelope', () => {
  const documentedBody = {
    success: true,
    message: 'ok',
    data: READ.data,
    usage: { ...USAGE, logId: 'x' },
    rateLimit: RATE_LIMIT,
  }

  it('is read with flat paging', () => {
    expect(readExportEnvelope({ ...documentedBody, ...PAGING, query: {}, surprise: 1 })).toEqual({ ...READ, query: {} })
  })

  it('is read with nested paging', () => {
    expect(readExportEnvelope({ ...documentedBody, paging: { ...PAGING, query: {} } })).toEqual({ ...READ, query: {} })
  })

  it.each([
    [{ hasMore: false }, { hasMore: false, nextCursor: null }],
    [{ hasMore: true }, { hasMore: true, nextCursor: null }],
    [
      { hasMore: false, nextCursor: '' },
      { hasMore: false, nextCursor: null },
    ],
    [{ nextCursor: 'c2' }, { hasMore: true, nextCursor: 'c2' }],
    [{ nextCursor: null }, { hasMore: false, nextCursor: null }],
    [{ mode: 'selected' }, { hasMore: false, nextCursor: null }],
    [
      { nextCursor: null, paging: { hasMore: true, nextCursor: 'old' } },
      { hasMore: true, nextCursor: null },
    ],
    [
      { hasMore: true, nextCursor: 17 },
      { hasMore: true, nextCursor: '17' },
    ],
  ])('with %j reads as %j', (paging, read) => {
    expect(readExportEnvelope({ data: [], ...paging })).toMatchObject(read)
  })

  it('has null for missing fields', () => {
    const read = readExportEnvelope({ data: [], hasMore: false })
    expect(read).toMatchObject({ scanned: null, usage: null, rateLimit: null })
    expect('limit' in read).toBe(false)
  })

  it('has the readable parts of usage and rate limit', () => {
    const usage = { billableUsedThisRequest: '7', includedQuota: 'many', periodKey: 202_611 }
    const read = readExportEnvelope({ data: [], hasMore: false, usage, rateLimit: { remainingHour: 3 } })
    const nothing = Object.fromEntries(Object.keys(USAGE).map(key => [key, null]))
    expect(read.usage).toEqual({ ...nothing, billableUsedThisRequest: 7, periodKey: '202611' })
    expect(read.rateLimit).toEqual({ requestsPerHour: null, remainingHour: 3 })
    expect(readExportEnvelope({ data: [], hasMore: false, usage: 'plenty', rateLimit: [] })).toMatchObject({
      usage: null,
      rateLimit: null,
    })
  })

  it.each([
    [null, /the body/],
    [[], /the body/],
    [{ hasMore: false }, /data/],
    [{ data: {}, hasMore: false }, /data/],
    [{ data: [] }, /neither hasMore nor nextCursor/],
    [{ data: [], hasMore: 'canary' }, /hasMore/],
    [{ data: [], hasMore: true, nextCursor: { canary: 1 } }, /nextCursor/],
    [{ data: [], paging: { hasMore: 'canary' } }, /paging\.hasMore/],
    [{ data: [], hasMore: false, success: false }, /success/],
  ])('is a protocol error that names the bad field: %j', (body, named) => {
    const read = () => readExportEnvelope(body)
    expect(read).toThrow(expect.objectContaining({ code: 'API_PROTOCOL', message: expect.stringMatching(named) }))
    expect(read).not.toThrow(/canary/)
  })
})

describe('an agent search envelope', () => {
  it('is the union of both lists by id', () => {
    const read = readResourceEnvelope(AGENTS, {
      agents: [{ ID: 'a1', title: 'one' }, { title: 'nobody' }, { ID: 2 }, 'noise', { ID: '' }],
      starredAgents: [{ ID: 'a1', title: 'again' }, { ID: 'a3' }],
      total: 3,
      hasMore: false,
    })
    expect(read.records.map(({ id, record }) => [id, record.title])).toEqual([
      ['a1', 'one'],
      ['2', undefined],
      ['a3', undefined],
    ])
    expect(read).toMatchObject({ ids: ['a1', '2'], besides: ['a1', 'a3'], unidentified: 3, total: 3, hasMore: false })
  })

  it('needs only one list and no paging', () => {
    expect(readResourceEnvelope(AGENTS, { starredAgents: [{ ID: 'a1' }] })).toMatchObject({
      ids: ['a1'],
      total: null,
      hasMore: null,
    })
    expect(readResourceEnvelope(AGENTS, { agents: [] })).toMatchObject({ records: [], ids: [] })
  })

  it('is a protocol error without any list', () => {
    const read = () => readResourceEnvelope(AGENTS, { data: [] })
    expect(read).toThrow(expect.objectContaining({ code: 'API_PROTOCOL' }))
  })
})

describe('an error envelope', () => {
  it('is read as far as it is readable', () => {
    const body = { message: 'No', code: 'FORBIDDEN', issues: [{ message: 'unpaid' }, {}] }
    expect(readErrorEnvelope(body)).toEqual({ message: 'No', code: 'FORBIDDEN', issues: ['unpaid'] })
    expect(readErrorEnvelope({ error: 'No' })).toEqual({ message: 'No', code: null, issues: [] })
  })

  it.each([undefined, null, 'text', [], { message: 1, issues: 'x' }])('is empty if there is none: %j', body => {
    expect(readErrorEnvelope(body)).toEqual({ message: null, code: null, issues: [] })
  })
})
