// Faults that never end, or that bill more than expected: what a sync may spend on them.
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../src/core/time.ts'
import { CONCURRENT_WINDOWS } from '../../../workflows/window-loop.ts'
import { isDeep } from '../../tier.ts'
import { meddlingProxy } from '../simulated/meddling-proxy.ts'
import { type SimulatedApp, START_MS } from '../simulated/open-simulated-app.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'
import { appViolations, truthViolations } from './fault-invariants.ts'
import { finish } from './fault-mix.ts'

const PAGES = { maxPage: 10 }

/** Syncs without faults to the end, then expects nothing missing, duplicated, or billed without being reported. */
async function expectCompleteInTheEnd(simulated: SimulatedApp, conversationsPerTs = 0): Promise<void> {
  const { violations, plannedAtMs } = await finish(simulated)
  expect(violations).toEqual([])
  expect(await appViolations(simulated, { stoppedRuns: 0, conversationsPerTs })).toEqual([])
  expect(await truthViolations(simulated, { plannedAtMs, readSinceMs: START_MS })).toEqual([])
}

describe('more conversations of one ts than a page holds', () => {
  const bursts = { conversations: 150, agents: 2, burstEvery: 60, burstSize: 35 }

  it('are a gap if every cursor is refused, after at most three repetitions', async () => {
    const simulated = await simulatedApp({ sandbox: bursts, settings: PAGES })
    simulated.sandbox.faults.set({ script: [{ every: 1, fault: 'expired-cursor' }] })
    const report = await simulated.sync()
    expect(report.gaps?.[0]).toMatchObject({ tries: 0 })
    const places = (await simulated.exported()).filter(({ status }) => status === 200)
    const times = new Map<string, number>()
    for (const { agentId, query } of places) {
      const key = JSON.stringify([agentId, query.fromTs, query.toTs])
      times.set(key, (times.get(key) ?? 0) + 1)
    }
    expect(Math.max(...times.values())).toBeLessThanOrEqual(4)
    await expectCompleteInTheEnd(simulated, bursts.burstSize)
  })
})

describe('a window without progress', () => {
  const ofOneSecond = { burstEvery: 40, burstSize: 35 }

  it('is exported a few times a day at most', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 60, agents: 1, ...ofOneSecond },
      settings: PAGES,
    })
    simulated.sandbox.faults.set({ script: [{ every: 1, fault: 'expired-cursor' }] })
    const pages = async () =>
      (await simulated.exported()).filter(({ status, query }) => status === 200 && query.sort === 'desc').length
    const exportedInADay = async () => {
      const before = await pages()
      for (let poll = 0; poll < 6; poll++) {
        await simulated.sync({ unattended: true })
        simulated.advance(4 * HOUR)
      }
      return (await pages()) - before
    }
    for (const most of isDeep ? [20, 8] : [20]) expect(await exportedInADay()).toBeLessThan(most)
    await expectCompleteInTheEnd(simulated, ofOneSecond.burstSize)
  })
})

describe('endless empty pages', () => {
  it('leave their window to the next sync, which continues behind them', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 40, agents: 1 }, settings: PAGES })
    simulated.sandbox.faults.set({ script: [{ from: 3, fault: 'empty-page' }] })
    const report = await simulated.sync()
    expect(report).toMatchObject({ windowsLeft: 1 })
    expect(report.requests).toBeLessThan(220)
    const before = (await simulated.served()).length
    await simulated.sync()
    expect((await simulated.served()).length - before).toBeLessThanOrEqual(210)
    await expectCompleteInTheEnd(simulated)
  })
})

describe('sessions that are billed unexpectedly', () => {
  it('count against the limit of a run if their answers were lost', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 300 }, settings: { maxPage: 20 } })
    simulated.sandbox.faults.set({ script: [{ every: 2, fault: 'html' }] })
    const report = await simulated.sync({ maxSessions: 150 })
    expect(report.outcome).toBe('limit-reached')
    expect(report.lostAnswers).toBeGreaterThan(0)
    const { billableUsedThisPeriod } = await simulated.usage()
    expect(billableUsedThisPeriod).toBeLessThanOrEqual(150)
    expect(billableUsedThisPeriod).toBeLessThanOrEqual(report.sessions + report.lostSessions)
    expect(billableUsedThisPeriod).toBeGreaterThan(report.sessions)
  })

  it('are reported as a breach if a page bills more than its lease allows, and only requests in flight follow', async () => {
    const surprise = 90
    const simulated = await simulatedApp({
      sandbox: { conversations: 200, quotaSessions: 200, historyDays: 2_000 },
      settings: { maxPage: 20 },
      through: async sandbox => {
        let extra = 0
        const proxy = await meddlingProxy(sandbox.url, ({ number }) => ({
          change: body => {
            const usage = body.usage as Record<string, number>
            const own = number === 3 ? surprise : 0
            extra = Math.max(extra, own)
            return {
              ...body,
              usage: {
                ...usage,
                billableUsedThisRequest: usage.billableUsedThisRequest! + own,
                billableUsedThisPeriod: usage.billableUsedThisPeriod! + extra,
              },
            }
          },
        }))
        return proxy.url
      },
    })
    const report = await simulated.sync()
    expect(report.outcome).toBe('period-spent')
    // More than one is possible, because small pages may bill more than estimated even without the surprise.
    expect(report.breaches).toBeGreaterThanOrEqual(1)
    // Each other window loop may have one page in flight, of 20 conversations that bill 25 sessions.
    const inFlight = (CONCURRENT_WINDOWS - 1) * 25
    expect((await simulated.usage()).billableUsedThisPeriod + surprise).toBeLessThanOrEqual(200 + inFlight)
  })

  it('are known to a later run even if the last answer reported too little', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 200, quotaSessions: 400, historyDays: 2_000 },
      settings: PAGES,
    })
    simulated.sandbox.faults.set({ script: [{ from: 6, fault: 'usage-reported-low' }] })
    await simulated.sync({ maxRequests: 6 })
    simulated.advance(2 * HOUR)
    simulated.sandbox.faults.set({})
    await simulated.sync()
    expect(await simulated.usage()).toMatchObject({ overageUsedThisPeriod: 0 })
    const usedSessions = simulated.updates.flatMap(update =>
      update.kind === 'governor' ? [update.governor.quota.usedSessions] : [],
    )
    expect(usedSessions[0]).toBeGreaterThan(40)
  })
})
