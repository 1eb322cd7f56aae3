// The window loop: takes a window from the queue, requests a lease from the governor, reads as many pages as the lease
// permits, and puts the window back. Several loops run concurrently on one queue and one governor.
import { isUrgent, requestsInShare } from '../src/core/governor/fair-share.ts'
import { type Decision, type Grant, govern, requestLease } from '../src/core/governor/governor.ts'
import { otherEnd } from '../src/core/planning/gaps.ts'
import { isAtRest } from '../src/core/planning/no-progress.ts'
import { idsFitting } from '../src/core/planning/window-ids.ts'
import { isById, type WindowProgress } from '../src/core/planning/windows.ts'
import {
  applyFailurePolicy,
  blameAgents,
  doubtsAccount,
  exportAnswered,
  failAccount,
  isRefused,
} from './failure-policy.ts'
import { handOver, notifyChange, type Run, requeueWindow, stop, takeWindow } from './run.ts'
import type { Failure, LeaseAnswers, LeaseOutcome } from './steps.ts'

/** Number of windows that are read at the same time. */
export const CONCURRENT_WINDOWS = 4

const MAX_LEASE_REQUESTS = 20

/** Works on windows until none is left in the queue and no other loop is working on one. */
export async function windowLoop(run: Run): Promise<void> {
  while (!run.stopped) {
    if (run.host.untilResumed) await run.host.untilResumed()
    if (run.host.cancelled()) return stop(run, 'interrupted')
    if (run.stopped) return
    if (run.host.shouldHandOver?.()) return handOver(run)
    const progress = takeWindow(run)
    if (progress === null) {
      if (run.queue.inProgress === 0) return
      await run.changed.promise
      continue
    }
    try {
      await workOn(run, progress)
    } finally {
      run.queue.inProgress -= 1
      // Loops without a window wait until one is put back into the queue; now none will be.
      if (run.queue.inProgress === 0 && run.queue.waiting.length === 0) notifyChange(run)
    }
  }
}

async function workOn(run: Run, progress: WindowProgress): Promise<void> {
  if (doubtsAccount(run, progress)) await askAnswered(run)
  if (run.stopped) return requeueWindow(run.queue, progress)
  if (isRefused(run, progress)) return
  if (isUrgent(progress) || !mustYield(run, progress)) return act(run, progress, leaseFor(run, progress))
  requeueWindow(run.queue, progress)
  stop(run, 'preempted')
}

/** True if other work precedes this window; never for windows of named conversations, which are read to the end. */
const mustYield = ({ host }: Run, { window }: WindowProgress): boolean =>
  window.kind !== 'selected' && host.shouldYield?.() === true

function leaseFor(run: Run, progress: WindowProgress): Decision {
  const { agentId, kind } = progress.window
  for (const allowance of run.host.takeAllowances?.() ?? [])
    run.governor = govern(run.governor, { kind: 'allow', ...allowance })
  const byId = isById(kind) ? { largest: idsFitting(progress), limit: null } : {}
  const share = requestsInShare(run.governor, progress, run.queue.waiting, run.host.now())
  const wants = Math.min(requestsWanted(progress), share)
  return decide(run, { agentId, kind, wants, limit: progress.limit, ...byId })
}

/** Leases grow with the pages read: first rows arrive soon, and empty windows lease little. On Temporal each costs 70 to 90 ms. */
const requestsWanted = ({ pages }: WindowProgress): number => Math.min(MAX_LEASE_REQUESTS, Math.max(1, 2 * pages))

function decide(run: Run, asked: Omit<Parameters<typeof requestLease>[1], 'lease'>): Decision {
  const [governor, decision] = requestLease(run.governor, { lease: run.host.newId(), ...asked }, run.host.now())
  run.governor = governor
  return decision
}

async function act(run: Run, progress: WindowProgress, decision: Decision): Promise<void> {
  if (decision.kind === 'grant')
    return decision.grant.kind === 'probe'
      ? probe(run, progress, decision.grant)
      : fetchPages(run, progress, decision.grant)
  if (decision.kind === 'refuse' && decision.reason === 'period') return quotaSpent(run, progress)
  requeueWindow(run.queue, progress)
  if (decision.kind === 'refuse') return stop(run, 'limit-reached')
  return wait(run, progress, decision)
}

