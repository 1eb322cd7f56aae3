// Section 4.12: the export of conversations.
import { expect } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import {
  call,
  DAY,
  type ExportBody,
  exportable,
  exportPage,
  exportPath,
  firstAgent,
  idsOf,
  type Params,
  refusal,
} from '../caller.ts'
import { each, envelopeOf, isServed, type Open, type Section } from './sentences.ts'

type Paging = Pick<ExportBody, 'hasMore' | 'nextCursor' | 'limit' | 'mode' | 'scannedConvoCount' | 'source' | 'query'>

/** The paging fields, beside `data` or in an object. */
const pagingOf = (page: ExportBody): Paging => (page as ExportBody & { paging?: Paging }).paging ?? page

const page = (sandbox: Sandbox, params: Params = {}) => exportPage(sandbox, firstAgent(sandbox), params)

/** All pages, until the vendor says that there are no more. */
async function pages(sandbox: Sandbox, params: Params = {}): Promise<ExportBody[]> {
  const all = [await page(sandbox, params)]
  for (;;) {
    const { hasMore, nextCursor } = pagingOf(all.at(-1)!)
    if (!hasMore) return all
    expect(nextCursor).toEqual(expect.any(String))
    all.push(await page(sandbox, { ...params, cursor: nextCursor! }))
  }
}

const tsOf = (found: readonly ExportBody[]) => found.flatMap(({ data }) => data.map(({ ts = 0 }) => ts))

const ids = (sandbox: Sandbox) =>
  exportable(sandbox, firstAgent(sandbox))
    .map(({ id }) => id)
    .toSorted()

const status = async (sandbox: Sandbox, params: Params) =>
  (await call(sandbox, exportPath(firstAgent(sandbox), params))).status

/** A sandbox of one agent, and the `ts` of one of its conversations, which is no whole second. */
async function withTs(open: Open) {
  const sandbox = await open({ conversations: 60, agents: 1 })
  const documents = exportable(sandbox, firstAgent(sandbox)).map(
    ({ document }) => document as { ID: string; ts?: number },
  )
  const { ID, ts } = documents.filter(({ ts = 0 }) => ts % 1_000 > 0)[20]!
  return { sandbox, id: ID, ts: ts! }
}

