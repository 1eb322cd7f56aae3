// The Temporal shell: one workflow a workspace, `sync/<workspace>`, which owns that workspace's quota. It runs the same functions as
// the embedded engine, one sync after another, until none is asked for any more.
import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  TimeoutFailure,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow'
import type { Allowance } from '../src/core/allowance.ts'
import { ConvohouseError } from '../src/core/errors.ts'
import type { GovernorState, Grant } from '../src/core/governor.ts'
import { takesMostOfPeriod } from '../src/core/planner.ts'
import { type ExportActivities, exportQueueBeside, HEARTBEAT_MS, type WarehouseActivities } from './activities.ts'
import type { Host } from './host.ts'
import { fetchOutliving, type Outliving, probeOutliving } from './lost-lease.ts'
import { begun, brought, details, ended, heard, newProgress, type Progress } from './progress.ts'
import {
  type Asked,
  allowanceProblem,
  idsProblem,
  isSame,
  QUEUE_LENGTH,
  refreshOf,
  requestProblem,
} from './requests.ts'
import type { Carried } from './run.ts'
import type { Failure, Prepared, RunOf, Steps, SyncReport, SyncRequest, Told } from './steps.ts'
import { beginSync, goOn } from './sync.ts'

export const askUpdate = defineUpdate<Asked, [Omit<SyncRequest, 'run'>]>('ask')
export const askSignal = defineSignal<[Omit<SyncRequest, 'run'>]>('ask')
export const pauseUpdate = defineUpdate<Progress>('pause')
export const pauseSignal = defineSignal('pause')
export const resumeUpdate = defineUpdate<Progress>('resume')
export const resumeSignal = defineSignal('resume')
export const raiseBudgetUpdate = defineUpdate<GovernorState['options'] | null, [Allowance]>('raiseBudget')
export const refreshUpdate = defineUpdate<Asked, [Record<string, string[]>]>('refresh')
export const progressQuery = defineQuery<Progress>('progress')
export const planQuery = defineQuery<Prepared['plan'] | null>('plan')
export const budgetQuery = defineQuery<GovernorState | null>('budget')

/** What a run of the workflow begins with; what it carries over to the next is the same. */
export interface SyncInput {
  workspaceId: string
  queue?: SyncRequest[]
  carried?: { sync: Carried; allowed: Allowance[]; timeoutMs: number; aheadMs: number } | null
  progress?: Progress
}

const SECOND = 1_000
/** Planning reads the landing, and loading a batch takes as long as its pages: heartbeats tell whether anybody works. */
const AT_MOST = '1 hour'
/** A lease may end so much later than its deadline and a request's time: its last page has to land. */
const LANDING_MS = 30 * SECOND

interface Owner {
  input: SyncInput
  queue: SyncRequest[]
  progress: Progress
  plan: Prepared['plan'] | null
  governor: GovernorState | null
  allowed: Allowance[]
  /** Wakes those who sleep until there is room. */
  nudged: { promise: Promise<void>; resolve: () => void }
  /** Of the sync that goes on: how long a request takes at most, and the vendor's clock. */
  timeoutMs: number
  aheadMs: number
  root: CancellationScope
}

function nextNudge(): Owner['nudged'] {
  let resolve = () => {}
  const promise = new Promise<void>(done => {
    resolve = done
  })
  return { promise, resolve }
}

function show(owner: Owner, progress: Progress): void {
  owner.progress = { ...progress, queued: Math.max(0, owner.queue.length - 1) }
  setCurrentDetails(details(owner.progress))
}

const cancelled = ({ root }: Owner): boolean => root.consideredCancelled

/** What an activity told of its failure, as the error that it was; anything else is passed on. */
function told(error: unknown): never {
  const cause = error instanceof ActivityFailure ? error.cause : undefined
  const [failure] = cause instanceof ApplicationFailure ? ((cause.details ?? []) as Partial<Failure>[]) : []
  if (failure?.code === undefined) throw error
  throw new ConvohouseError(failure.code, { what: failure.what ?? '', ...(failure.mend && { mend: failure.mend }) })
}

/** The holder of a lease was lost, or is thought so. */
const isLost = (error: unknown): boolean =>
  error instanceof ActivityFailure && (error.cause instanceof TimeoutFailure || error.cause instanceof CancelledFailure)

const warehouse = proxyActivities<WarehouseActivities>({
  startToCloseTimeout: AT_MOST,
  heartbeatTimeout: HEARTBEAT_MS,
  retry: { maximumInterval: '1 minute' },
})

const atEase = (): ExportActivities =>
  proxyActivities<ExportActivities>({
    taskQueue: exportQueueBeside(workflowInfo().taskQueue),
    startToCloseTimeout: AT_MOST,
    heartbeatTimeout: HEARTBEAT_MS,
  })

