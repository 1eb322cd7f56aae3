// Counts rows that differ from the vendor's records.
import type { SimulatedApp } from '../../workflows/simulated/open-simulated-app.ts'
import type { Changes } from './changes.ts'

export interface Staleness {
  rows: number
  /** Rows without the record's newest change: neither an export nor an event supplied it. */
  stale: number
  /** Rows that only events have supplied so far. */
  incomplete: number
  /** Rows that are up to date in the fields of events, but due for another export. */
  dirty: number
}

interface Row {
  agentId: string
  id: string
  /** The row's `last_modified`, ms; null if neither an export nor an event supplied it. */
  modifiedMs: string | null
  isComplete: boolean
  isDirty: boolean
}

/** Counts all rows of the warehouse. Call it after everything available at that time has been loaded. */
export async function stalenessOf({ rows }: SimulatedApp, changes: Changes): Promise<Staleness> {
  const held =
    await rows<Row>(`SELECT agent_id AS "agentId", conversation_id AS id, epoch_ms(last_modified)::VARCHAR AS "modifiedMs",
    _complete AS "isComplete", _dirty_since IS NOT NULL AS "isDirty" FROM conversations`)
  const isStale = ({ agentId, id, modifiedMs }: Row): boolean =>
    Number(modifiedMs ?? 0) < (changes.lastOf(agentId, id)?.ms ?? 0)
  return {
    rows: held.length,
    stale: held.filter(isStale).length,
    incomplete: held.filter(({ isComplete }) => !isComplete).length,
    dirty: held.filter(row => row.isComplete && row.isDirty && !isStale(row)).length,
  }
}
