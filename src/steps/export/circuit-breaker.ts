// Circuit breaker shared by the leases of one process: after a 429 or an outage seen by one lease, the others send no further request.
// New leases are granted by the governor.

export interface CircuitBreaker {
  /** Generation: it changes with every trip, and a lease may send only while it equals the one it started with. */
  openedAt(): number
  close(): void
}

export function newCircuitBreaker(): CircuitBreaker {
  let closings = 0
  return {
    openedAt: () => closings,
    close() {
      closings += 1
    },
  }
}