/** Under a lease nothing is tried twice: what was asked for is paid. */
const leased = (owner: Owner, { deadlineMs }: Grant, summary: string): ExportActivities =>
  proxyActivities<ExportActivities>({
    taskQueue: exportQueueBeside(workflowInfo().taskQueue),
    scheduleToCloseTimeout: Math.max(0, deadlineMs - Date.now()) + owner.timeoutMs + LANDING_MS,
    heartbeatTimeout: HEARTBEAT_MS,
    retry: { maximumAttempts: 1 },
    summary,
  })

function outliving(owner: Owner, host: Host): Outliving {
  const { timeoutMs } = owner
  const isLostAlone = (error: unknown) => isLost(error) && !cancelled(owner)
  return { host, timeoutMs, isLost: isLostAlone, takeStock: input => atEase().takeStock(input) }
}

/** Waits for holders of leases that a workflow before this one granted: they end soon, or are over at their deadline. */
async function freeOfHolders(workspaceId: string, host: Host): Promise<void> {
  for (let lookMs = SECOND; ; lookMs *= 2) {
    const untilMs = await warehouse.heldUntil({ workspaceId })
    if (untilMs === null) return
    await host.sleepUntil(Math.min(untilMs, host.now() + lookMs), new Promise(() => {}))
  }
}

/** A worker that ends gives up what is under way; that ends its lease, and no sync. */
const unlessGivenUp = <T extends Told>(owner: Owner, outcome: T): T =>
  outcome.failure?.code === 'INTERRUPTED' && !cancelled(owner) ? { ...outcome, failure: null } : outcome

/** @throws CONFIRMATION_NEEDED */
function expectConsent({ consented, workspaceId }: SyncRequest, { plan, governor }: Prepared): void {
  if (consented !== false || !takesMostOfPeriod(plan, governor.period.includedSessions)) return
  throw new ConvohouseError('CONFIRMATION_NEEDED', {
    what: `This sync of workspace ${workspaceId} may take most of a period's sessions; nothing was bought.`,
    mend: 'Say --yes, or limit it with --max-sessions or --since.',
  })
}

function stepsOf(owner: Owner, host: Host): Steps {
  let landed = 0
  const of = ({ workspaceId, run }: RunOf): RunOf => ({ workspaceId, run })
  return {
    async prepare(request) {
      await freeOfHolders(request.workspaceId, host)
      const { timeoutMs, ...prepared } = await warehouse.prepare(request).catch(told)
      owner.timeoutMs = timeoutMs
      owner.aheadMs = prepared.aheadMs
      owner.plan = prepared.plan
      expectConsent(request, prepared)
      return prepared
    },
    async fetchPages({ request, progress, grant }) {
      const { agentId, name } = progress.window
      const input = { request: of(request), progress, grant, aheadMs: owner.aheadMs }
      const fetching = leased(owner, grant, `${agentId} ${name}`)
      const outcome = await fetchOutliving(outliving(owner, host), input, given => fetching.fetchPages(given)).catch(
        told,
      )
      landed += outcome.pages
      show(owner, brought(owner.progress, outcome))
      return unlessGivenUp(owner, outcome)
    },
    async probe({ request, agentId, grant }) {
      const input = { request: of(request), agentId, grant, aheadMs: owner.aheadMs }
      const probing = leased(owner, grant, `${agentId} probe`)
      const outcome = probeOutliving(outliving(owner, host), grant.deadlineMs, () => probing.probe(input)).catch(told)
      return unlessGivenUp(owner, await outcome)
    },
    load: ({ workspaceId }) =>
      CancellationScope.nonCancellable(async () => {
        const before = landed
        const outcome = await warehouse.load({ workspaceId, run: owner.queue[0]!.run }).catch(told)
        // What landed while it worked it may not have seen.
        return { ...outcome, waiting: outcome.waiting + landed - before }
      }),
    finish: ({ request, report }) =>
      CancellationScope.nonCancellable(() => warehouse.finish({ request: of(request), report }).catch(told)),
  }
}

const hostOf = (owner: Owner): Host => ({
  now: () => Date.now(),
  newId: () => `wf-${uuid4().slice(0, 13)}`,
  cancelled: () => cancelled(owner),
  tell(news) {
    if (news.kind === 'governor') owner.governor = news.governor
    show(owner, heard(owner.progress, news))
  },
  async sleepUntil(untilMs, wake) {
    const scope = new CancellationScope()
    const slept = scope.run(() => sleep(Math.max(1, untilMs - Date.now())))
    slept.catch(() => {})
    try {
      await Promise.race([slept, wake, owner.nudged.promise])
    } finally {
      scope.cancel()
    }
  },
  resumed: () => condition(() => !owner.progress.paused || cancelled(owner)),
  raised: () => owner.allowed.splice(0),
  handsOver: () => workflowInfo().continueAsNewSuggested,
})

function ask(owner: Owner, asked: Omit<SyncRequest, 'run'>): Asked {
  const going = owner.queue.find(request => isSame(request, asked))
  if (going) return { run: going.run, joined: true }
  const request = { ...asked, run: uuid4().slice(0, 8) }
  owner.queue.push(request)
  show(owner, owner.progress)
  return { run: request.run, joined: false }
}

