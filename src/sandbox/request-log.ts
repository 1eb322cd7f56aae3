// Log of the API requests served, for tests and for people who want to see what a sync costs.
import type { FaultKind } from './faults/fault-settings.ts'

export type RequestKind = FaultKind | 'teams'

export interface ServedRequest {
  /** Counted from 1 since the start or the last reset. */
  n: number
  /** Arrival, by the sandbox's clock, in ms. */
  at: number
  method: string
  /** As sent, without the query. */
  path: string
  kind: RequestKind | 'other'
  agentId: string | null
  /** Set for organization and team requests. */
  organizationId?: string
  /** Documented parameters as sent; others are not recorded. */
  query: Record<string, string>
  /** HTTP status; 0: the connection was closed without an answer. */
  status: number
  /** Conversations in the answer; 0 if the answer was lost on the way. */
  returned: number
  /** Sessions billed, whether or not the answer arrived. */
  billed: number
  /** Names of the faults applied to the request, in order. */
  faults: string[]
}

interface RequestFilter {
  /** Only requests after that number. */
  since: number
  agentId: string | null
  kind: string | null
}

/** Above this the log drops its oldest tenth. */
const MAX_KEPT = 200_000

export class RequestLog {
  private requests: ServedRequest[] = []
  private served = 0

  get total(): number {
    return this.served
  }

  add(request: Omit<ServedRequest, 'n'>): void {
    if (this.requests.length >= MAX_KEPT) this.requests = this.requests.slice(MAX_KEPT / 10)
    this.requests.push({ n: ++this.served, ...request })
  }

  reset(): void {
    this.requests = []
    this.served = 0
  }

  list({ since, agentId, kind }: RequestFilter): ServedRequest[] {
    return this.requests.filter(
      request =>
        request.n > since &&
        (agentId === null || request.agentId === agentId) &&
        (kind === null || request.kind === kind),
    )
  }
}
