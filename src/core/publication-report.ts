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
  /** Tables of records whose changes the target lacks, with their child tables, because a check that blocks them fails. */
  held: readonly string[]
  /** Of these, those that have no rows in the target, because it was written from empty meanwhile; absent: none. */
  empty?: readonly string[]
  /** Tables whose rows and checksums are equal in warehouse and target, if they were compared. */
  verified?: number
  /** Why the maintenance of the target after the publication failed; the next one repeats it. */
  unmaintained?: string
  /** Models that could not be built, and checks that cannot run or hold back a table, with what to do next; absent: none. */
  warnings?: readonly string[]
}
