// How long stored rows have differed from the vendor's records: in fields of events, and in fields that only an export has.

import { LIGHT_FIELDS } from '../../../src/sandbox/events/conversation-events.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import type { SimulatedApp } from '../../workflows/simulated/open-simulated-app.ts'
import type { Change, ChangedConversation, Changes } from './changes.ts'

interface Row {
  agentId: string
  id: string
  /** The row's `last_modified`, ms; null if neither an export nor an event supplied it. */
  modifiedMs: string | null
  /** Time of the record's state in the newest export; null if the conversation was never exported. */
  exportedMs: string | null
}

const LIGHT: ReadonlySet<string> = new Set(LIGHT_FIELDS)

/** The record at that time, without the fields of events. */
function exportOnly(
  { world }: Sandbox,
  { agentId, id }: Pick<ChangedConversation, 'agentId' | 'id'>,
  ms: number,
): string {
  const record = JSON.parse(world.render(world.find(agentId, id, ms)!, ms)) as Record<string, unknown>
  return JSON.stringify(Object.entries(record).filter(([name]) => !LIGHT.has(name)))
}

/** Time of the first change that is missing in the row, ms; undefined if none is. */
function missingSince(sandbox: Sandbox, row: Row, changes: readonly Change[], nowMs: number): number | undefined {
  const { modifiedMs, exportedMs } = row
  const missing = changes.find(({ ms }) => ms > Number(modifiedMs ?? 0))?.ms
  if (exportedMs === null) return changes[0]!.ms
  const later = changes.filter(({ ms }) => ms > Number(exportedMs))
  if (later.length === 0) return missing
  const held = exportOnly(sandbox, row, Number(exportedMs))
  if (exportOnly(sandbox, row, nowMs) === held) return missing
  const differs = later.find(({ ms }) => exportOnly(sandbox, row, ms) !== held)?.ms ?? nowMs
  return Math.min(missing ?? differs, differs)
}

/** Ages of all rows of the warehouse, ms; 0 for rows that equal the vendor's record. */
export async function agesOf(simulated: SimulatedApp, changes: Changes, nowMs: number): Promise<number[]> {
  const rows = await simulated.rows<Row>(`SELECT agent_id AS "agentId", conversation_id AS id,
    epoch_ms(last_modified)::VARCHAR AS "modifiedMs", CASE WHEN _complete THEN epoch_ms(_as_of)::VARCHAR END AS "exportedMs"
    FROM conversations`)
  return rows.map(row => {
    const since = missingSince(simulated.sandbox, row, changes.of(row.agentId, row.id), nowMs)
    return since === undefined ? 0 : nowMs - since
  })
}

export const meanOf = (ages: readonly number[]): number => ages.reduce((sum, age) => sum + age, 0) / ages.length

/** A quantile of the ages. */
export const quantileOf = (ages: readonly number[], share: number): number =>
  ages.toSorted((a, b) => a - b)[Math.min(ages.length - 1, Math.floor(ages.length * share))]!
