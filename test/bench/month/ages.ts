// How long stored rows have differed from the vendor's records: in fields of events, and in fields that only an export has.

import { LIGHT_FIELDS } from '../../../src/sandbox/events/conversation-events.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { NOT_ANALYZED } from '../../../src/warehouse/load/load.ts'
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

/** The record at that time, without these fields. */
function recordWithout(
  left: ReadonlySet<string>,
  { world }: Sandbox,
  { agentId, id }: Pick<ChangedConversation, 'agentId' | 'id'>,
  ms: number,
): string {
  const record = JSON.parse(world.render(world.find(agentId, id, ms)!, ms)) as Record<string, unknown>
  return JSON.stringify(Object.entries(record).filter(([name]) => !left.has(name)))
}

/** Time of the first change that is missing in the row, ms; undefined if none is. */
function missingSince(
  left: ReadonlySet<string>,
  sandbox: Sandbox,
  { row, changes, nowMs }: { row: Row; changes: readonly Change[]; nowMs: number },
): number | undefined {
  const { modifiedMs, exportedMs } = row
  const exportOnly = (ms: number) => recordWithout(left, sandbox, row, ms)
  const missing = changes.find(({ ms }) => ms > Number(modifiedMs ?? 0))?.ms
  if (exportedMs === null) return changes[0]!.ms
  const later = changes.filter(({ ms }) => ms > Number(exportedMs))
  if (later.length === 0) return missing
  const held = exportOnly(Number(exportedMs))
  if (exportOnly(nowMs) === held) return missing
  const differs = later.find(({ ms }) => exportOnly(ms) !== held)?.ms ?? nowMs
  return Math.min(missing ?? differs, differs)
}

/** Ages of a row, ms; 0 if it equals the vendor's record in the compared fields. */
export interface Ages {
  all: number
  withoutViews: number
  /** Without any field that nobody analyzes. */
  analyzed: number
  /** The same; null for a conversation in which no person has written: no export returns it, so its row lacks nothing that can be had. */
  exportable: number | null
}

/** Fields of events are compared by the time of the last change instead. */
const without = (names: Iterable<string>): ReadonlySet<string> => new Set([...LIGHT_FIELDS, ...names])
const LEFT = { all: without([]), withoutViews: without(['lastViewed']), analyzed: without(NOT_ANALYZED) }

/** Ages of all rows of the warehouse. */
export async function agesOf(simulated: SimulatedApp, changes: Changes, nowMs: number): Promise<Ages[]> {
  const rows = await simulated.rows<Row>(`SELECT agent_id AS "agentId", conversation_id AS id,
    epoch_ms(last_modified)::VARCHAR AS "modifiedMs", CASE WHEN _complete THEN epoch_ms(_as_of)::VARCHAR END AS "exportedMs"
    FROM conversations`)
  return rows.map(row => {
    const own = { row, changes: changes.of(row.agentId, row.id), nowMs }
    const { world } = simulated.sandbox
    const isExportable = world.billable(world.find(row.agentId, row.id, nowMs)!, nowMs) > 0
    const age = (of: keyof typeof LEFT) => nowMs - (missingSince(LEFT[of], simulated.sandbox, own) ?? nowMs)
    const analyzed = age('analyzed')
    return { all: age('all'), withoutViews: age('withoutViews'), analyzed, exportable: isExportable ? analyzed : null }
  })
}

export const meanOf = (ages: readonly number[]): number => ages.reduce((sum, age) => sum + age, 0) / ages.length

/** A quantile of the ages. */
export const quantileOf = (ages: readonly number[], share: number): number =>
  ages.toSorted((a, b) => a - b)[Math.min(ages.length - 1, Math.floor(ages.length * share))]!
