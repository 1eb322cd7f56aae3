// Syncing a workspace: plan, then windows by leases, several at once, while what landed is loaded. Plain functions over
// (steps, host): the embedded engine calls them in process, Temporal as a workflow. Deterministic but for its arguments.
import type { Allowance } from '../src/core/allowance.ts'
import type { ErrorCode } from '../src/core/errors.ts'
import { ask, type Decision, type GovernorState, type Grant, govern } from '../src/core/governor.ts'
import { idsFitting, isById, restarted, sortOf, type WindowProgress } from '../src/core/windows.ts'
import { backgroundLoad, type Loader } from './load.ts'
import type { Failure, LeaseOutcome, Steps, SyncReport, SyncRequest, Told } from './steps.ts'
import { type Turns, takeTurn, turnsOf, yieldTurn } from './turns.ts'

/** Time and ids of whoever hosts the orchestration. */
export interface Host {
  now(): number
  /** Resolves at that time, or when `wake` does. Rejects where the run is cancelled. */
  sleepUntil(untilMs: number, wake: Promise<void>): Promise<void>
  newId(): string
  cancelled(): boolean
  /** What a person looking on should know now. */
  tell(news: News): void
  /** Resolves when nobody has asked for a pause; also where the run is cancelled. */
  resumed?(): Promise<void>
  /** What has been allowed since it was last asked. */
  raised?(): Allowance[]
  /** True where the host cannot go on for long: what is under way is ended, and the rest handed over. */
  handsOver?(): boolean
}

/** What a host hands to the next, so that neither quota nor windows begin anew. Plain JSON. */
export interface Carried {
  governor: GovernorState
  waiting: WindowProgress[]
  pagesWaiting: number
  report: SyncReport
  failing: number
  restarts: [window: string, restart: Restart][]
}

export type Ended = { report: SyncReport; carried: null } | { report: null; carried: Carried }

export type News =
  | { kind: 'planned'; windows: number; agents: number }
  | { kind: 'governor'; governor: GovernorState; windowsLeft: number }
  | { kind: 'waiting'; untilMs: number; reason: 'paused' | 'hour' | 'period' }
  | { kind: 'failure'; failure: Failure; agentId: string | null }

/** Windows that are read at the same time. */
export const LANES = 4
const MAX_LEASE_REQUESTS = 20
/** Probes of a failing vendor, a minute apart, before a run that does not watch gives up. */
const MAX_FAILURES = 5

export interface Restart {
  /** The furthest `ts` from which it was begun anew, and the furthest page that was reached from there. */
  fromMs: number | null
  sequence: number
  /** In a row that came no further. */
  vain: number
}

/** Each of them pays for the conversations of one second again. */
const MAX_VAIN_RESTARTS = 3

interface Run {
  steps: Steps
  host: Host
  request: SyncRequest
  governor: GovernorState
  turns: Turns
  loader: Loader
  report: SyncReport
  /** Failures in a row without an answer between them. */
  failing: number
  stopped: boolean
  handsOver: boolean
  /** By window: how far it was when it was last begun anew. */
  restarts: Map<string, Restart>
  /** Resolves when a lease ends: what others wait for may be there. */
  changed: { promise: Promise<void>; resolve: () => void }
}

function nextChange(): Run['changed'] {
  let resolve = () => {}
  const promise = new Promise<void>(done => {
    resolve = done
  })
  return { promise, resolve }
}

function noteChange(run: Run): void {
  run.changed.resolve()
  run.changed = nextChange()
}

const emptyReport = (run: string): SyncReport => ({
  run,
  outcome: 'done',
  requests: 0,
  sessions: 0,
  pages: 0,
  conversations: 0,
  windowsDone: 0,
  windowsLeft: 0,
  breaches: 0,
  lostAnswers: 0,
  lostSessions: 0,
  agentsGone: [],
  failures: [],
})

function stop(run: Run, outcome: SyncReport['outcome']): void {
  if (!run.stopped) run.report.outcome = outcome
  run.stopped = true
  noteChange(run)
}

