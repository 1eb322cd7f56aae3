import { expect, it } from 'vitest'
import { quotaNotes } from '../../src/cli/terminal/notes.ts'
import type { RequestMade } from '../../src/core/governor/lease-entries.ts'
import { openLeaseLog } from '../../src/landing/folder-lease-log.ts'
import { quotaStatus } from '../../src/reports/quota.ts'
import { temporaryHome } from '../landing/temporary-home.ts'

const NOW_MS = Date.UTC(2026, 5, 1, 12)

it('sessions billed by concurrent answers are counted once', async () => {
  const home = await temporaryHome()
  const leaseLog = openLeaseLog({ home, workspaceId: 'ws', run: 'a' })
  const lease = (name: string) =>
    leaseLog.append({
      kind: 'lease',
      lease: name,
      window: 'w',
      agentId: name,
      requests: 1,
      sessions: 150,
      pageSessions: 150,
      atMs: NOW_MS,
      deadlineMs: NOW_MS + 60_000,
    })
  const answer = (name: string, receivedAtMs: number, billed: number, used: number) =>
    leaseLog.append({
      kind: 'request',
      lease: name,
      agentId: name,
      error: null,
      sentAtMs: NOW_MS + 4,
      receivedAtMs: NOW_MS + receivedAtMs,
      status: 200,
      returned: billed,
      billed,
      usage: {
        periodKey: '2026-06',
        billableUsedThisRequest: billed,
        billableUsedThisPeriod: used,
        includedQuota: 50_000,
        billableRemainingThisPeriod: 50_000 - used,
        overageUsedThisPeriod: 0,
        overagePacksCharged: 0,
        exportRequestCount: 1,
      },
      rateLimit: { requestsPerHour: 1_500, remainingHour: 1_499 },
      retryAfterMs: null,
    } as RequestMade)
  for (const name of ['a', 'b', 'c']) await lease(name)
  // The vendor served the request of `c` last, but its answer arrived before that of `b`.
  await answer('a', 20, 43, 43)
  await answer('c', 60, 34, 145)
  await answer('b', 66, 68, 111)
  const quota = await quotaStatus({ leaseLog, settings: undefined, nowMs: NOW_MS + 1_000 })
  expect(quota).toMatchObject({ usedSessions: 145, sessionsLeft: 49_855 })
  await leaseLog.close()
})

it('an outage uses up no sessions: what unanswered requests may have billed is shown apart', async () => {
  const home = await temporaryHome()
  const leaseLog = openLeaseLog({ home, workspaceId: 'ws', run: 'a' })
  const request = (lease: string, atMs: number, answer: Partial<RequestMade>) =>
    leaseLog.append({
      kind: 'request',
      lease,
      agentId: 'agent',
      error: null,
      sentAtMs: NOW_MS + atMs,
      receivedAtMs: NOW_MS + atMs + 1,
      status: 200,
      returned: 0,
      billed: 0,
      usage: null,
      rateLimit: null,
      retryAfterMs: null,
      ...answer,
    })
  const usage = {
    periodKey: '2026-06',
    billableUsedThisRequest: 0,
    billableUsedThisPeriod: 296,
    includedQuota: 1_500,
    billableRemainingThisPeriod: 1_204,
    overageUsedThisPeriod: 0,
    overagePacksCharged: 0,
    exportRequestCount: 1,
  }
  await request('none', 0, { usage })
  for (const [index, answer] of [{ status: 503 }, { status: null }, { status: null, unsent: true }].entries()) {
    const lease = `lease-${index}`
    const atMs = NOW_MS + 10 * (index + 1)
    await leaseLog.append({
      kind: 'lease',
      lease,
      window: 'w',
      agentId: 'agent',
      requests: 1,
      sessions: 100,
      pageSessions: 100,
      atMs,
      deadlineMs: atMs + 60_000,
    })
    await request(lease, atMs - NOW_MS, { error: 'API_UNAVAILABLE', ...answer })
    await leaseLog.append({ kind: 'end', lease, atMs: atMs + 2 })
  }
  const quota = await quotaStatus({ leaseLog, settings: undefined, nowMs: NOW_MS + 1_000 })
  expect(quota).toMatchObject({ usedSessions: 296, sessionsLeft: 1_204 })
  expect(quota!.unansweredSessions).toBeGreaterThanOrEqual(200)
  expect(quota!.unansweredSessions).toBeLessThan(300)
  expect(quotaNotes(quota!)).toBe(`; up to ${quota!.unansweredSessions} may have been billed by unanswered requests`)
  await leaseLog.close()
})
