import { expect, it } from 'vitest'
import { quotaNotes } from '../../src/cli/terminal/notes.ts'
import type { RequestMade } from '../../src/core/governor/lease-entries.ts'
import { openLeaseLog } from '../../src/landing/lease-log.ts'
import { quotaStatus } from '../../src/reports/quota.ts'
import { temporaryHome } from '../landing/temporary-home.ts'

const NOW_MS = Date.UTC(2026, 5, 1, 12)

/** Returns a lease log; times are ms after noon. */
async function opened() {
  const leaseLog = openLeaseLog({ home: await temporaryHome(), workspaceId: 'ws', run: 'a' })
  const lease = (name: string, atMs: number, sessions: number) =>
    leaseLog.append({
      ...{ kind: 'lease', lease: name, window: 'w', agentId: name, requests: 1, sessions, pageSessions: sessions },
      ...{ atMs: NOW_MS + atMs, deadlineMs: NOW_MS + atMs + 60_000 },
    })
  const answer = (name: string, sentAtMs: number, receivedAtMs: number, more: Partial<RequestMade>) =>
    leaseLog.append({
      ...{ kind: 'request', lease: name, agentId: name, error: null, status: 200, returned: 0, billed: 0 },
      ...{ usage: null, rateLimit: null, retryAfterMs: null },
      ...{ sentAtMs: NOW_MS + sentAtMs, receivedAtMs: NOW_MS + receivedAtMs },
      ...more,
    })
  const status = async () => {
    const quota = await quotaStatus({ leaseLog, settings: undefined, nowMs: NOW_MS + 1_000 })
    await leaseLog.close()
    return quota!
  }
  return { leaseLog, lease, answer, status }
}

const usageOf = (billed: number, used: number, includedQuota: number) => ({
  ...{ periodKey: '2026-06', billableUsedThisRequest: billed, billableUsedThisPeriod: used, includedQuota },
  ...{ billableRemainingThisPeriod: includedQuota - used, overageUsedThisPeriod: 0, overagePacksCharged: 0 },
  exportRequestCount: 1,
})

it('sessions billed by concurrent answers are counted once', async () => {
  const { lease, answer, status } = await opened()
  for (const name of ['a', 'b', 'c']) await lease(name, 0, 150)
  const answered = (name: string, receivedAtMs: number, billed: number, used: number) =>
    answer(name, 4, receivedAtMs, { returned: billed, billed, usage: usageOf(billed, used, 50_000) })
  // The vendor served the request of `c` last, but its answer arrived before that of `b`.
  await answered('a', 20, 43, 43)
  await answered('c', 60, 34, 145)
  await answered('b', 66, 68, 111)
  expect(await status()).toMatchObject({ usedSessions: 145, sessionsLeft: 49_855 })
})

it('an outage uses up no sessions: what unanswered requests may have billed is shown apart', async () => {
  const { leaseLog, lease, answer, status } = await opened()
  await answer('none', 0, 1, { usage: usageOf(0, 296, 1_500) })
  for (const [index, how] of [{ status: 503 }, { status: null }, { status: null, unsent: true }].entries()) {
    const [name, atMs] = [`lease-${index}`, 10 * (index + 1)]
    await lease(name, atMs, 100)
    await answer(name, atMs, atMs + 1, { error: 'API_UNAVAILABLE', ...how } as Partial<RequestMade>)
    await leaseLog.append({ kind: 'end', lease: name, atMs: NOW_MS + atMs + 2 })
  }
  const quota = await status()
  expect(quota).toMatchObject({ usedSessions: 296, sessionsLeft: 1_204 })
  expect(quota.unansweredSessions).toBeGreaterThanOrEqual(200)
  expect(quota.unansweredSessions).toBeLessThan(300)
  expect(quotaNotes(quota)).toBe(`; up to ${quota.unansweredSessions} may have been billed by unanswered requests`)
})
