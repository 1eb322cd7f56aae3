// Section 8: limits.
import { expect } from 'vitest'
import { MINUTE } from '../../../src/core/time.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { call, exportPage, exportPath, firstAgent, type Params } from '../caller.ts'
import { ask } from '../endpoints/writer.ts'
import { each, expectRefused, type Open, SAYS_NOTHING, type Section } from './sentences.ts'

const status = async (sandbox: Sandbox, params: Params = {}) =>
  (await call(sandbox, exportPath(firstAgent(sandbox), params))).status

const selection = (count: number): Params => ({
  convoIds: Array.from(
    { length: count },
    (_, number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
  ).join(','),
})

/** Statuses of the last two requests that an hour allows and of the next two; others have made the requests before. */
async function endOfHour(open: Open, requestsPerHour: number, paid: boolean): Promise<number[]> {
  const sandbox = await open({ paid })
  const others = { kind: 'export', at: 1, fault: 'others-requests', param: requestsPerHour - 2 } as const
  sandbox.faults.set({ script: [others] })
  const statuses = []
  for (let request = 0; request < 4; request++) statuses.push(await status(sandbox))
  return statuses
}

/** The sizes of the unpaid column are never seen, since the export is refused. */
async function isRefusedUnpaid(open: Open, requests: readonly Params[]): Promise<void> {
  const sandbox = await open({ paid: false })
  for (const params of requests) expect(await status(sandbox, params)).toBe(Number(sandbox.readings.unpaid))
}

export const LIMITS: Section = {
  readings: [...each('hour', ['fixed']), ...each('retry-after', ['absent', 'date'])],
  sentences: [
    [
      'the limits of the export are those of a workspace, not of an agent; the counters of a restarted process begin at zero',
      async open => {
        const sandbox = await open()
        const left: number[] = []
        for (const agentId of sandbox.world.agentIds())
          left.push((await exportPage(sandbox, agentId)).rateLimit.remainingHour)
        expect(left).toEqual([1_499, 1_498, 1_497])
        const restarted = await open()
        expect((await exportPage(restarted, firstAgent(restarted))).rateLimit.remainingHour).toBe(1_499)
      },
    ],
    ['a page of an unpaid workspace is at most 50', open => isRefusedUnpaid(open, [{}, { limit: 50 }, { limit: 51 }])],
    [
      'a page of a paid workspace is 20 by default, and at most 100',
      async open => {
        const sandbox = await open()
        expect((await exportPage(sandbox, firstAgent(sandbox))).limit).toBe(20)
        expect([await status(sandbox, { limit: 100 }), await status(sandbox, { limit: 101 })]).toEqual([200, 400])
      },
    ],
    ['an unpaid workspace selects at most 200', open => isRefusedUnpaid(open, [selection(200), selection(201)])],
    [
      'a paid workspace selects at most 500',
      async open => {
        const sandbox = await open()
        expect([await status(sandbox, selection(500)), await status(sandbox, selection(501))]).toEqual([200, 400])
      },
    ],
    [
      'an unpaid workspace has 300 requests in an hour',
      async open => {
        const [first, ...others] = await endOfHour(open, 300, false)
        expect([401, 402, 403]).toContain(first)
        expect(others).toEqual([first, 429, 429])
      },
    ],
    [
      'a paid workspace has 1,500 requests in an hour',
      async open => expect(await endOfHour(open, 1_500, true)).toEqual([200, 200, 429, 429]),
    ],
    [
      'who can export has the limits of the paid column',
      async open => {
        const sandbox = await open()
        const { rateLimit } = await exportPage(sandbox, firstAgent(sandbox), { limit: 51 })
        expect(rateLimit.requestsPerHour).toBe(1_500)
        expect(await status(sandbox, selection(201))).toBe(200)
      },
    ],
    [
      'more requests than an hour allows are a 429, until the hour is over',
      async open => {
        const sandbox = await open({ hourlyRequests: 1, startMs: Date.UTC(2026, 5, 1, 12) })
        expect([await status(sandbox), await status(sandbox)]).toEqual([200, 429])
        sandbox.clock.advance(59 * MINUTE)
        expect(await status(sandbox)).toBe(429)
        sandbox.clock.advance(MINUTE)
        expect([await status(sandbox), await status(sandbox)]).toEqual([200, 429])
      },
    ],
    [
      'a billing period includes 50,000 sessions',
      async open => {
        const sandbox = await open()
        const { usage } = await exportPage(sandbox, firstAgent(sandbox))
        expect(usage).toMatchObject({
          includedQuota: 50_000,
          billableRemainingThisPeriod: 50_000 - usage.billableUsedThisRequest,
          overageUsedThisPeriod: 0,
          overagePacksCharged: 0,
        })
      },
    ],
    [
      'more are billed in packs of 1,000, and the export goes on',
      async open => {
        const sandbox = await open({ quotaSessions: 10, agents: 1, conversations: 120 })
        const packs: number[] = []
        for (let overage = 0; overage <= 1_000; ) {
          const { usage } = await exportPage(sandbox, firstAgent(sandbox), { limit: 100 })
          overage = usage.billableUsedThisPeriod - 10
          expect(usage).toMatchObject({ overageUsedThisPeriod: overage, billableRemainingThisPeriod: 0 })
          expect(usage.overagePacksCharged).toBe(Math.ceil(overage / 1_000))
          packs.push(usage.overagePacksCharged)
        }
        expect(new Set(packs)).toEqual(new Set([1, 2]))
      },
    ],
    [
      'a page of voices has 1 to 500, from an offset of at least 0',
      async open => {
        const sandbox = await open()
        const voices = (query: string) => ask(sandbox, 'GET', `/v3/voices?${query}`)
        for (const query of ['limit=1', 'limit=500', 'offset=0']) expect((await voices(query)).status).toBe(200)
        for (const query of ['limit=0', 'limit=501', 'offset=-1']) expectRefused(await voices(query), 400)
      },
    ],
    [
      'a receiver of events has 60 seconds to answer',
      async open => {
        const { body } = await ask(await open(), 'GET', '/_sandbox/webhooks')
        expect(body).toMatchObject({ settings: { timeoutMs: 60_000 } })
      },
    ],
    ['limits of other endpoints', SAYS_NOTHING],
  ],
}
