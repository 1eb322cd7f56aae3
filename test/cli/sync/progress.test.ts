import { describe, expect, it } from 'vitest'
import {
  overProgress,
  type Progress,
  plannedProgress,
  rateOf,
  startProgress,
  timeToGo,
  unreportedFailures,
  withNews,
  withPage,
} from '../../../src/cli/sync/progress.ts'
import { liveLines } from '../../../src/cli/sync/progress-text.ts'
import { exitCodeOfReport, reportLines } from '../../../src/cli/sync/report.ts'

import type { ErrorCode } from '../../../src/core/errors.ts'
import { newGovernor } from '../../../src/core/governor/governor.ts'
import type { SyncAhead } from '../../../src/run/temporal/client/follow.ts'
import type { PlanSummary } from '../../../workflows/progress.ts'
import { newProgress, runStarted } from '../../../workflows/progress.ts'
import { emptyReport } from '../../../workflows/report.ts'
import type { SyncReport } from '../../../workflows/steps.ts'

const NOW = Date.UTC(2026, 10, 20, 12)
const page = (records: number) => ({ agentId: 'a', records, billed: records + 1 })

const live = (progress: Progress, nowMs = NOW): string[] => liveLines({ name: 'ws', progress, nowMs })

const report = (more: Partial<SyncReport>): SyncReport => ({
  ...emptyReport('r'),
  requests: 3,
  sessions: 12,
  pages: 2,
  conversations: 10,
  windowsDone: 1,
  ...more,
})

