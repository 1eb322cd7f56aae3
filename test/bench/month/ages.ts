// For how long stored rows have differed from the vendor's records: in what events tell, and in what only an export brings.

import { LIGHT_FIELDS } from '../../../src/sandbox/events/conversation-events.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import type { SimulatedApp } from '../../workflows/open-simulated-app.ts'
import type { Change, ChangedConversation, Changes } from './changes.ts'

interface Row {
  agentId: string
  id: string
  /** Null: no record told it. */
  modifiedMs: string | null
  /** When the vendor's record was as the newest export brought it; null: no export has. */
  exportedMs: string | null
}

const LIGHT: ReadonlySet<string> = new Set(LIGHT_FIELDS)

/** The record at that time, without what events tell. */
function exportOnly(
  { world }: Sandbox,
  { agentId, id }: Pick<ChangedConversation, 'agentId' | 'id'>,
  ms: number,
): string {
  const record = JSON.parse(world.render(world.find(agentId, id, ms)!, ms)) as Record<string, unknown>
  return JSON.stringify(Object.entries(record).filter(([name]) => !LIGHT.has(name)))
}

/** The first change that the row lacks, ms; undefined where it lacks none. */
function lacksSince(sandbox: Sandbox, row: Row, changes: readonly Change[], nowMs: number): number | undefined {
  const { modifiedMs, exportedMs } = row
  const untold = changes.find(({ ms }) => ms > Number(modifiedMs ?? 0))?.ms
  if (exportedMs === null) return changes[0]!.ms
  const later = changes.filter(({ ms }) => ms > Number(exportedMs))
  if (later.length === 0) return untold
  const held = exportOnly(sandbox, row, Number(exportedMs))
  if (exportOnly(sandbox, row, nowMs) === held) return untold
  const differs = later.find(({ ms }) => exportOnly(sandbox, row, ms) !== held)?.ms ?? nowMs
  return Math.min(untold ?? differs, differs)
}

/** Ages of all rows of the warehouse, ms; 0 for those that are as the vendor's record is. */
export async function agesOf(simulated: SimulatedApp, changes: Changes, nowMs: number): Promise<number[]> {
  const rows = await simulated.rows<Row>(`SELECT agent_id AS "agentId", conversation_id AS id,
    epoch_ms(last_modified)::VARCHAR AS "modifiedMs", CASE WHEN _complete THEN epoch_ms(_as_of)::VARCHAR END AS "exportedMs"
    FROM conversations`)
  return rows.map(row => {
    const since = lacksSince(simulated.sandbox, row, changes.of(row.agentId, row.id), nowMs)
    return since === undefined ? 0 : nowMs - since
  })
}

export const meanOf = (ages: readonly number[]): number => ages.reduce((sum, age) => sum + age, 0) / ages.length

/** The age that so large a share of them does not exceed. */
export const quantileOf = (ages: readonly number[], share: number): number =>
  ages.toSorted((a, b) => a - b)[Math.min(ages.length - 1, Math.floor(ages.length * share))]!