export const EXPORT: Section = {
  readings: [
    ...each('paging', ['nested', 'both']),
    ...each('last-cursor', ['absent', 'empty', 'present']),
    ...each('last-page', ['full']),
    ...each('page-fill', ['returned']),
    ...each('empty-pages', ['between']),
  ],
  sentences: [
    ['is GET …/convos/export', isServed('GET /v3/agents/{agentId}/convos/export')],
    [
      'it needs a workspace that has paid',
      async open => {
        const sandbox = await open({ paid: false })
        const { status, body } = await refusal(sandbox, exportPath(firstAgent(sandbox)))
        expect([status, body]).toEqual([Number(sandbox.readings.unpaid), envelopeOf()])
        sandbox.conditions.set({ paid: true })
        await page(sandbox)
      },
      each('unpaid', ['401', '402']),
    ],
    [
      'it reads from the mirror, with its lag',
      async open => {
        const mirrorLagMs = DAY
        const sandbox = await open({ arrivalsPerDay: 200, agents: 1, mirrorLagMs })
        sandbox.clock.advance(2 * DAY)
        const lagging = await pages(sandbox, { limit: 100 })
        const asOf = sandbox.clock.now() - mirrorLagMs
        expect(pagingOf(lagging[0]!).source).toEqual(expect.any(String))
        expect(Math.max(...tsOf(lagging))).toBeLessThanOrEqual(asOf)
        const mirrored = exportable(sandbox, firstAgent(sandbox), asOf).map(({ id }) => id)
        expect(idsOf(lagging).toSorted()).toEqual(mirrored.toSorted())
        expect(mirrored.length).toBeLessThan(exportable(sandbox, firstAgent(sandbox)).length)
      },
    ],
    [
      'limit is 20 by default, and 1 to 100',
      async open => {
        const sandbox = await open({ agents: 1, conversations: 130 })
        for (const [params, limit] of [
          [{}, 20],
          [{ limit: 1 }, 1],
          [{ limit: 100 }, 100],
        ] as const) {
          const found = await page(sandbox, params)
          expect(pagingOf(found)).toMatchObject({ limit, hasMore: true })
          expect(found.data.length).toBeLessThanOrEqual(limit)
        }
        for (const limit of [0, 101, 'x']) expect(await status(sandbox, { limit })).toBe(400)
      },
    ],
    [
      'sort is newest first by default, or oldest first',
      async open => {
        const sandbox = await open({ conversations: 60, agents: 1 })
        const newestFirst = tsOf(await pages(sandbox))
        expect(newestFirst).toEqual(newestFirst.toSorted((a, b) => b - a))
        expect(tsOf(await pages(sandbox, { sort: 'desc' }))).toEqual(newestFirst)
        expect(tsOf(await pages(sandbox, { sort: 'asc' }))).toEqual(newestFirst.toReversed())
        expect(await status(sandbox, { sort: 'up' })).toBe(400)
      },
      each('ties', ['descending']),
    ],
    [
      'fromTs is an inclusive start on `ts`, in seconds or milliseconds',
      async open => {
        const { sandbox, id, ts } = await withTs(open)
        for (const fromTs of [ts, Math.floor(ts / 1_000)]) {
          const found = await pages(sandbox, { fromTs })
          expect(idsOf(found)).toContain(id)
          for (const other of tsOf(found)) expect(other).toBeGreaterThanOrEqual(Math.floor(ts / 1_000) * 1_000)
        }
        expect(idsOf(await pages(sandbox, { fromTs: Math.floor(ts / 1_000) + 1 }))).not.toContain(id)
      },
      each('bounds', ['s', 'instant']),
    ],
    [
      'toTs is an inclusive end, in the same units',
      async open => {
        const { sandbox, id, ts } = await withTs(open)
        for (const toTs of [ts, Math.floor(ts / 1_000) + 1]) {
          const found = await pages(sandbox, { toTs })
          expect(idsOf(found)).toContain(id)
          for (const other of tsOf(found)) expect(other).toBeLessThan((Math.floor(ts / 1_000) + 2) * 1_000)
        }
        expect(idsOf(await pages(sandbox, { toTs: Math.floor(ts / 1_000) - 1 }))).not.toContain(id)
        expect(idsOf(await pages(sandbox, { fromTs: ts, toTs: ts }))).toContain(id)
      },
      each('bounds', ['s', 'instant']),
    ],
    [
      'a cursor goes on where the page before ended, with the same sort and bounds',
      async open => {
        const sandbox = await open({ conversations: 60, agents: 1 })
        expect(idsOf(await pages(sandbox, { limit: 7 })).toSorted()).toEqual(ids(sandbox))
        const [from, , to] = tsOf(await pages(sandbox, { sort: 'asc' })).filter(ts => ts > 0)
        const whole = idsOf([await page(sandbox, { sort: 'asc', fromTs: from!, toTs: to!, limit: 100 })])
        const window = await pages(sandbox, { sort: 'asc', fromTs: from!, toTs: to!, limit: 1 })
        expect([idsOf(window), whole.length]).toEqual([whole, 3])
      },
      [...each('bounds', ['s', 'instant']), ...each('ties', ['descending']), ...each('cursor-life', ['10m', 'once'])],
    ],
    [
      'convoIds selects exactly those, divided by commas, without paging',
      async open => {
        const sandbox = await open({ conversations: 90, agents: 1 })
        const wanted = ids(sandbox).slice(3, 40)
        const found = await page(sandbox, { convoIds: wanted.join(',') })
        expect(idsOf([found]).toSorted()).toEqual(wanted)
        expect(pagingOf(found)).toMatchObject({ hasMore: false })
      },
      each('unknown-ids', ['404', '400']),
    ],
    [
      'format is json by default, or csv',
      async open => {
        const sandbox = await open()
        const typeOf = async (params: Params) =>
          (await call(sandbox, exportPath(firstAgent(sandbox), params))).headers.get('content-type')
        expect(await typeOf({})).toContain('application/json')
        expect(await typeOf({ format: 'json' })).toContain('application/json')
        expect(await typeOf({ format: 'csv' })).toContain('text/csv')
        expect(await status(sandbox, { format: 'xml' })).toBe(400)
      },
    ],
    [
      'the mode is `paginated`, or `selected` with convoIds',
      async open => {
        const sandbox = await open()
        expect(pagingOf(await page(sandbox)).mode).toBe('paginated')
        expect(pagingOf(await page(sandbox, { convoIds: ids(sandbox)[0]! })).mode).toBe('selected')
      },
    ],
    [
      'rule 1: conversations without a message of a person are skipped, and not billed',
      async open => {
        const sandbox = await open({ conversations: 300, agents: 1 })
        const all = [...sandbox.world.conversations(firstAgent(sandbox), sandbox.clock.now())]
        const silent = all.filter(({ billableSessions }) => billableSessions === 0).map(({ id }) => id)
        expect(silent.length).toBeGreaterThan(3)
        const found = await pages(sandbox, { limit: 100 })
        expect(idsOf(found).toSorted()).toEqual(ids(sandbox))
        const selected = await page(sandbox, { convoIds: silent.join(',') })
        expect([selected.data, selected.usage.billableUsedThisRequest]).toEqual([[], 0])
      },
    ],
    [
      'rule 2: each past session with turns of a person bills, and counts against the quota',
      async open => {
        const sandbox = await open({ conversations: 60, agents: 1 })
        const conversations = exportable(sandbox, firstAgent(sandbox))
        const sessions = conversations.reduce((sum, { billableSessions }) => sum + billableSessions, 0)
        const found = await pages(sandbox, { limit: 9 })
        expect(found.reduce((sum, { usage }) => sum + usage.billableUsedThisRequest, 0)).toBe(sessions)
        const { usage } = found.at(-1)!
        expect(usage).toMatchObject({
          billableUsedThisPeriod: sessions,
          billableRemainingThisPeriod: usage.includedQuota - sessions,
        })
        expect(sessions).toBeGreaterThan(conversations.length)
      },
      each('rebill', ['once']),
    ],
    [
      'rule 3: the answer has the usage, and the requests that remain in the hour',
      async open => {
        const sandbox = await open()
        for (const remainingHour of [1_499, 1_498])
          expect(await page(sandbox)).toMatchObject({
            rateLimit: { requestsPerHour: 1_500, remainingHour },
            usage: { exportRequestCount: 1_500 - remainingHour },
          })
      },
    ],
    [
      'the answer has all documented fields',
      async open => {
        const [anyNumber, anyText] = [expect.any(Number), expect.any(String)]
        const sandbox = await open({ conversations: 200 })
        const answer = await page(sandbox, { limit: 5, fromTs: 1_700_000_000, sort: 'asc' })
        const { usage, rateLimit } = answer
        expect(answer).toMatchObject({ success: true, message: anyText, data: expect.any(Array) })
        expect(usage).toEqual({
          periodKey: anyText,
          billableUsedThisRequest: anyNumber,
          billableUsedThisPeriod: anyNumber,
          includedQuota: anyNumber,
          billableRemainingThisPeriod: anyNumber,
          overageUsedThisPeriod: anyNumber,
          overagePacksCharged: anyNumber,
          exportRequestCount: anyNumber,
          summary: anyText,
          logId: anyText,
        })
        expect(rateLimit).toEqual({ requestsPerHour: anyNumber, remainingHour: anyNumber })
        expect(pagingOf(answer)).toMatchObject({
          hasMore: true,
          nextCursor: anyText,
          limit: 5,
          mode: 'paginated',
          scannedConvoCount: anyNumber,
          source: anyText,
          query: { sort: 'asc', fromTs: anyNumber, toTs: null },
        })
      },
      each('echo', ['s', 'ms']),
    ],
    [
      'the message has the numbers of conversations and billed sessions',
      async open => {
        const { message, data, usage } = await page(await open({ conversations: 200, agents: 1 }), { limit: 50 })
        const numbers = message.match(/\d+/g)?.map(Number)
        expect(numbers).toEqual([data.length, usage.billableUsedThisRequest])
      },
    ],
  ],
}