function handOver(run: Run): void {
  run.handsOver = true
  run.stopped = true
  noteChange(run)
}

function fail(run: Run, failure: Failure, agentId: string | null): void {
  run.report.failures.push({ ...failure, agentId })
  run.host.tell({ kind: 'failure', failure, agentId })
}

/** A lease grows with the window: the first rows come soon, and an empty window leases no more than it needs. Under Temporal each costs 70 to 90 ms. */
const wants = ({ pages }: WindowProgress): number => Math.min(MAX_LEASE_REQUESTS, Math.max(1, 2 * pages))

function askFor(run: Run, progress: WindowProgress): Decision {
  const { kind } = progress.window
  const asked = { lease: run.host.newId(), kind, wants: wants(progress), limit: progress.limit }
  for (const allowance of run.host.raised?.() ?? [])
    run.governor = govern(run.governor, { kind: 'allow', ...allowance })
  const byId = isById(kind) ? { largest: idsFitting(progress), limit: null } : {}
  const [governor, decision] = ask(run.governor, { ...asked, ...byId }, run.host.now())
  run.governor = governor
  return decision
}

/** Takes what a lease brought; the ledger has it already. */
function settle(run: Run, grant: Grant, outcome: Told & Partial<LeaseOutcome>): void {
  for (const answer of outcome.answers) {
    run.governor = govern(run.governor, { kind: 'answered', lease: grant.lease, answer })
    run.failing = answer.status === 200 ? 0 : run.failing
  }
  run.governor = govern(run.governor, { kind: 'ended', lease: grant.lease })
  const { pages = 0, conversations = 0 } = outcome
  run.report.pages += pages
  run.report.conversations += conversations
  run.loader.landed({ pages, conversations })
  // The window that this lease was for is still held, done or not.
  const windowsLeft = run.turns.waiting.length + run.turns.held - (outcome.progress?.done ? 1 : 0)
  run.host.tell({ kind: 'governor', governor: run.governor, windowsLeft })
  noteChange(run)
}

const CURSOR_REFUSED: ErrorCode = 'API_BAD_REQUEST'

/** What a failure means for the window and the run: the window to go on with, or null where it is over for now. */
function judge(run: Run, progress: WindowProgress, failure: Failure): WindowProgress | null {
  const { agentId } = progress.window
  if (failure.code === 'INTERRUPTED') {
    stop(run, 'interrupted')
    return progress
  }
  if (failure.code === 'API_RATE_LIMITED') {
    if (!run.request.wait) stop(run, 'hour-spent')
    return progress
  }
  if (failure.kind === 'transient') {
    run.failing += 1
    if (run.failing > MAX_FAILURES && !run.stopped) {
      fail(run, failure, agentId)
      stop(run, 'failed')
    }
    return progress
  }
  if (failure.code === 'API_NOT_FOUND') {
    if (!run.report.agentsGone.includes(agentId)) run.report.agentsGone.push(agentId)
    run.turns.waiting = run.turns.waiting.filter(waiting => waiting.window.agentId !== agentId)
    return null
  }
  const refused = failure.code === CURSOR_REFUSED && progress.cursor !== null
  if (refused && mayRestart(run, progress)) return restarted(progress)
  fail(run, refused ? refusedInVain(failure, progress) : failure, agentId)
  if (failure.kind !== 'vendor') stop(run, 'failed')
  run.report.windowsLeft += 1
  return null
}

/**
 * A cursor that was refused after pages had landed under it: the window goes on from the last second that landed. Where a page
 * holds conversations of one second only, that is the page itself, and what is behind it is reached when its cursor is good.
 */
function mayRestart(run: Run, progress: WindowProgress): boolean {
  const { window, lastTsMs, sequence } = progress
  const key = `${window.agentId} ${window.name}`
  const before = run.restarts.get(key)
  const ahead = before === undefined ? 1 : isAhead(progress, before.fromMs)
  const further = ahead > 0 || (ahead === 0 && sequence > before!.sequence)
  const vain = further ? 0 : before!.vain + 1
  run.restarts.set(key, further ? { fromMs: lastTsMs, sequence, vain } : { ...before!, vain })
  return vain < MAX_VAIN_RESTARTS
}

