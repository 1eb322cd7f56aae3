import { describe, expect, it } from 'vitest'
import {
  call,
  DAY,
  exportAll,
  exportable,
  exportPage,
  exportPath,
  firstAgent,
  idsOf,
  open,
  START_MS,
} from '../caller.ts'
import { ask, control, openWith, statuses } from './fault-caller.ts'

const HOUR = 3_600_000

describe('a workspace', () => {
  it('is refused with 403 while it is not paid', async () => {
    const sandbox = await open({ agents: 1 })
    expect(await statuses(sandbox, 1)).toEqual([200])
    sandbox.conditions.set({ paid: false })
    expect(await statuses(sandbox, 1)).toEqual([403])
    sandbox.conditions.set({ paid: true })
    expect(await statuses(sandbox, 1)).toEqual([200])
  })

  it('neither lists nor exports a deleted agent until it exists again', async () => {
    const sandbox = await open({ agents: 3 })
    const [one, two, three] = sandbox.world.agentIds() as [string, string, string]
    const listed = async () => {
      const body = (await (await call(sandbox, '/v3/agents/search')).json()) as { agents: { ID: string }[] }
      return body.agents.map(({ ID }) => ID).toSorted()
    }
    const exported = async (agentId: string) => (await call(sandbox, exportPath(agentId))).status
    sandbox.conditions.set({ gone: [two, 3] })
    expect(await listed()).toEqual([one])
    expect([await exported(one), await exported(two), await exported(three)]).toEqual([200, 404, 404])
    sandbox.conditions.set({ gone: [] })
    expect(await listed()).toEqual([one, two, three].toSorted())
    expect(await exported(two)).toBe(200)
  })

  it('starts a new period on demand, more than once, and reports the previous one with a fault', async () => {
    const sandbox = await open({ agents: 1, periodDays: 30 })
    const period = async () => (await exportPage(sandbox, firstAgent(sandbox))).usage
    const first = await period()
    const turned = []
    for (let turns = 0; turns < 2; turns++) {
      sandbox.clock.advance(HOUR)
      sandbox.conditions.set({ turnPeriod: true })
      turned.push(await period())
    }
    expect(turned.map(usage => usage.billableUsedThisPeriod)).toEqual(
      turned.map(usage => usage.billableUsedThisRequest),
    )
    sandbox.clock.advance(30 * DAY - 1)
    const last = await period()
    expect(last.periodKey).toBe(turned[1]!.periodKey)
    expect(last.billableUsedThisPeriod).toBe(turned[1]!.billableUsedThisPeriod + last.billableUsedThisRequest)
    sandbox.clock.advance(1)
    const next = await period()
    expect(new Set([first, ...turned, last, next].map(usage => usage.periodKey)).size).toBe(4)
    sandbox.faults.set({ rates: { 'old-period-reported': 1 } })
    expect(await period()).toMatchObject({
      periodKey: last.periodKey,
      billableUsedThisPeriod: last.billableUsedThisPeriod,
    })
  })

  it('has its rate limit used up by others, or reset, at once', async () => {
    const sandbox = await open({ agents: 1, hourlyRequests: 5 })
    sandbox.conditions.set({ othersRequests: 4 })
    expect(await statuses(sandbox, 2)).toEqual([200, 429])
    sandbox.conditions.set({ forgetHour: true })
    expect(await statuses(sandbox, 1)).toEqual([200])
  })
})

describe('the Date header', () => {
  it('is ahead from the start, and can be set behind', async () => {
    const sandbox = await open({ agents: 1, clockOffsetMs: 2 * DAY })
    const offset = async () => Date.parse((await ask(sandbox)).headers.get('date')!) - START_MS
    expect(await offset()).toBe(2 * DAY)
    sandbox.conditions.set({ clockOffsetMs: -HOUR })
    expect(await offset()).toBe(-HOUR)
  })
})

describe('a mirror whose lag changes', () => {
  it('stops until a larger lag is reached, continues, and catches up at once when the lag is lowered', async () => {
    const sandbox = await open({ agents: 1, conversations: 0, arrivalsPerDay: 500 })
    const agentId = firstAgent(sandbox)
    sandbox.clock.advance(DAY)
    const seen = async () => idsOf(await exportAll(sandbox, agentId, { limit: 100 })).length
    const trueAt = (nowMs: number) => exportable(sandbox, agentId, nowMs).length
    sandbox.conditions.set({ mirrorLagMs: 6 * HOUR })
    expect(await seen()).toBe(trueAt(START_MS + DAY))
    sandbox.clock.advance(5 * HOUR)
    expect(await seen()).toBe(trueAt(START_MS + DAY))
    sandbox.clock.advance(5 * HOUR)
    expect(await seen()).toBe(trueAt(START_MS + DAY + 4 * HOUR))
    expect(await seen()).toBeGreaterThan(trueAt(START_MS + DAY))
    sandbox.conditions.set({ mirrorLagMs: 0 })
    expect(await seen()).toBe(trueAt(START_MS + DAY + 10 * HOUR))
    const { agents } = (await control<{ agents: { exportable: number }[] }>(sandbox, 'truth')).json
    expect(agents[0]!.exportable).toBe(await seen())
  })
})

describe('a script', () => {
  it('changes conditions before the requests that it names', async () => {
    const sandbox = await openWith({
      script: [
        { at: 2, set: { paid: false } },
        { at: 3, set: { paid: true, gone: [1] } },
        { at: 4, set: { gone: [] } },
      ],
    })
    expect(await statuses(sandbox, 5)).toEqual([200, 403, 404, 200, 200])
  })

  it('that sets invalid conditions is refused', async () => {
    const sandbox = await open({ agents: 1 })
    for (const rule of [{ at: 1, set: { gone: [2] } }, { at: 1, set: { rich: true } }, { at: 1 }]) {
      expect((await control(sandbox, 'faults', { script: [rule] })).status).toBe(400)
    }
    expect(await statuses(sandbox, 1)).toEqual([200])
  })
})

describe('the control endpoints', () => {
  it('change the given conditions and report all of them', async () => {
    const sandbox = await open({ agents: 1 })
    const agentId = firstAgent(sandbox)
    await control(sandbox, 'conditions', { paid: false, mirrorLagMs: 1_000 })
    await control(sandbox, 'conditions', { clockOffsetMs: -5, gone: [agentId] })
    expect((await control(sandbox, 'conditions')).json).toEqual({
      paid: false,
      mirrorLagMs: 1_000,
      clockOffsetMs: -5,
      gone: [agentId],
      failedProviders: [],
    })
    expect((await control<{ agents: object[] }>(sandbox, 'truth')).json.agents[0]).toMatchObject({
      agentId,
      gone: true,
    })
  })

  it.each([
    { paid: 'no' },
    { mirrorLagMs: -1 },
    { gone: ['agent_unknown'] },
    { gone: [2] },
    { turnPeriod: false },
    { colour: 'red' },
    'none',
  ])('refuse %j', async setting => {
    const sandbox = await open({ agents: 1 })
    const before = (await control(sandbox, 'conditions')).json
    expect((await control(sandbox, 'conditions', setting)).status).toBe(400)
    expect((await control(sandbox, 'conditions')).json).toEqual(before)
  })
})
