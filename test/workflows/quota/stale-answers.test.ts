// Answers that are wrong about the quota or its billing period: stale, cached, mistaken.
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../../src/core/time.ts'
import { type Meddling, meddlingProxy, type Passing } from '../simulated/meddling-proxy.ts'
import type { SimulatedAppOptions } from '../simulated/open-simulated-app.ts'
import { isProbe } from '../simulated/probe.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'

const reporting = (usage: Record<string, unknown>): Meddling => ({
  change: body => ({ ...body, usage: { ...(body.usage as object), ...usage } }),
})

/** A workspace whose answers are changed, those to probes included. */
async function misled(options: SimulatedAppOptions, meddle: (passing: Passing) => Meddling | undefined) {
  return simulatedApp({
    ...options,
    through: async sandbox => (await meddlingProxy(sandbox.url, meddle, { probesToo: true })).url,
  })
}

const QUOTA = 300
const LAST_MONTH = reporting({
  periodKey: 'last month',
  billableUsedThisPeriod: 5,
  billableRemainingThisPeriod: QUOTA - 5,
})
const EXHAUSTED = reporting({
  periodKey: 'last month',
  billableUsedThisPeriod: 5_000,
  billableRemainingThisPeriod: 0,
})

describe('a last page of a run that names last month', () => {
  it.each([
    ['at once', MINUTE],
    ['hours later', 3 * HOUR],
  ])('makes the next sync spend nothing beyond the quota: %s', async (_, laterMs) => {
    const world = { conversations: 400, agents: 1, historyDays: 1_800, quotaSessions: QUOTA, speed: 1 }
    const simulated = await misled({ sandbox: world, settings: { maxPage: 20 } }, ({ number }) =>
      number === 14 ? LAST_MONTH : undefined,
    )
    await simulated.sync({ maxRequests: 14 })
    simulated.advance(laterMs)
    await simulated.restart()
    expect(await simulated.sync()).toMatchObject({ outcome: 'period-spent' })
    expect(await simulated.usage()).toMatchObject({ overageUsedThisPeriod: 0 })
  })
})

describe('answers that say that the quota is used up', () => {
  const world = { conversations: 200, agents: 2, historyDays: 1_800, quotaSessions: 5_000 }

  it('cost a few probes with addresses of their own, and at most an hour, if three in a row say so', async () => {
    const simulated = await misled({ sandbox: world, settings: { maxPage: 20 } }, ({ number }) =>
      number >= 4 && number <= 6 ? EXHAUSTED : undefined,
    )
    const first = await simulated.sync()
    simulated.advance(HOUR)
    if (first.outcome !== 'done') await simulated.sync()
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', windowsLeft: 0 })
    const probes = (await simulated.served()).filter(isProbe)
    expect(probes.length).toBeLessThanOrEqual(6)
    expect(new Set(probes.map(({ query }) => query.fromTs)).size).toBe(probes.length)
  })

  it.each([
    ['of one period', () => 'last month'],
    ['of another period each time', (number: number) => `month ${number}`],
    ['of the running period', () => undefined],
  ])('cost at most eight probes an hour if they never end: %s', async (_, keyOf) => {
    let asked = 0
    const simulated = await misled({ sandbox: world, settings: { maxPage: 20 } }, ({ number }) => {
      asked = number
      const periodKey = keyOf(number)
      const usage = { billableUsedThisPeriod: 5_000, billableRemainingThisPeriod: 0 }
      return number > 3 && number % 2 === 0 ? reporting({ ...usage, ...(periodKey && { periodKey }) }) : undefined
    })
    const startMs = simulated.clock.now()
    const probesOf: number[] = []
    while (simulated.clock.now() < startMs + 2 * HOUR) {
      const before = (await simulated.served()).filter(isProbe).length
      await simulated.sync()
      simulated.advance(10 * MINUTE)
      probesOf.push((await simulated.served()).filter(isProbe).length - before)
    }
    const hours = (simulated.clock.now() - startMs) / HOUR
    expect(probesOf.reduce((sum, probes) => sum + probes, 0)).toBeLessThanOrEqual(9 * Math.ceil(hours))
    expect(asked).toBeGreaterThan(3)
  })
})
