// Leases: asked of the governor, used up by the steps, and settled with what they brought.
import { type Decision, type Grant, govern, requestLease } from '../src/core/governor.ts'
import { idsFitting, isById, type WindowProgress } from '../src/core/windows.ts'
import { applyFailurePolicy } from './failure-policy.ts'
import { notifyChange, type Run } from './run.ts'
import type { LeaseAnswers, LeaseOutcome } from './steps.ts'
import { requeueWindow } from './turns.ts'

const MAX_LEASE_REQUESTS = 20

/** A lease grows with the window: the first rows come soon, and an empty window leases no more than it needs. Under Temporal each costs 70 to 90 ms. */
const wants = ({ pages }: WindowProgress): number => Math.min(MAX_LEASE_REQUESTS, Math.max(1, 2 * pages))

/** What the governor says to a lease for that window, now. */
export function askFor(run: Run, progress: WindowProgress): Decision {
  const { kind } = progress.window
  const asked = { lease: run.host.newId(), kind, wants: wants(progress), limit: progress.limit }
  for (const allowance of run.host.takeAllowances?.() ?? [])
    run.governor = govern(run.governor, { kind: 'allow', ...allowance })
  const byId = isById(kind) ? { largest: idsFitting(progress), limit: null } : {}
  const [governor, decision] = requestLease(run.governor, { ...asked, ...byId }, run.host.now())
  run.governor = governor
  return decision
}

/** Takes what a lease brought; the ledger has it already. */
function settle(run: Run, progress: WindowProgress, grant: Grant, outcome: LeaseAnswers & Partial<LeaseOutcome>): void {
  for (const answer of outcome.answers) {
    run.governor = govern(run.governor, { kind: 'answered', lease: grant.lease, answer })
    run.failing = answer.status === 200 ? 0 : run.failing
  }
  run.governor = govern(run.governor, { kind: 'ended', lease: grant.lease })
  if (outcome.progress) run.governor = govern(run.governor, { kind: 'seen', before: progress, after: outcome.progress })
  const { pages = 0, conversations = 0 } = outcome
  run.report.pages += pages
  run.report.conversations += conversations
  run.loader.landed({ pages, conversations })
  // The window that this lease was for is still held, done or not.
  const windowsLeft = run.turns.waiting.length + run.turns.held - (outcome.progress?.done ? 1 : 0)
  run.host.notify({ kind: 'governor', governor: run.governor, windowsLeft })
  notifyChange(run)
}

/** Learns the quota anew, at the price of a request. */
export async function probeLease(run: Run, progress: WindowProgress, grant: Grant): Promise<void> {
  const outcome = await run.steps.probe({ request: run.request, agentId: progress.window.agentId, grant })
  settle(run, progress, grant, outcome)
  const next = outcome.failure ? applyFailurePolicy(run, progress, outcome.failure) : progress
  if (next) requeueWindow(run.turns, next)
}

/** Reads on in a window, as far as the lease goes. */
export async function fetchLease(run: Run, progress: WindowProgress, grant: Grant): Promise<void> {
  const outcome = await run.steps.fetchPages({ request: run.request, progress, grant })
  settle(run, progress, grant, outcome)
  const next = outcome.failure ? applyFailurePolicy(run, outcome.progress, outcome.failure) : outcome.progress
  if (next === null) return
  if (next.done) run.report.windowsDone += 1
  else requeueWindow(run.turns, next)
}
