// The result of a publication, in whichever process it ran: counts, and names of tables, models and checks, so that a Temporal history may hold it.

export interface PublicationReport {
  target: string
  /** `current`: the target has every change already. */
  kind: 'current' | 'delta' | 'refill'
  /** Why it was written from empty. */
  reason: string | null
  rows: number
  tables: number
  seq: number
  durationMs: number
  /** Tables whose rows and checksums are equal in warehouse and target, if they were compared. */
  verified?: number
  /** Why the maintenance of the target after the publication failed; the next one repeats it. */
  unmaintained?: string
  /** Models that could not be built, and checks that cannot run, with what to do next; absent: none. */
  warnings?: readonly string[]
}
