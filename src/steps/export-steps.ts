// The steps where fetching and the warehouse are in processes of their own: fetching needs the landing, the ledger and the vendor;
// what has landed meanwhile, whoever holds the warehouse reads from the landing.
import type { HeldLease } from '../../workflows/lost-lease.ts'
import type { FetchInput, LeaseAnswers, LeaseOutcome, ProbeInput } from '../../workflows/steps.ts'
import { type CircuitBreaker, newCircuitBreaker } from './circuit-breaker.ts'
import type { FetchDependencies } from './dependencies.ts'
import { type Fetching, fetchPages, probe } from './fetch.ts'
import { heldUntilMs, leaseHeldUntilMs, recoverLease } from './lease-recovery.ts'
import { openServerClock, type ServerClock } from './server-clock.ts'

/** What a worker holds for a workspace as long as it lives. */
export interface WorkspaceContext extends Omit<FetchDependencies, 'signal' | 'stopping' | 'onPage'> {
  /** How long a request may take, ms. */
  timeoutMs: number
}

/** What one activity brings along. */
export type Call = Pick<FetchDependencies, 'signal' | 'stopping' | 'isHeld' | 'onPage'>

export interface ExportSteps {
  fetchPages(input: FetchInput, call: Call): Promise<LeaseOutcome>
  probe(input: ProbeInput, call: Call): Promise<LeaseAnswers>
  recoverLease(input: FetchInput, call: Call): Promise<LeaseOutcome>
  /** Of that lease, else of all that workflows have granted. */
  heldUntilMs(lease?: HeldLease): Promise<number | null>
}

/** Whoever holds the warehouse finds the pages in the landing. */
const NOBODY = { add: () => {} }

/** The steps that need no warehouse. Leases of one process share the gate and what is known of the server's clock. */
export function makeExportSteps(workspaceContext: WorkspaceContext): ExportSteps {
  const gate: CircuitBreaker = newCircuitBreaker()
  let clock: ServerClock | null = null
  const fetching = (run: string, aheadMs: number | undefined, call: Call): Fetching => {
    clock ??= openServerClock(aheadMs)
    return { ...workspaceContext, ...call, run, gate, clock, pending: NOBODY }
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