function refuse(problem: string | null): void {
  if (problem !== null) throw ApplicationFailure.nonRetryable(problem, 'FLAG_INVALID')
}

function pause(owner: Owner, paused: boolean): Progress {
  show(owner, { ...owner.progress, paused })
  return owner.progress
}

function allow(owner: Owner, allowance: Allowance): GovernorState['options'] | null {
  owner.allowed.push(allowance)
  owner.nudged.resolve()
  owner.nudged = nextNudge()
  return owner.governor?.options ?? null
}

function listen(owner: Owner): void {
  const { workspaceId } = owner.input
  const isFull = () => (owner.queue.length >= QUEUE_LENGTH ? `${QUEUE_LENGTH} syncs wait already` : null)
  const mayAsk = (asked: Omit<SyncRequest, 'run'>) => refuse(requestProblem(asked, workspaceId) ?? isFull())
  setHandler(askUpdate, asked => ask(owner, asked), { validator: mayAsk })
  setHandler(askSignal, asked => {
    if (requestProblem(asked, workspaceId) === null && isFull() === null) ask(owner, asked)
  })
  setHandler(pauseUpdate, () => pause(owner, true))
  setHandler(pauseSignal, () => void pause(owner, true))
  setHandler(resumeUpdate, () => pause(owner, false))
  setHandler(resumeSignal, () => void pause(owner, false))
  setHandler(raiseBudgetUpdate, allowance => allow(owner, allowance), {
    validator: allowance => refuse(allowanceProblem(allowance)),
  })
  setHandler(refreshUpdate, ids => ask(owner, refreshOf(workspaceId, ids)), {
    validator: ids => refuse(idsProblem(ids) ?? isFull()),
  })
  setHandler(progressQuery, () => owner.progress)
  setHandler(planQuery, () => owner.plan)
  setHandler(budgetQuery, () => owner.governor)
}

/** Hands over to the next run of this workflow: its history begins anew. */
async function carryOn(owner: Owner, sync: Carried): Promise<never> {
  await condition(allHandlersFinished)
  const { queue, progress, allowed, timeoutMs, aheadMs, input } = owner
  const carried = { sync, allowed, timeoutMs, aheadMs }
  return continueAsNew<typeof syncWorkspace>({ workspaceId: input.workspaceId, queue, progress, carried })
}

async function syncNext(owner: Owner, carried: Carried | null): Promise<SyncReport> {
  const request = owner.queue[0]!
  const host = hostOf(owner)
  const steps = stepsOf(owner, host)
  if (carried === null) show(owner, begun(owner.progress, request.run))
  const from = carried ?? (await beginSync(steps, host, request))
  owner.governor = from.governor
  const result = await goOn(steps, host, request, from)
  if (result.carried !== null) return carryOn(owner, result.carried)
  owner.queue.shift()
  show(owner, ended(owner.progress, result.report))
  return result.report
}

/** A sync that failed ends the workflow as failed, with its report: whoever watches the server sees it. */
function judge(report: SyncReport): void {
  if (report.outcome === 'interrupted') throw new CancelledFailure('Stopped on request; nothing is lost')
  const [failure] = report.failures
  if (report.outcome === 'failed' && failure)
    throw ApplicationFailure.nonRetryable(failure.what, failure.code, failure, report)
}

/**
 * A tick of a schedule. The server appends a time to the id of what a schedule starts, so a tick is no owner: it asks the owner,
 * which does at once what was asked for twice.
 */
export async function tick({ workspaceId }: { workspaceId: string }): Promise<Asked> {
  return warehouse.ask({ workspaceId })
}

/** Syncs one workspace, for as long as somebody asks for it; the last sync's report. */
export async function syncWorkspace(input: SyncInput): Promise<SyncReport | null> {
  const { carried = null, queue = [], progress = newProgress() } = input
  const owner: Owner = {
    input,
    queue: [...queue],
    progress,
    plan: null,
    governor: carried?.sync.governor ?? null,
    allowed: carried?.allowed ?? [],
    nudged: nextNudge(),
    timeoutMs: carried?.timeoutMs ?? 0,
    aheadMs: carried?.aheadMs ?? 0,
    root: CancellationScope.current(),
  }
  listen(owner)
  let last: SyncReport | null = null
  try {
    await condition(() => owner.queue.length > 0, '1 minute')
    for (let from = carried?.sync ?? null; owner.queue.length > 0; from = null) last = await syncNext(owner, from)
    await condition(allHandlersFinished)
  } catch (error) {
    if (!(error instanceof ConvohouseError)) throw error
    const { code, kind, message: what, mend = null } = error
    throw ApplicationFailure.nonRetryable(what, code, { code, kind, what, mend })
  }
  if (last) judge(last)
  return last
}
