import { describe, expect, it } from 'vitest'
import { DAY, exportAll, exportable, exportPage, firstAgent, open } from './caller.ts'

describe('billing', () => {
  it('counts the sessions with a person in each export, repeated exports included', async () => {
    const sandbox = await open({ conversations: 600, agents: 1 })
    const agentId = firstAgent(sandbox)
    const truth = exportable(sandbox, agentId).reduce((sum, { billableSessions }) => sum + billableSessions, 0)
    for (const times of [1, 2]) {
      const pages = await exportAll(sandbox, agentId, { limit: 100 })
      expect(pages.reduce((sum, page) => sum + page.usage.billableUsedThisRequest, 0)).toBe(truth)
      expect(pages.at(-1)!.usage.billableUsedThisPeriod).toBe(times * truth)
    }
    expect(truth).toBeGreaterThan(exportable(sandbox, agentId).length)
  })

  it('reports the remaining sessions and the number of requests', async () => {
    const sandbox = await open({ quotaSessions: 1_000 })
    await exportPage(sandbox, firstAgent(sandbox))
    const { usage, message } = await exportPage(sandbox, firstAgent(sandbox))
    expect(usage).toMatchObject({
      includedQuota: 1_000,
      exportRequestCount: 2,
      overageUsedThisPeriod: 0,
      overagePacksCharged: 0,
    })
    expect(usage.billableRemainingThisPeriod).toBe(1_000 - usage.billableUsedThisPeriod)
    expect(message).toContain(String(usage.billableUsedThisRequest))
  })

  it('restarts under another key when the period turns', async () => {
    const sandbox = await open({ periodDays: 30 })
    const before = await exportPage(sandbox, firstAgent(sandbox))
    sandbox.clock.advance(30 * DAY - 1)
    const same = await exportPage(sandbox, firstAgent(sandbox))
    sandbox.clock.advance(1)
    const after = await exportPage(sandbox, firstAgent(sandbox))
    expect(same.usage.periodKey).toBe(before.usage.periodKey)
    expect(after.usage.periodKey).not.toBe(before.usage.periodKey)
    expect(after.usage.billableUsedThisPeriod).toBe(after.usage.billableUsedThisRequest)
  })
})