/** Reads as many pages of the window as the lease permits. */
async function fetchPages(run: Run, progress: WindowProgress, grant: Grant): Promise<void> {
  const outcome = await run.steps.fetchPages({ request: run.request, progress, grant })
  settle(run, progress.window.agentId, grant, outcome)
  const next = outcome.failure ? applyFailurePolicy(run, outcome.progress, outcome.failure) : outcome.progress
  if (next === null) return
  if (!isAtRest(next)) return requeueWindow(run.queue, next)
  if (!next.done) {
    run.report.windowsLeft += 1
    return
  }
  run.report.windowsDone += 1
  const rest = otherEnd(next)
  if (rest) requeueWindow(run.queue, rest)
}

/** Requests an empty window of an agent that was answered in this run. If it is refused too, the refusals affect the account. */
async function askAnswered(run: Run): Promise<void> {
  const agentId = run.answered[0]!
  const decision = decide(run, { agentId, kind: 'probe', wants: 1 })
  const failure = decision.kind === 'grant' ? await sendProbe(run, agentId, decision.grant) : null
  if (failure?.kind === 'access') return failAccount(run, failure)
  blameAgents(run)
}

/** Sends the one request of a probe, whose answer reports the quota. */
async function sendProbe(run: Run, agentId: string, grant: Grant): Promise<Failure | null> {
  const outcome = await run.steps.probe({ request: run.request, agentId, grant })
  settle(run, agentId, grant, outcome)
  return outcome.failure
}

async function probe(run: Run, progress: WindowProgress, grant: Grant): Promise<void> {
  const failure = await sendProbe(run, progress.window.agentId, grant)
  const next = failure ? applyFailurePolicy(run, progress, failure, { isProbe: true }) : progress
  if (next) requeueWindow(run.queue, next)
}

/** Applies a lease's outcome to governor and loader, and publishes progress. The lease log already contains the outcome. */
function settle(run: Run, agentId: string, grant: Grant, outcome: LeaseAnswers & Partial<LeaseOutcome>): void {
  for (const answer of outcome.answers) {
    run.governor = govern(run.governor, { kind: 'answered', lease: grant.lease, answer })
    if (answer.status === 200) exportAnswered(run, agentId, answer.isProbe === true)
  }
  run.governor = govern(run.governor, { kind: 'ended', lease: grant.lease })
  if (outcome.progress) run.governor = govern(run.governor, { kind: 'seen', progress: outcome.progress })
  const { pages = 0, conversations = 0, skipped = 0 } = outcome
  run.report.pages += pages
  run.report.conversations += conversations
  if (skipped > 0) run.report.skipped = (run.report.skipped ?? 0) + skipped
  run.loader.landed({ pages, conversations, atMs: outcome.answers.at(-1)?.receivedAtMs ?? null })
  // The window of this lease still counts as in progress, even if it is done.
  const windowsLeft = run.queue.waiting.length + run.queue.inProgress - (outcome.progress?.done ? 1 : 0)
  run.host.notify({ kind: 'governor', governor: run.governor, windowsLeft })
  notifyChange(run)
}

async function wait(run: Run, progress: WindowProgress, decision: Extract<Decision, { kind: 'wait' }>): Promise<void> {
  const { untilMs, reason } = decision
  // Only a vendor's Retry-After pauses a run for longer than a minute.
  const isTurnedAway = reason === 'paused' && untilMs > run.host.now() + run.governor.options.hourMs / 60
  if ((reason === 'hour' || isTurnedAway) && !run.request.wait) return stop(run, 'hour-spent')
  // Other leases return their sessions within moments, so this wait is not published.
  if (reason !== 'leased') {
    if (mustYield(run, progress)) return stop(run, 'preempted')
    const code = reason === 'paused' && run.pausedBy ? { code: run.pausedBy } : {}
    run.host.notify({ kind: 'waiting', untilMs, reason, ...code })
    run.loader.idle()
  }
  await run.host.sleepUntil(untilMs, run.changed.promise)
}

/**
 * Handles a window if no sessions are left for its kind, according to the last usage report. If the report is an hour old, a new
 * period may have begun, so the vendor is probed. Otherwise the window is left to a later sync: no run sleeps until a period ends.
 */
async function quotaSpent(run: Run, progress: WindowProgress): Promise<void> {
  const { quota, probes, options } = run.governor
  const probeAtMs = Math.max(quota.reportedAtMs ?? 0, probes.at(-1) ?? 0) + options.hourMs
  if (probeAtMs <= run.host.now())
    return act(run, progress, decide(run, { agentId: progress.window.agentId, kind: 'probe', wants: 1 }))
  run.report.windowsLeft += 1
  if (run.report.outcome === 'done') run.report.outcome = 'period-spent'
}
