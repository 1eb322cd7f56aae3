// What is stored about each billed answer, and how many sessions are assumed if an answer does not report them.
import { describe, expect, it } from 'vitest'
import { simulatedApp } from './simulated/simulated-app.ts'

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
