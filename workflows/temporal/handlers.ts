// The owner listens: to who asks for a sync, who steers it, and who looks on.
import { ApplicationFailure, setHandler, uuid4 } from '@temporalio/workflow'
import type { Allowance } from '../../src/core/allowance.ts'
import type { GovernorState } from '../../src/core/governor.ts'
import type { Progress } from '../progress.ts'
import {
  type AcceptedRequest,
  allowanceProblem,
  idsProblem,
  isSameRequest,
  QUEUE_LENGTH,
  refreshOf,
  requestProblem,
} from '../requests.ts'
import type { SyncRequest } from '../steps.ts'
import {
  askSignal,
  askUpdate,
  budgetQuery,
  pauseSignal,
  pauseUpdate,
  planQuery,
  progressQuery,
  raiseBudgetUpdate,
  refreshUpdate,
  resumeSignal,
  resumeUpdate,
} from './messages.ts'
import { endPreemptibleLeases, interruptSleep, type Owner, publishProgress } from './owner.ts'
import { runs } from './sinks.ts'

/** What a person asks for is begun as soon as the requests in flight are answered; what comes by itself, at the end of a lease. */
function makeWay(owner: Owner, { unattended }: Omit<SyncRequest, 'run'>): void {
  interruptSleep(owner)
  if (!unattended) endPreemptibleLeases(owner)
}

const withoutExporting = ({ exporting: _exporting, ...request }: SyncRequest): SyncRequest => request

function ask(owner: Owner, asked: Omit<SyncRequest, 'run'>): AcceptedRequest {
  const going = owner.queue.find(({ request }) => isSameRequest(request, asked))
  if (going) {
    // Planned before it was asked for again: it is planned anew.
    going.urgent = true
    // A person who names them once more wants them once more.
    if (asked.refresh && going.request.exporting) going.request = withoutExporting(going.request)
    makeWay(owner, asked)
    return { run: going.request.run, joined: true }
  }
  const request = { ...asked, run: uuid4().slice(0, 8) }
  owner.queue.push({ request, urgent: true, leg: null })
  publishProgress(owner, owner.progress)
  makeWay(owner, asked)
  return { run: request.run, joined: false }
}

function refuse(problem: string | null): void {
  if (problem !== null) throw ApplicationFailure.nonRetryable(problem, 'FLAG_INVALID')
}

function pause(owner: Owner, paused: boolean): Progress {
  for (const { request } of owner.queue) runs.paused(owner.input.workspaceId, request.run, paused)
  publishProgress(owner, { ...owner.progress, paused })
  return owner.progress
}

function allow(owner: Owner, allowance: Allowance): GovernorState['options'] | null {
  owner.allowed.push(allowance)
  // What was left for want of sessions is planned again.
  if (owner.current) owner.current.urgent = true
  interruptSleep(owner)
  return owner.governor?.options ?? null
}

/** From now on, to the end of the workflow. */
export function registerHandlers(owner: Owner): void {
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
