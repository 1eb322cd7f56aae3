// After a first sync, every field and child row equals the generator's records.
import { describe, expect, it } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { isDeep } from '../tier.ts'
import { expectedTables } from './simulated/expected-rows.ts'
import { START_MS } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'
import { readThrough, truthOf } from './simulated/truth.ts'
import { asLines, warehouseTables } from './simulated/warehouse-tables.ts'

const SETTLE_MS = 120_000

describe('a sync of a workspace', () => {
  const WORLDS: Partial<SandboxOptions>[] = [{}, ...(isDeep ? [{ ts: 'activity' } as const] : [])]
  it.each(WORLDS)('stores every billable conversation once, with every field and child row: %j', async world => {
    const simulated = await simulatedApp({ sandbox: { conversations: 200, agents: 5, ...world } })
    const report = await simulated.sync()
    expect(report).toMatchObject({ outcome: 'done', failures: [], windowsLeft: 0, breaches: 0 })
    const truth = truthOf(simulated.sandbox, { throughMs: readThrough(START_MS, SETTLE_MS) })
    expect(truth.length).toBeGreaterThan(150)
    const tables = asLines(await warehouseTables(simulated.rows))
    expect(Object.keys(tables)).toHaveLength(18)
    expect(tables).toEqual(asLines(await expectedTables(truth)))
    expect(report.conversations).toBe(truth.length)
    expect(report.sessions).toBe(truth.reduce((sum, one) => sum + one.billableSessions, 0))
    const requests = await simulated.served()
    expect(new Set(requests.map(({ agentId, query }) => JSON.stringify([agentId, query]))).size).toBe(report.requests)
    expect(requests.every(request => request.status === 200)).toBe(true)
    expect(requests).toHaveLength(report.requests)
  })
})
