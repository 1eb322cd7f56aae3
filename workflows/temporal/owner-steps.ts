// The steps as the owner takes them: activities, of which it outlives those that are lost.
import { CancellationScope } from '@temporalio/workflow'
import { ConvohouseError } from '../../src/core/errors.ts'
import { rangeText } from '../../src/core/estimate.ts'
import { isBilledAgain, needsConsent } from '../../src/core/planner.ts'
import type { Host } from '../host.ts'
import {
  fetchOrRecover,
  type HeldLease,
  type LostLeaseHandling,
  probeOrRecover,
  waitUntilReleased,
} from '../lost-lease.ts'
import { planSummary } from '../plan-summary.ts'
import { pagesFetched } from '../progress.ts'
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
import { isUrgent } from '../turns.ts'
import {
  exportActivities,
  isLost,
  leasedActivities,
  rethrowActivityFailure,
  warehouse,
  wasNeverStarted,
} from './activity-calls.ts'
import { cancelled, type Owner, publishProgress } from './owner.ts'

function outliving(owner: Owner, host: Host): LostLeaseHandling {
  const { timeoutMs, sleepsAlways, asksHolders, input } = owner
  const { workspaceId } = input
  return {
    host,
    timeoutMs,
    isLost: error => isLost(error) && !cancelled(owner),
    recoverLease: given => exportActivities().recoverLease(given),
    ...(asksHolders && { heldUntil: (lease: HeldLease) => warehouse.heldUntil({ workspaceId, lease }) }),
    sleepsAlways,
  }
}

/** Waits for holders of leases that a workflow before this one granted. */
const freeOfHolders = (workspaceId: string, host: Host): Promise<void> =>
  waitUntilReleased(host, async () => {
    const untilMs = await warehouse.heldUntil({ workspaceId })
    host.notify({ kind: 'planning', heldUntilMs: untilMs })
    return untilMs
  })

/** A lease of its own scope, which ends early where a person asks for something that comes before this window. */
async function endedEarly(
  owner: Owner,
  { progress }: FetchInput,
  fetching: () => Promise<LeaseOutcome>,
): Promise<LeaseOutcome> {
  if (isUrgent(progress)) return fetching()
  const scope = new CancellationScope()
  owner.patient.add(scope)
  try {
    return await scope.run(fetching)
  } catch (error) {
    if (!wasNeverStarted(error) || cancelled(owner)) throw error
    return { progress, answers: [], pages: 0, conversations: 0, failure: null }
  } finally {
    owner.patient.delete(scope)
  }
}

/** A worker that ends gives up what is under way; that ends its lease, and no sync. */
const unlessGivenUp = <T extends LeaseAnswers>(owner: Owner, outcome: T): T =>
  outcome.failure?.code === 'INTERRUPTED' && !cancelled(owner) ? { ...outcome, failure: null } : outcome

/** @throws CONFIRMATION_NEEDED */
function expectConsent({ consented, workspaceId }: SyncRequest, { plan, governor }: Prepared): void {
  if (consented !== false || !needsConsent(plan, governor.period.includedSessions)) return
  throw new ConvohouseError('CONFIRMATION_NEEDED', {
    what: isBilledAgain(plan)
      ? `This sync of workspace ${workspaceId} exports stored conversations again, which bills ${rangeText(plan.total.sessions)} sessions again; nothing was bought.`
      : `This sync of workspace ${workspaceId} may take most of a period's sessions; nothing was bought.`,
    hint: 'Say --yes, or limit it with --max-sessions or --since.',
  })
}

/** What its next plan goes on with. */
function exportingOf({ exporting }: SyncRequest, { plan, plannedAtMs }: Prepared): Exporting | undefined {
  const sinceMs = exporting?.sinceMs ?? plannedAtMs
  if (sinceMs === undefined) return undefined
  const full = plan.windows.find(({ progress }) => progress.window.kind === 'full')
  const fullMs = full?.progress.window.openedAtMs ?? exporting?.fullMs
  return { sinceMs, ...(fullMs !== undefined && { fullMs }) }
}

/** For the sync that goes on. */
export function activitySteps(owner: Owner, host: Host): Steps {
  let landed = 0
  const of = ({ workspaceId, run }: RunRef): RunRef => ({ workspaceId, run })
  return {
    async prepare(request) {
      await freeOfHolders(request.workspaceId, host)
      const { timeoutMs, ...prepared } = await warehouse.prepare(request).catch(rethrowActivityFailure)
      // Whoever asked for the same meanwhile is served by this plan.
      if (owner.current) {
        owner.current.urgent = false
        // Dropped once: its next plan would drop what it has begun itself.
        const { dropFull: _dropped, ...kept } = owner.current.request
        const exporting = exportingOf(kept, prepared)
        owner.current.request = { ...kept, ...(exporting && { exporting }) }
      }
      owner.timeoutMs = timeoutMs
      owner.aheadMs = prepared.aheadMs
      owner.plan = planSummary(prepared.plan)
      if (owner.current?.leg === null) expectConsent(request, prepared)
      return prepared
    },
    async fetchPages({ request, progress, grant }) {
      const { agentId, name } = progress.window
      const input = { request: of(request), progress, grant, aheadMs: owner.aheadMs }
      const fetching = leasedActivities(owner.timeoutMs, grant, `${agentId} ${name}`)
      const pages = (given: FetchInput) => endedEarly(owner, given, () => fetching.fetchPages(given))
      const outcome = await fetchOrRecover(outliving(owner, host), input, pages).catch(rethrowActivityFailure)
      landed += outcome.pages
      publishProgress(owner, pagesFetched(owner.progress, outcome))
      return unlessGivenUp(owner, outcome)
    },
    async probe({ request, agentId, grant }) {
      const input = { request: of(request), agentId, grant, aheadMs: owner.aheadMs }
      const probing = leasedActivities(owner.timeoutMs, grant, `${agentId} probe`)
      const outcome = probeOrRecover(outliving(owner, host), grant, () => probing.probe(input)).catch(
        rethrowActivityFailure,
      )
      return unlessGivenUp(owner, await outcome)
    },
    load: ({ workspaceId }) =>
      CancellationScope.nonCancellable(async () => {
        const before = landed
        const outcome = await warehouse
          .load({ workspaceId, run: owner.current!.request.run })
          .catch(rethrowActivityFailure)
        // What landed while it worked it may not have seen.
        return { ...outcome, waiting: outcome.waiting + landed - before }
      }),
    finish: ({ request, report }) =>
      CancellationScope.nonCancellable(() =>
        warehouse.finish({ request: of(request), report }).catch(rethrowActivityFailure),
      ),
  }
}
