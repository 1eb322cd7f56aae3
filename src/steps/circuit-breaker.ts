// The gate to the vendor, shared by the leases of one process: when one of them is told to stop (429, or the vendor
// fails), the others make no further request under the leases they hold. New leases are the governor's to grant.

export interface CircuitBreaker {
  /** Changes each time the gate closes: a lease may ask only while it sees the number it began with. */
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
