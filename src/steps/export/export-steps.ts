// The steps of an export worker. It has landing, lease log and vendor client, but no warehouse.
import type { HeldLease } from '../../../workflows/lost-lease.ts'
import type { FetchInput, LeaseAnswers, LeaseOutcome, ProbeInput } from '../../../workflows/steps.ts'
import type { FetchDependencies } from '../dependencies.ts'
import { type CircuitBreaker, newCircuitBreaker } from '../dependencies.ts'
import { openServerClock, type ServerClock } from '../server-clock.ts'
import { type Fetching, fetchPages, probe } from './fetch.ts'
import { heldUntilMs, leaseHeldUntilMs, recoverLease } from './lease-recovery.ts'

/** A worker's resources for one workspace. */
export interface WorkspaceContext extends Omit<FetchDependencies, 'signal' | 'stopping' | 'onPage' | 'onFinishing'> {
  /** Request timeout, ms. */
  timeoutMs: number
}

/** The context of one activity. */
export type Call = Pick<FetchDependencies, 'signal' | 'stopping' | 'isHeld' | 'onPage' | 'onFinishing'>

export interface ExportSteps {
  fetchPages(input: FetchInput, call: Call): Promise<LeaseOutcome>
  probe(input: ProbeInput, call: Call): Promise<LeaseAnswers>
  recoverLease(input: FetchInput, call: Call): Promise<LeaseOutcome>
  /** Returns the time until which `lease` (default: any lease granted by a workflow) may still send requests; null if none may. */
  heldUntilMs(lease?: HeldLease): Promise<number | null>
}

/** Nothing collects pages here, since the process that holds the warehouse lists them from the landing. */
const NOBODY = { add: () => {} }

/** Returns the steps that need no warehouse. The leases of one process share the circuit breaker and the server clock. */
export function makeExportSteps(workspaceContext: WorkspaceContext): ExportSteps {
  const breaker: CircuitBreaker = newCircuitBreaker()
  let clock: ServerClock | null = null
  const fetching = (run: string, aheadMs: number | undefined, call: Call): Fetching => {
    clock ??= openServerClock(aheadMs)
    return { ...workspaceContext, ...call, run, breaker, clock, pending: NOBODY }
  }
  return {
    fetchPages: ({ request, progress, grant, aheadMs }, call) =>
      fetchPages(fetching(request.run, aheadMs, call), progress, grant),
    probe: ({ request, agentId, grant, aheadMs }, call) => probe(fetching(request.run, aheadMs, call), agentId, grant),
    recoverLease: ({ request, progress, grant, aheadMs }, call) =>
      recoverLease(fetching(request.run, aheadMs, call), progress, grant),
    heldUntilMs: lease =>
      lease
        ? leaseHeldUntilMs(workspaceContext, lease, workspaceContext.timeoutMs)
        : heldUntilMs(workspaceContext, workspaceContext.timeoutMs),
  }
}
