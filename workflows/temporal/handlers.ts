// The messages of a workspace's owner: updates that request and control syncs, and queries for followers.
import { ApplicationFailure, defineQuery, defineUpdate, setHandler, uuid4 } from '@temporalio/workflow'
import type { Allowance, GovernorState } from '../../src/core/governor/governor.ts'
import type { PlanSummary, Progress } from '../progress.ts'
import { type AcceptedRequest, allowanceProblem, isSameRequest, QUEUE_LENGTH, requestProblem } from '../requests.ts'
import type { SyncRequest } from '../steps.ts'
import { endPreemptibleLeases, interruptSleep, type Owner, publishProgress } from './owner.ts'
import { runs } from './sinks.ts'

const requestSyncUpdate = defineUpdate<AcceptedRequest, [Omit<SyncRequest, 'run'>]>('requestSync')
const pauseUpdate = defineUpdate<Progress>('pause')
const resumeUpdate = defineUpdate<Progress>('resume')
const raiseBudgetUpdate = defineUpdate<GovernorState['options'] | null, [Allowance]>('raiseBudget')
const progressQuery = defineQuery<Progress>('progress')
const planQuery = defineQuery<PlanSummary | null>('plan')
const budgetQuery = defineQuery<GovernorState | null>('budget')

/** Preempts for a request: a person's sync starts once the requests in flight are answered, an unattended one at the end of a lease. */
function preempt(owner: Owner, { unattended }: Omit<SyncRequest, 'run'>): void {
  interruptSleep(owner)
  if (!unattended) endPreemptibleLeases(owner)
}

function requestSync(owner: Owner, asked: Omit<SyncRequest, 'run'>): AcceptedRequest {
  const known = owner.queue.find(({ request }) => isSameRequest(request, asked))
  if (known) {
    // The plan of the known sync is older than this request, so the sync is planned again.
    known.urgent = true
    preempt(owner, asked)
    return { run: known.request.run, joined: true }
  }
  const request = { ...asked, run: uuid4().slice(0, 8) }
  owner.queue.push({ request, urgent: true, preempted: null })
  publishProgress(owner, owner.progress)
  preempt(owner, asked)
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
  // The sync is planned again, including windows that it had left for lack of sessions.
  if (owner.current) owner.current.urgent = true
  interruptSleep(owner)
  return owner.governor?.options ?? null
}

export function registerHandlers(owner: Owner): void {
  const { workspaceId } = owner.input
  const fullProblem = () => (owner.queue.length >= QUEUE_LENGTH ? `${QUEUE_LENGTH} syncs are already waiting` : null)
  const validate = (asked: Omit<SyncRequest, 'run'>) => refuse(requestProblem(asked, workspaceId) ?? fullProblem())
  setHandler(requestSyncUpdate, asked => requestSync(owner, asked), { validator: validate })
  setHandler(pauseUpdate, () => pause(owner, true))
  setHandler(resumeUpdate, () => pause(owner, false))
  setHandler(raiseBudgetUpdate, allowance => allow(owner, allowance), {
    validator: allowance => refuse(allowanceProblem(allowance)),
  })
  setHandler(progressQuery, () => owner.progress)
  setHandler(planQuery, () => owner.plan)
  setHandler(budgetQuery, () => owner.governor)
}
