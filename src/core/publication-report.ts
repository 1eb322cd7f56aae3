// The result of a publication, for any process: counts, and names of tables, models and checks. A history may contain it.

export interface PublicationReport {
  target: string
  /** `current`: the target already has every change. */
  kind: 'current' | 'delta' | 'refill'
  /** Reason why it was written from empty. */
  reason: string | null
  rows: number
  tables: number
  seq: number
  durationMs: number
  /** Number of tables with equal rows and checksums in warehouse and target, if they were compared. */
  verified?: number
  /** Reason why the target's maintenance after the publication failed; the next publication repeats it. */
  unmaintained?: string
  /** Tables without a place, ids that select nothing, models that could not be built, checks that cannot run; omitted for none. */
  warnings?: readonly string[]
}
