// Log of the served API requests, for tests and for people who want to see the cost of a sync.

/** `organization`: of an organization itself. */
export type RequestKind =
  | ('export' | 'search' | 'organization' | 'teams' | 'tools' | 'variables')
  | ('audit' | 'metric' | 'voices' | 'workspace' | 'crawler')

export interface ServedRequest {
  /** Number from 1 since the start. */
  n: number
  /** Arrival, by the sandbox's clock, in ms. */
  at: number
  method: string
  /** Path as sent, without the query. */
  path: string
  kind: RequestKind | 'other'
  agentId: string | null
  /** Documented parameters as sent; others are not recorded. */
  query: Record<string, string>
  /** HTTP status; 0 if the connection was closed without an answer. */
  status: number
  /** Number of conversations in the answer; 0 if the answer was lost on the way. */
  returned: number
  /** Number of billed sessions, whether or not the answer arrived. */
  billed: number
  /** Names of the faults applied to the request, in order. */
  faults: string[]
}

/** Maximum number of entries; beyond it the log drops its oldest tenth. */
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

  /** Returns the requests of that kind, by default of all, after the one with that number. */
  list(since: number, kind: string | null): ServedRequest[] {
    return this.requests.filter(request => request.n > since && (kind === null || request.kind === kind))
  }
}