/** Above 0 where the window has come further than that `ts`, 0 where it stands there still. */
function isAhead({ window, lastTsMs }: WindowProgress, fromMs: number | null): number {
  if (lastTsMs === fromMs || lastTsMs === null) return 0
  if (fromMs === null) return 1
  return sortOf(window.kind) === 'asc' ? lastTsMs - fromMs : fromMs - lastTsMs
}

const refusedInVain = (failure: Failure, { window }: WindowProgress): Failure => ({
  ...failure,
  what: `${failure.what}. Window ${window.name} of agent ${window.agentId} was begun anew ${MAX_VAIN_RESTARTS - 1} times and came no further.`,
  mend: 'Run the sync again later. What landed is kept, and the window goes on from the last second that landed.',
})

async function probeLease(run: Run, progress: WindowProgress, grant: Grant): Promise<void> {
  const outcome = await run.steps.probe({ request: run.request, agentId: progress.window.agentId, grant })
  settle(run, grant, outcome)
  const next = outcome.failure ? judge(run, progress, outcome.failure) : progress
  if (next) yieldTurn(run.turns, next)
}

async function fetchLease(run: Run, progress: WindowProgress, grant: Grant): Promise<void> {
  const outcome = await run.steps.fetchPages({ request: run.request, progress, grant })
  settle(run, grant, outcome)
  const next = outcome.failure ? judge(run, outcome.progress, outcome.failure) : outcome.progress
  if (next === null) return
  if (next.done) run.report.windowsDone += 1
  else yieldTurn(run.turns, next)
}

async function waitFor(run: Run, decision: Extract<Decision, { kind: 'wait' }>): Promise<void> {
  // Only a vendor who says when to come back pauses a run for longer than a minute.
  const turnedAway =
    decision.reason === 'paused' && decision.untilMs > run.host.now() + run.governor.options.hourMs / 60
  if ((decision.reason === 'hour' || turnedAway) && !run.request.wait) return stop(run, 'hour-spent')
  // What other leases hold comes back in moments: no news.
  if (decision.reason !== 'leased') {
    run.host.tell({ kind: 'waiting', untilMs: decision.untilMs, reason: decision.reason })
    run.loader.idle()
  }
  await run.host.sleepUntil(decision.untilMs, run.changed.promise)
}

/**
 * The period's sessions are spent for this kind of window, as far as was told. After an hour that may be news of a period
 * that is over, so the vendor is probed; before that the window is set aside, or waits.
 */
async function periodSpent(run: Run, progress: WindowProgress): Promise<void> {
  const untilMs = (run.governor.period.toldAtMs ?? 0) + run.governor.options.hourMs
  if (untilMs <= run.host.now()) {
    const [governor, decision] = ask(run.governor, { lease: run.host.newId(), kind: 'probe', wants: 1 }, run.host.now())
    run.governor = governor
    return act(run, progress, decision)
  }
  if (run.request.onPeriodSpent === 'stop') {
    run.report.windowsLeft += 1
    if (run.report.outcome === 'done') run.report.outcome = 'period-spent'
    return
  }
  run.host.tell({ kind: 'waiting', untilMs, reason: 'period' })
  run.loader.idle()
  yieldTurn(run.turns, progress)
  await run.host.sleepUntil(untilMs, run.changed.promise)
}

async function act(run: Run, progress: WindowProgress, decision: Decision): Promise<void> {
  if (decision.kind === 'grant') {
    return decision.grant.kind === 'probe'
      ? probeLease(run, progress, decision.grant)
      : fetchLease(run, progress, decision.grant)
  }
  if (decision.kind === 'refuse' && decision.reason === 'period') return periodSpent(run, progress)
  yieldTurn(run.turns, progress)
  if (decision.kind === 'refuse') return stop(run, 'limit-reached')
  return waitFor(run, decision)
}

const turn = (run: Run, progress: WindowProgress): Promise<void> => act(run, progress, askFor(run, progress))

