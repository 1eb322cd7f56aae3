// The Steps port inside the owner workflow: each step calls an activity, and lost leases are recovered.
import { CancellationScope } from '@temporalio/workflow'
import { isUrgent } from '../../src/core/governor/fair-share.ts'
import { confirmationNeeded, needsConsent } from '../../src/core/planning/price.ts'
import type { Host } from '../host.ts'
import { fetchOrRecover, type LostLeaseHandling, probeOrRecover, waitForHolders } from '../lost-lease.ts'
import { pagesFetched, planSummary } from '../progress.ts'
import type {
  Exporting,
  FetchInput,
  LeaseAnswers,
  LeaseOutcome,
  Prepared,
  RunRef,
  Steps,
  SyncRequest,
} from '../steps.ts'
import {
  exportActivities,
  isLost,
  leasedActivities,
  rethrowActivityFailure,
  warehouse,
  wasNeverStarted,
} from './activity-calls.ts'
import { cancelled, type Owner, publishProgress } from './owner.ts'

/**
 * An activity decides if a lost lease has ended, never the workflow's clock: a query that was waiting for a worker is
 * answered before the next workflow task, and there the clock shows another time than in a replay (ADR 8).
 */
function lostLeaseHandling(owner: Owner, host: Host): LostLeaseHandling {
  const { workspaceId } = owner.input
  return {
    host,
    isLost: error => isLost(error) && !cancelled(owner),
    heldUntil: lease => warehouse.heldUntil({ workspaceId, ...owner.planned, lease }),
    recoverLease: input => exportActivities().recoverLease(input),
  }
}

/** Fetches under a lease that ends early when a person requests a sync, unless the window is urgent. */
async function preemptible(
  owner: Owner,
  { progress }: FetchInput,
  fetching: () => Promise<LeaseOutcome>,
): Promise<LeaseOutcome> {
  if (isUrgent(progress)) return fetching()
  const scope = new CancellationScope()
  owner.preemptible.add(scope)
  try {
    return await scope.run(fetching)
  } catch (error) {
    if (!wasNeverStarted(error) || cancelled(owner)) throw error
    return { progress, answers: [], pages: 0, conversations: 0, failure: null }
  } finally {
    owner.preemptible.delete(scope)
  }
}

/** Drops the failure of a worker that shut down and so interrupted the lease, since the sync continues. */
const withoutShutdown = <T extends LeaseAnswers>(owner: Owner, outcome: T): T =>
  outcome.failure?.code === 'INTERRUPTED' && !cancelled(owner) ? { ...outcome, failure: null } : outcome

/** @throws CONFIRMATION_NEEDED */
function expectConsent({ consented, workspaceId }: SyncRequest, { plan, governor }: Prepared): void {
  if (consented !== false || !needsConsent(plan, governor.quota.includedSessions)) return
  throw confirmationNeeded(workspaceId, plan)
}

/** Returns the times that the sync's next planning needs. */
function exportingOf({ exporting }: SyncRequest, { plan, plannedAtMs }: Prepared): Exporting {
  const full = plan.windows.find(({ progress }) => progress.window.kind === 'full')
  const fullMs = full?.progress.window.openedAtMs ?? exporting?.fullMs
  return { sinceMs: exporting?.sinceMs ?? plannedAtMs, ...(fullMs !== undefined && { fullMs }) }
}

/** Returns the steps of the running sync. */
export function activitySteps(owner: Owner, host: Host): Steps {
  let landed = 0
  const refOf = ({ workspaceId, run, resources }: RunRef): RunRef => ({
    workspaceId,
    run,
    ...(resources && { resources }),
    ...owner.planned,
  })
  return {
    async prepare(request) {
      const { workspaceId } = request
      const heldUntil = () => warehouse.heldUntil({ workspaceId, ...owner.planned }).catch(rethrowActivityFailure)
      await waitForHolders(host, heldUntil)
      const asked = { ...request, ...owner.planned }
      const { timeoutMs, landingId, ...prepared } = await warehouse.prepare(asked).catch(rethrowActivityFailure)
      owner.planned = { landingId }
      // This plan also serves identical requests that arrived during the planning.
      if (owner.current) {
        owner.current.urgent = false
        // `dropFull` is applied only once: the next planning would drop the full export that this plan starts.
        const { dropFull: _dropped, ...kept } = owner.current.request
        owner.current.request = { ...kept, exporting: exportingOf(kept, prepared) }
      }
      owner.timeoutMs = timeoutMs
      owner.aheadMs = prepared.aheadMs
      owner.plan = planSummary(prepared.plan)
      if (owner.current?.preempted === null) expectConsent(request, prepared)
      return prepared
    },
    async fetchPages({ request, progress, grant }) {
      const { agentId, name } = progress.window
      const input = { request: refOf(request), progress, grant, aheadMs: owner.aheadMs }
      const fetching = leasedActivities(owner.timeoutMs, grant, `${agentId} ${name}`)
      const pages = (given: FetchInput) => preemptible(owner, given, () => fetching.fetchPages(given))
      const outcome = await fetchOrRecover(lostLeaseHandling(owner, host), input, pages).catch(rethrowActivityFailure)
      landed += outcome.pages
      publishProgress(owner, pagesFetched(owner.progress, outcome))
      return withoutShutdown(owner, outcome)
    },
    async probe({ request, agentId, grant }) {
      const input = { request: refOf(request), agentId, grant, aheadMs: owner.aheadMs }
      const probing = leasedActivities(owner.timeoutMs, grant, `${agentId} probe`)
      const outcome = probeOrRecover(lostLeaseHandling(owner, host), grant, () => probing.probe(input)).catch(
        rethrowActivityFailure,
      )
      return withoutShutdown(owner, await outcome)
    },
    load: ({ workspaceId }) =>
      CancellationScope.nonCancellable(async () => {
        const before = landed
        const outcome = await warehouse
          .load(refOf({ workspaceId, run: owner.current!.request.run }))
          .catch(rethrowActivityFailure)
        // The activity may not have seen pages that landed while it ran.
        return { ...outcome, waiting: outcome.waiting + landed - before }
      }),
    finish: ({ request, report }) =>
      CancellationScope.nonCancellable(() =>
        warehouse.finish({ request: refOf(request), report }).catch(rethrowActivityFailure),
      ),
  }
}
