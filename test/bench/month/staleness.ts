// Rows that are not as the vendor's records are.
import type { SimulatedApp } from '../../workflows/open-simulated-app.ts'
import type { Changes } from './changes.ts'

export interface Staleness {
  rows: number
  /** The newest change of the record is not in them, neither by export nor by event. */
  stale: number
  /** Told by events alone so far. */
  incomplete: number
  /** Current in all that events tell, and to be exported again. */
  dirty: number
}

interface Row {
  agentId: string
  id: string
  /** Null: no record told it. */
  modifiedMs: string | null
  isComplete: boolean
  isDirty: boolean
}

/** Looks at every row of the warehouse, which is as fresh as it gets at that time. */
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