describe('progress', () => {
  it('shows the rate of the last seconds, not the average since the start', () => {
    let progress = withPage(startProgress(NOW), page(100_000), NOW + 1_000)
    for (let second = 30; second <= 50; second++) progress = withPage(progress, page(10), NOW + second * 1_000)
    expect(rateOf(progress, NOW + 50_000)).toBeCloseTo(10, 0)
  })

  it('estimates the remaining time only if the size is known', () => {
    const progress = withPage(startProgress(NOW), page(100), NOW + 10_000)
    expect(timeToGo(progress, NOW + 10_000)).toBeNull()
    expect(timeToGo({ ...progress, expected: { low: 150, high: 250 } }, NOW + 10_000)).toBe(10_000)
  })

  it('shows what a sync waits for until the wait is over', () => {
    const waiting = withNews(startProgress(NOW), { kind: 'waiting', untilMs: NOW + 60_000, reason: 'hour' }, NOW)
    expect(live(waiting).at(-1)).toMatch(/^waiting until \d\d:\d\d UTC \(rate limit reached\)$/)
    const paused = (code?: ErrorCode) =>
      live(withNews(waiting, { kind: 'waiting', untilMs: NOW, reason: 'paused', ...(code && { code }) }, NOW), NOW - 1)
    expect(paused('API_NOT_JSON').at(-1)).toContain("(the vendor's answer cannot be read)")
    expect(paused('API_RATE_LIMITED').at(-1)).toContain('(the vendor asks for a pause)')
    expect(paused().at(-1)).toContain('(the vendor gives no usable answer, or asks for a pause)')
    expect(live(waiting, NOW + 61_000).join()).not.toContain('waiting')
    expect(live(withPage(waiting, page(1), NOW + 1), NOW + 1).join()).not.toContain('waiting')
  })

  it('says how long nothing has answered, unless it waits on purpose or has its last answer', () => {
    const silent = withPage(startProgress(NOW), page(10), NOW)
    expect(live(silent, NOW + 59_000)[0]).toContain(' · 0/s · ')
    expect(live(silent, NOW + 185_000)[0]).toContain(' · no answer for 3 min 5 s · ')
    const waiting = withNews(silent, { kind: 'waiting', untilMs: NOW + 600_000, reason: 'hour' }, NOW)
    expect(live(waiting, NOW + 185_000).join()).not.toContain('no answer')
  })

  it('shows that a plan is being made, and what that waits for, until the plan exists', () => {
    const listing = withNews(startProgress(NOW), { kind: 'planning', heldUntilMs: null }, NOW)
    expect(live(listing)).toEqual(['ws  planning: listing the agents, checking what has landed'])
    const held = withNews(startProgress(NOW), { kind: 'planning', heldUntilMs: NOW + 60_000 }, NOW)
    expect(live(held)[0]).toMatch(
      /^ws {2}planning: waiting for leases of an earlier run, until \d\d:\d\d UTC at the latest$/,
    )
    const governor = newGovernor()
    const plan = { windows: [], unknown: 0, total: { conversations: { low: 0, high: 0 } } } as unknown as PlanSummary
    expect(live(plannedProgress({ plan, governor }, startProgress(NOW), NOW)).join()).not.toContain('planning')
  })

  it('shows what a sync does after its last answer', () => {
    const loading = withNews(startProgress(NOW), { kind: 'finishing', work: 'pages', left: 312 }, NOW)
    expect(live(loading).at(-1)).toBe('loading landed pages, 312 left')
    expect(live(withNews(loading, { kind: 'finishing', work: 'marts', left: null }, NOW)).at(-1)).toBe(
      'refreshing the marts',
    )
    const model = { kind: 'finishing', work: 'models', left: null, name: 'vip' } as const
    expect(live(withNews(loading, model, NOW)).at(-1)).toBe('building the model vip')
  })

  it('shows the sync that this one waits behind, until its turn comes', () => {
    const ahead = { ...startProgress(NOW), ahead: runStarted(newProgress(), '1f0c9a2e', null) as SyncAhead }
    expect(live(ahead)).toEqual(['ws  waiting behind sync 1f0c9a2e'])
    const listing = withNews(ahead, { kind: 'planning', heldUntilMs: null }, NOW)
    expect(live(listing).join()).not.toContain('behind')
  })

  it('shows webhook events beside a sync, and alone between syncs', () => {
    const events = { kind: 'events', received: 12, waiting: 3, applied: 9 } as const
    const withEvents = withNews(startProgress(NOW), events, NOW)
    const planning = withNews(withEvents, { kind: 'planning', heldUntilMs: null }, NOW)
    expect(live(planning).slice(1)).toEqual(['12 events received, 3 waiting, 9 applied'])
    const over = overProgress(planning, NOW)
    expect(liveLines({ name: 'ws', progress: over, nowMs: NOW, syncs: false })).toEqual([
      'ws  12 events received, 3 waiting, 9 applied',
    ])
  })

  it('shows the requests and the quota of the governor', () => {
    const progress = withNews(startProgress(NOW), { kind: 'governor', governor: newGovernor(), windowsLeft: 2 }, NOW)
    expect(live(progress)).toEqual([
      'ws  0 pages · 0 conversations · 2 windows left',
      '1,500 requests left this hour · quota not reported yet',
    ])
  })
})

