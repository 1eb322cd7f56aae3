// Tests for every implementation of the lease log's port. An implementation's own test file calls `leaseLogContract`.
import { describe, expect, it } from 'vitest'
import type { LeaseGranted, RequestMade } from '../../src/core/governor/lease-entries.ts'
import type { ReportedUsage } from '../../src/core/quota/reported-usage.ts'
import { HOUR, MINUTE, SECOND } from '../../src/core/time.ts'
import type { LeaseLog } from '../../src/landing/lease-log.ts'

/** A time exactly on the hour, so that the minutes that a test subtracts also decide which hour's file contains the entry. */
export const NOW = Date.UTC(2026, 10, 20, 12)

export const lease = (atMs: number, name = 'lease-1'): LeaseGranted => ({
  kind: 'lease',
  lease: name,
  window: 'w',
  agentId: 'agent-1',
  requests: 10,
  sessions: 1_000,
  pageSessions: 100,
  atMs,
  deadlineMs: atMs + 5 * MINUTE,
})

export const USAGE: ReportedUsage = {
  periodKey: '2026-11',
  billableUsedThisRequest: 3,
  billableUsedThisPeriod: 120,
  includedQuota: 50_000,
  billableRemainingThisPeriod: 49_880,
  overageUsedThisPeriod: 0,
  overagePacksCharged: 0,
  exportRequestCount: 2,
}

export const request = (sentAtMs: number, parts: Partial<RequestMade> = {}): RequestMade => ({
  kind: 'request',
  lease: 'lease-1',
  agentId: 'agent-1',
  sentAtMs,
  receivedAtMs: sentAtMs + 100,
  status: 200,
  error: null,
  returned: 100,
  billed: 3,
  usage: null,
  rateLimit: null,
  retryAfterMs: null,
  ...parts,
})

export const end = (atMs: number) => ({ kind: 'end' as const, lease: 'lease-1', atMs })

/** `open` creates a log that is empty and separate from all others; the function it returns opens a writer of it. */
export function leaseLogContract(open: () => Promise<(run?: string) => LeaseLog>): void {
  describe('the lease log', () => {
    it('returns appended entries in order of time', async () => {
      const leaseLog = (await open())()
      const entries = [lease(NOW - 3 * SECOND), request(NOW - 2 * SECOND, { usage: USAGE }), end(NOW - SECOND)]
      for (const entry of entries.toReversed()) await leaseLog.append(entry)
      expect(await leaseLog.recent(NOW, HOUR)).toEqual(entries)
      await leaseLog.close()
    })

    it('is empty before anything was appended', async () => {
      expect(await (await open())().recent(NOW, HOUR)).toEqual([])
    })

    it('returns the last hour and nothing earlier', async () => {
      const leaseLog = (await open())()
      for (const age of [61 * MINUTE, 60 * MINUTE, 59 * MINUTE, 0]) await leaseLog.append(lease(NOW - age, `${age}`))
      const ages = (await leaseLog.recent(NOW, HOUR)).map(entry => (entry as LeaseGranted).atMs - NOW)
      expect(ages).toEqual([-60 * MINUTE, -59 * MINUTE, 0])
      await leaseLog.close()
    })

    it('finds the newest usage reports, however old, and returns them first', async () => {
      const leaseLog = (await open())()
      const old = request(NOW - 50 * HOUR, { usage: USAGE })
      const older = Array.from({ length: 12 }, (_, index) =>
        request(NOW - (70 - index) * HOUR, { usage: { ...USAGE, billableUsedThisPeriod: index } }),
      )
      for (const entry of [...older, old]) await leaseLog.append(entry)
      await leaseLog.append(request(NOW - 3 * HOUR))
      const fresh = request(NOW - MINUTE)
      await leaseLog.append(fresh)
      expect(await leaseLog.recent(NOW, HOUR)).toEqual([...older.slice(1), old, fresh])
      await leaseLog.close()
    })

    it('finds the newest usages of two runners in the same hour, in the order of their requests', async () => {
      for (const [first, second] of [
        ['run-a', 'run-b'],
        ['run-b', 'run-a'],
      ]) {
        const opened = await open()
        const [left, right] = [opened(first), opened(second)]
        const newest = request(NOW - 5 * HOUR + MINUTE, { usage: USAGE })
        const older = request(NOW - 5 * HOUR, { usage: { ...USAGE, billableUsedThisPeriod: 1 } })
        await left.append(older)
        await right.append(newest)
        expect(await left.recent(NOW, HOUR)).toEqual([older, newest])
        await Promise.all([left.close(), right.close()])
      }
    })

    it('keeps an entry of the next hour that shared its fsync with one of the previous hour', async () => {
      const leaseLog = (await open())()
      await Promise.all([
        leaseLog.append(lease(NOW)),
        leaseLog.append(end(NOW - 1)),
        leaseLog.append(lease(NOW + 50, 'l2')),
      ])
      expect(await leaseLog.recent(NOW + HOUR + 20, HOUR)).toEqual([lease(NOW + 50, 'l2')])
      await leaseLog.close()
    })

    it('returns entries of another machine whose clock is minutes ahead, and leaves its file alone', async () => {
      const opened = await open()
      const [own, other] = [opened('run-a'), opened('run-b')]
      // One clock shows 11:55, the other 12:01.
      const nowMs = NOW - 5 * MINUTE
      const entries = [lease(nowMs - SECOND, 'own'), lease(NOW + MINUTE, 'other')]
      await own.append(entries[0]!)
      await other.append(entries[1]!)
      expect(await own.recent(nowMs, HOUR)).toEqual(entries)
      const further = { ...end(NOW + 2 * MINUTE), lease: 'other' }
      await other.append(further)
      expect(await own.recent(nowMs, HOUR)).toEqual([...entries, further])
      await Promise.all([own.close(), other.close()])
    })
  })
}
