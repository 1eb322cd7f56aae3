import { expect, it } from 'vitest'
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