describe('a report', () => {
  const lines = (more: Partial<SyncReport>) =>
    reportLines('ws', { report: report(more), progress: startProgress(NOW), nowMs: NOW + 65_000 })

  it('says how much was exported and what it cost', () => {
    expect(lines({})).toEqual([
      'ws: up to date, after 1 min 5 s',
      '  10 conversations in 2 pages, 3 requests, 12 sessions billed',
    ])
  })

  it('is up to date only if it ended, and nothing is known to be missing', () => {
    const gap = {
      agentId: 'a',
      fromSec: 0,
      toSec: 60,
      code: 'API_NOT_JSON',
      what: 'No JSON',
      sinceMs: NOW,
      tries: 1,
      retryAtMs: NOW,
    } as const
    expect(lines({})[0]).toMatch(/^ws: up to date/)
    const missing: Partial<SyncReport>[] = [{ windowsLeft: 1 }, { agentsLeftOut: true }, { gaps: [gap] }]
    for (const known of missing) expect(lines(known)[0]).toMatch(/^ws: ended, but not everything is stored/)
    for (const outcome of [
      'hour-spent',
      'period-spent',
      'limit-reached',
      'preempted',
      'failed',
      'interrupted',
    ] as const)
      expect(lines({ outcome })[0]).not.toContain('up to date')
  })

  it('lists the failures that have not been reported yet', () => {
    const failure = { code: 'API_FORBIDDEN', kind: 'access', what: 'No.', hint: null } as const
    const failed = report({ outcome: 'failed', failures: [{ ...failure, agentId: 'a' }] })
    expect(unreportedFailures(startProgress(NOW), failed)).toEqual(failed.failures)
    const known = withNews(startProgress(NOW), { kind: 'failure', failure, agentId: 'a' }, NOW)
    expect(unreportedFailures(known, failed)).toEqual([])
    expect(unreportedFailures(overProgress(known, NOW), failed)).toEqual(failed.failures)
    expect(reportLines('ws', { report: failed, progress: overProgress(known, NOW), nowMs: NOW })[0]).toBe('ws: failed')
  })

  it('says how many conversations were skipped, and that they bill nothing', () => {
    expect(lines({ skipped: 2 })).toContain('  2 conversations skipped, since no person had written: not billed')
  })

  it('mentions breaches, lost answers, agents that are gone, and how to continue', () => {
    const lost = { lostAnswers: 2, lostSessions: 250 }
    expect(lines({ outcome: 'hour-spent', breaches: 1, ...lost, agentsGone: ['x'], windowsLeft: 2 }).slice(2)).toEqual([
      '  1 page billed more sessions than expected: nothing to do, the figures include them',
      '  2 answers failed or did not arrive completely and may have billed up to 250 sessions more',
      '  the vendor no longer knows this agent: x; asked again after an hour, then at growing intervals',
      '  2 windows left. The same command continues where it stopped, once the hour has passed.',
    ])
  })

  it('shows the sessions left of those allowed, and the setting that reserves them for new conversations', () => {
    const spentAt = (usedSessions: number, allowedPacks: number, reserve?: SyncReport['reserve']) => {
      const governor = newGovernor({ allowedPacks })
      const quota = { ...governor.quota, known: true, includedSessions: 1_000, usedSessions }
      const news = { kind: 'governor', governor: { ...governor, quota }, windowsLeft: 2 } as const
      const progress = withNews(startProgress(NOW), news, NOW)
      const spent = report({ outcome: 'period-spent', windowsLeft: 2, ...(reserve && { reserve }) })
      return reportLines('ws', { report: spent, progress, nowMs: NOW }).filter(
        line => !line.includes('conversations in'),
      )
    }
    expect(spentAt(1_060, 1, { sessions: 940, share: 0.25 })).toEqual([
      'ws: stopped: the 940 sessions left in the period are reserved for new conversations (headReserve: 0.25), after 0 s',
      '  940 of 2,000 sessions left this period, 1,500 requests left this hour',
      '  2 windows left. The reserve shrinks as the period passes, and history continues; a smaller headReserve lets history use more now, and `convohouse sync --allow-overage-packs N` allows overage.',
    ])
    expect(spentAt(996, 0)).toEqual([
      'ws: stopped, the quota is used up, after 0 s',
      '  4 of 1,000 sessions left this period, 1,500 requests left this hour',
      '  2 windows left. The same command continues where it stopped in the next billing period; --allow-overage-packs allows sessions beyond the quota.',
    ])
  })

  it('has the exit code of its outcome, or of its first failure', () => {
    const failure = { code: 'API_FORBIDDEN', kind: 'access', what: '', hint: null, agentId: null } as const
    const codes = (['done', 'limit-reached', 'hour-spent', 'period-spent', 'interrupted'] as const).map(outcome =>
      exitCodeOfReport(report({ outcome })),
    )
    expect(codes).toEqual([0, 0, 7, 8, 130])
    expect(exitCodeOfReport(report({ outcome: 'failed', failures: [failure] }))).toBe(3)
  })
})
