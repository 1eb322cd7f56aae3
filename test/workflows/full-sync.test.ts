// After a first sync, every field and child row equals the generator's records.
import { describe, expect, it } from 'vitest'
import { isDeep } from '../tier.ts'
import { expectedTables } from './simulated/expected-rows.ts'
import { START_MS } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'
import { readThrough, truthOf } from './simulated/truth.ts'
import { asLines, warehouseTables } from './simulated/warehouse-tables.ts'

const SETTLE_MS = 120_000

describe('a sync of a workspace', () => {
  it.each(isDeep ? (['created', 'activity'] as const) : (['created'] as const))(
    'stores every billable conversation once, with every field and child row: ts is %s',
    async ts => {
      const simulated = await simulatedApp({ sandbox: { conversations: 200, agents: 5, ts } })
      const report = await simulated.sync()
      expect(report).toMatchObject({ outcome: 'done', failures: [], windowsLeft: 0, breaches: 0 })
      const truth = truthOf(simulated.sandbox, { throughMs: readThrough(START_MS, SETTLE_MS) })
      expect(truth.length).toBeGreaterThan(150)
      const tables = asLines(await warehouseTables(simulated.rows))
      expect(Object.keys(tables)).toHaveLength(18)
      expect(tables).toEqual(asLines(expectedTables(truth)))
      expect(report.conversations).toBe(truth.length)
      expect(report.sessions).toBe(truth.reduce((sum, one) => sum + one.billableSessions, 0))
      const requests = await simulated.served()
      expect(new Set(requests.map(({ agentId, query }) => JSON.stringify([agentId, query]))).size).toBe(report.requests)
      expect(requests.every(request => request.status === 200)).toBe(true)
      expect(requests).toHaveLength(report.requests)
    },
  )

  it('reads conversations of a late mirror once they are in it', async () => {
    const mirrorLagMs = 20 * 60_000
    const simulated = await simulatedApp({
      sandbox: { conversations: 50, arrivalsPerDay: 400, mirrorLagMs },
      settings: { mirrorLagMs },
    })
    for (let round = 0; round < 2; round++) {
      await simulated.sync()
      simulated.advance(15 * 60_000)
    }
    await simulated.sync()
    const nowMs = simulated.sandbox.clock.now()
    const truth = truthOf(simulated.sandbox, { throughMs: readThrough(nowMs, mirrorLagMs) })
    const found = await simulated.rows<{ id: string }>('SELECT conversation_id AS id FROM conversations')
    expect(found.map(row => row.id).sort()).toEqual(truth.map(({ record }) => record.ID).sort())
  })
})
