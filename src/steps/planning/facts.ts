// The port for facts about the loaded pages of one workspace: the warehouse's queries, bound to the workspace. They do
// not cover landed pages that are not loaded.

import type { Coverage } from '../../core/planning/coverage.ts'
import type { ClockReading } from '../../core/planning/unpassed-time.ts'
import { billedForGaps, readLeftAgents, readRangeGaps } from '../../reports/gaps.ts'
import type { Writer } from '../../warehouse/connection.ts'
import type { Warehouse } from '../../warehouse/open.ts'
import { coverageByAgent, cutUnpassedTime } from '../../warehouse/planning/coverage.ts'
import * as fullExports from '../../warehouse/planning/full-exports.ts'
import * as planner from '../../warehouse/planning/planner-queries.ts'
import * as quota from '../../warehouse/planning/planner-queries.ts'
import * as refresh from '../../warehouse/planning/refresh.ts'
import type { Fetching } from '../export/fetch.ts'
import type { Pending } from '../pending.ts'

/** Returns the seconds that have been read. Windows opened while the clock was ahead count only as far as they are certain. */
async function coverage(
  writer: Writer,
  workspaceId: string,
  clock: ClockReading,
): Promise<ReadonlyMap<string, Coverage>> {
  await cutUnpassedTime(writer, workspaceId, clock)
  return coverageByAgent(writer, workspaceId)
}

const QUERIES = {
  coverage,
  gaps: readRangeGaps,
  billedForGaps,
  leftAgents: readLeftAgents,
  knownAgents: planner.knownAgents,
  goneAgents: planner.goneAgents,
  openWindows: planner.openWindows,
  pausedWindows: planner.pausedWindows,
  seenThrough: planner.seenThrough,
  densities: planner.densityByAgent,
  reportedPeriods: quota.reportedPeriods,
  periodSinceMs: quota.periodSinceMs,
  fullWindows: fullExports.fullWindows,
  droppedFullsMs: fullExports.droppedFullsMs,
  dropFulls: fullExports.dropFulls,
  storedByDay: fullExports.storedByDay,
  activeConversations: refresh.activeConversations,
  dirtyIds: refresh.dirtyIds,
  measuredRefreshes: refresh.measuredRefreshes,
  agedIds: refresh.agedIds,
  randomIds: refresh.randomIds,
  lastSampledMs: refresh.lastSampledMs,
  hidingRanges: refresh.hidingRanges,
  shiftedRanges: refresh.shiftedRanges,
  lateRowsSeen: refresh.lateRowsSeen,
  billedByRereads: refresh.billedByRereads,
}

type OfOneWorkspace<Query> = Query extends (writer: Writer, workspaceId: string, ...rest: infer Rest) => infer Found
  ? (...rest: Rest) => Found
  : never

export type PlanningFacts = { [Name in keyof typeof QUERIES]: OfOneWorkspace<(typeof QUERIES)[Name]> }

export const warehouseFacts = ({ writer }: Pick<Warehouse, 'writer'>, workspaceId: string): PlanningFacts =>
  Object.fromEntries(
    Object.entries(QUERIES).map(([name, query]) => [
      name,
      (...rest: unknown[]) => (query as (...all: unknown[]) => unknown)(writer, workspaceId, ...rest),
    ]),
  ) as PlanningFacts

/** Dependencies of planning: those of fetching, plus facts about loaded pages and all pages that are not loaded yet. */
export interface Planning extends Fetching {
  facts: PlanningFacts
  pending: Pending
}

/** Dependencies of requesting resources by id: those of planning, plus the tables that contain the ids. */
export interface ResourceFetching extends Planning {
  warehouse: Warehouse
}
