// Compares the reconciliation report with the generator, by agent and by day.
import { describe, expect, it } from 'vitest'
import { DAY, MINUTE, SECOND } from '../../src/core/time.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import type { SimulatedApp } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'
import { timeMs } from './simulated/truth.ts'

const SETTLE_MS = 2 * MINUTE
/** Nothing is read a second time unless a test requests it. */
const ONCE = { rereadShare: 0, sampleShare: 0 }

interface Account {
  scanned: number
  returned: number
  skipped: number
  held: number
}

const accountOf = (visible: number, exportable: number): Account => ({
  scanned: visible,
  returned: exportable,
  skipped: visible - exportable,
  held: exportable,
})

const SUMS = ['scanned', 'returned', 'skipped', 'held'].map(name => `sum(${name})::INTEGER AS ${name}`).join(', ')

async function byAgent({ rows }: SimulatedApp): Promise<Record<string, Account>> {
  const found = await rows<Account & { agent_id: string }>(`SELECT agent_id, ${SUMS} FROM _ledger GROUP BY agent_id`)
  return Object.fromEntries(found.map(({ agent_id, ...account }) => [agent_id, account]))
}

const trueByAgent = ({ world, clock }: Sandbox): Record<string, Account> =>
  Object.fromEntries(
    world.agentIds().map(id => {
      const { visible, exportable } = world.tally(id, clock.now())
      return [id, accountOf(visible, exportable)]
    }),
  )

/** Counts an agent's conversations with a `ts` in the range, in their current state. */
function trueBetween({ world, clock }: Sandbox, agentId: string, fromMs: number, toMs: number): Account {
  const within = [...world.conversations(agentId, clock.now())].filter(({ document }) => {
    const ms = timeMs(document.ts)
    return ms !== null && ms >= fromMs && ms < toMs
  })
  return accountOf(within.length, within.filter(({ billableSessions }) => billableSessions > 0).length)
}

describe('the reconciliation of a synced workspace', () => {
  it('agrees with the generator by agent, also after a later full export', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 60, arrivalsPerDay: 20, agents: 2 },
      settings: { ...ONCE, maxPage: 20 },
    })
    const { sandbox } = simulated
    // Nothing arrives within the settle time before the sync, so the sync reads everything.
    sandbox.clock.advance(-SETTLE_MS)
    const before = trueByAgent(sandbox)
    sandbox.clock.advance(SETTLE_MS)
    expect(trueByAgent(sandbox)).toEqual(before)
    await simulated.sync()
    expect(await byAgent(simulated)).toEqual(before)

    simulated.advance(2 * DAY)
    await simulated.sync()
    const actual = await byAgent(simulated)
    const truth = trueByAgent(sandbox)
    for (const [id, { skipped }] of Object.entries(truth)) expect(actual[id]!.skipped).toBeGreaterThanOrEqual(skipped)
    simulated.advance(MINUTE)
    await simulated.sync({ mode: 'full' })
    expect(trueByAgent(sandbox)).toEqual(truth)
    expect(await byAgent(simulated)).toEqual(truth)
    expect(Object.values(truth).every(({ skipped }) => skipped > 0)).toBe(true)
  })

  it('agrees with the generator by day of the workspace if each day was read separately', async () => {
    const newYork = 4 * 60 * MINUTE
    /** Midnight in New York, where daylight saving time applies on that day. */
    const midnight = Date.UTC(2026, 5, 1) + newYork
    const simulated = await simulatedApp({
      sandbox: { conversations: 0, arrivalsPerDay: 40, agents: 2, startMs: midnight + SETTLE_MS - SECOND },
      settings: { ...ONCE, timeZone: 'America/New_York' },
    })
    const { sandbox } = simulated
    await simulated.sync()
    const truth: Record<string, Account> = {}
    for (let day = 0; day < 2; day++) {
      simulated.advance(DAY)
      await simulated.sync()
      const from = midnight + day * DAY
      const name = new Date(from - newYork).toISOString().slice(0, 10)
      for (const id of sandbox.world.agentIds()) truth[`${name} ${id}`] = trueBetween(sandbox, id, from, from + DAY)
    }
    const actual = await simulated.rows<Account & { day: string }>(
      `SELECT day::VARCHAR || ' ' || agent_id AS day, ${SUMS} FROM _ledger WHERE day IS NOT NULL GROUP BY ALL`,
    )
    expect(Object.fromEntries(actual.map(({ day, ...account }) => [day, account]))).toEqual(truth)
    expect(Object.values(truth).reduce((sum, { skipped }) => sum + skipped, 0)).toBeGreaterThan(2)
  })
})
