// The result of a publication, in whichever process it ran: counts, and names of our own tables, so that a Temporal history may hold it.

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
  /** Tables of records that a failed check holds back, with their child tables. */
  held: readonly string[]
  /** Tables whose rows and checksums are equal in warehouse and target, if they were compared. */
  verified?: number
  /** Why the maintenance of the target after the publication failed; the next one repeats it. */
  unmaintained?: string
}