/** A lane takes windows in turn until none is left, neither waiting nor in another lane's hands. */
async function lane(run: Run): Promise<void> {
  while (!run.stopped) {
    if (run.host.resumed) await run.host.resumed()
    if (run.host.cancelled()) return stop(run, 'interrupted')
    if (run.stopped) return
    if (run.host.handsOver?.()) return handOver(run)
    const progress = takeTurn(run.turns)
    if (progress === null) {
      if (run.turns.held === 0) return
      await run.changed.promise
      continue
    }
    try {
      await turn(run, progress)
    } finally {
      run.turns.held -= 1
      // Lanes without a window wait for one to come back: now none will.
      if (run.turns.held === 0 && run.turns.waiting.length === 0) noteChange(run)
    }
  }
}

function summary(run: Run): SyncReport {
  const { report, governor, turns } = run
  if (report.outcome === 'done' && report.failures.length > 0) report.outcome = 'failed'
  return {
    ...report,
    requests: governor.spent.requests,
    sessions: governor.spent.sessions,
    windowsLeft: report.windowsLeft + turns.waiting.length,
    breaches: governor.breaches,
    lostAnswers: governor.lost.answers,
    lostSessions: governor.lost.sessions,
  }
}

const carriedBy = ({ governor, turns, report, failing, restarts }: Run): Carried => ({
  governor,
  waiting: turns.waiting,
  pagesWaiting: 0,
  report,
  failing,
  restarts: [...restarts],
})

function runOf(steps: Steps, host: Host, request: SyncRequest, carried: Carried): Run {
  const { governor, waiting, pagesWaiting, report, failing, restarts } = carried
  return {
    steps,
    host,
    request,
    governor,
    turns: turnsOf(waiting),
    loader: backgroundLoad(steps, {
      workspaceId: request.workspaceId,
      waitingAtStart: pagesWaiting,
      now: host.now,
    }),
    report: { ...report, agentsGone: [...report.agentsGone], failures: [...report.failures] },
    failing,
    stopped: false,
    handsOver: false,
    restarts: new Map(restarts),
    changed: nextChange(),
  }
}

/** Plans a sync: where it begins. */
export async function beginSync(steps: Steps, host: Host, request: SyncRequest): Promise<Carried> {
  const { plan, governor, pagesWaiting } = await steps.prepare(request)
  host.tell({
    kind: 'planned',
    windows: plan.windows.length,
    agents: new Set(plan.windows.map(w => w.progress.window.agentId)).size,
  })
  const waiting = plan.windows.map(window => window.progress)
  return { governor, waiting, pagesWaiting, report: emptyReport(request.run), failing: 0, restarts: [] }
}

/** Goes on from there, to the end of the sync or until the host hands over. */
export async function goOn(steps: Steps, host: Host, request: SyncRequest, carried: Carried): Promise<Ended> {
  const run = runOf(steps, host, request, carried)
  const lanes = await Promise.allSettled(
    Array.from({ length: LANES }, () =>
      lane(run).catch(error => {
        stop(run, host.cancelled() ? 'interrupted' : 'failed')
        if (!host.cancelled()) throw error
      }),
    ),
  )
  const loadFailure = await run.loader.drained(run.report.outcome === 'interrupted')
  if (loadFailure) fail(run, loadFailure, null)
  if (run.handsOver && !loadFailure && lanes.every(ended => ended.status === 'fulfilled'))
    return { report: null, carried: carriedBy(run) }
  const report = summary(run)
  await steps.finish({ request, report }).catch(error => {
    // What the disk refused before it refuses here too, and it has been told.
    if (report.failures.every(failure => failure.kind !== 'storage')) throw error
  })
  for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason
  return { report, carried: null }
}

/** Runs one sync to its end. Vendor faults are in the report; what the data folder or the disk refuses is thrown. */
export async function syncWorkspace(steps: Steps, host: Host, request: SyncRequest): Promise<SyncReport> {
  for (let carried = await beginSync(steps, host, request); ; ) {
    const ended = await goOn(steps, host, request, carried)
    if (ended.carried === null) return ended.report
    carried = ended.carried
  }
}
