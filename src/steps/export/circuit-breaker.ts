// The circuit breaker of a process: after a 429, an outage or a contradicted quota seen by one lease, the other leases send no further request.
// The governor decides when to grant new leases.

export interface CircuitBreaker {
  /** Counts the trips. A lease may send only while the count is the same as when the lease began. */
  trips(): number
  trip(): void
}

export function newCircuitBreaker(): CircuitBreaker {
  let trips = 0
  return {
    trips: () => trips,
    trip() {
      trips += 1
    },
  }
}
