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
  const WORLDS: Partial<SandboxOptions>[] = [{ literal: true }, ...(isDeep ? [{ ts: 'activity' } as const, {}] : [])]
  it.each(WORLDS)('stores every billable conversation once, with every field and child row: %j', async world => {
    const simulated = await simulatedApp({ sandbox: { conversations: 200, agents: 5, ...world } })
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
  })
})

const BILLS = 'SELECT file, kind, log_id, usage_summary, export_request_count FROM _requests ORDER BY file'

describe('a billed answer', () => {
  it('is stored with the log id, usage summary and request count of the vendor', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 60 } })
    await simulated.sync()
    const [first] = await simulated.rows<{ agent: string; id: string }>(
      'SELECT agent_id AS agent, conversation_id AS id FROM conversations ORDER BY ALL',
    )
    await simulated.sync({ mode: 'selected', ids: [[first!.agent, [first!.id]]] })
    const bills = await simulated.rows(BILLS)
    const exports = bills.filter(({ kind }) => kind !== null)
    expect(exports.length).toBeGreaterThan(2)
    for (const bill of exports) {
      expect(bill.log_id).toMatch(/^export_/)
      expect(bill.usage_summary).toMatch(/billable sessions used/)
      expect(Number(bill.export_request_count)).toBeGreaterThan(0)
    }
    expect(new Set(exports.map(({ log_id }) => log_id)).size).toBe(exports.length)
  })
})

describe('an answer that does not report what it billed', () => {
  it.each(['absent', 'nested'] as const)('counts the sessions of its records as billed: usage %s', async usage => {
    const simulated = await simulatedApp({ sandbox: { conversations: 100, readings: { usage } } })
    const report = await simulated.sync()
    const { billableUsedThisPeriod: billed } = await simulated.usage()
    expect(billed).toBeGreaterThan(report.conversations)
    // Records also list sessions in which no person wrote: they are counted, although the vendor did not bill them.
    expect(report.sessions).toBeGreaterThanOrEqual(billed)
    expect(report.sessions).toBeLessThan(billed * 1.2)
  })
})
