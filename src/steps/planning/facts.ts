// What planning needs to know of the loaded pages, as a port, and its implementation by the warehouse.
import type { Coverage } from '../../core/planning/coverage.ts'
import type { Density } from '../../core/planning/estimate.ts'
import type { StoredDay } from '../../core/planning/full-export.ts'
import type { Gap } from '../../core/planning/gaps.ts'
import type { ConversationKey } from '../../core/planning/id-windows.ts'
import type { ReadRange } from '../../core/planning/rereads.ts'
import type { ClockReading } from '../../core/planning/unpassed-time.ts'
import type { WindowProgress } from '../../core/planning/windows.ts'
import type { KeyReports } from '../../core/quota/period-keys.ts'
import type { ReportedPeriod } from '../../core/quota/quota-recovery.ts'
import { billedForGaps, type LeftAgent, readLeftAgents, readRangeGaps } from '../../reports/gaps.ts'
import type { Warehouse } from '../../warehouse/open.ts'
import { coverageByAgent, cutUnpassedTime } from '../../warehouse/planning/coverage.ts'
import { dropFulls, droppedFullsMs, fullWindows, storedByDay } from '../../warehouse/planning/full-exports.ts'
import {
  densityByAgent,
  goneAgents,
  type KnownAgent,
  knownAgents,
  openWindows,
  type PausedWindow,
  pausedWindows,
  seenThrough,
} from '../../warehouse/planning/planner-queries.ts'
import { keysReported, periodSinceMs, reportedPeriods } from '../../warehouse/planning/quota-reports.ts'
import {
  activeConversations,
  agedIds,
  billedByRereads,
  dirtyIds,
  hidingRanges,
  isTsLastActivity,
  lastSampledMs,
  lateRowsSeen,
  measuredRefreshes,
  randomIds,
  refreshedSince,
  shiftedRanges,
} from '../../warehouse/planning/refresh.ts'
import type { Fetching } from '../export/fetch.ts'
import type { Pending } from '../pending.ts'

/** Facts about one workspace. Pages that have landed and are not loaded are not part of any of them. */
export interface PlanningFacts {
  /** Agents that a listing or an event has named, however complete the listings are. */
  knownAgents(): Promise<KnownAgent[]>
  /** Ids of agents that are marked as gone. */
  goneAgents(): Promise<string[]>
  /** Seconds that have been read. Windows that were opened while the clock was ahead count only as far as they are certain. */
  coverage(clock: ClockReading): Promise<ReadonlyMap<string, Coverage>>
  /** Unfinished windows, oldest first. */
  openWindows(): Promise<WindowProgress[]>
  /** Unfinished windows that back off at `nowMs`. */
  pausedWindows(nowMs: number): Promise<PausedWindow[]>
  /** By agent: the last second that may hold a conversation, as far as pages have shown. Agents without one are absent. */
  seenThrough(nowMs: number): Promise<ReadonlyMap<string, number>>
  activeConversations(nowMs: number): ReturnType<typeof activeConversations>
  densities(nowMs: number): Promise<ReadonlyMap<string, Density>>
  /** What was reported under each period key; the last one is that of most of the newest pages. */
  reportedPeriods(): Promise<ReportedPeriod[]>
  keysReported(): Promise<KeyReports[]>
  periodSinceMs(key: string | null): Promise<number | null>
  /** Ranges that could not be read. */
  gaps(nowMs: number): Promise<Gap[]>
  /** Sessions that requesting gaps again may have billed since `sinceMs`. */
  billedForGaps(sinceMs: number): Promise<number>
  /** Agents whose exports the vendor refuses, or fails, alone. */
  leftAgents(): Promise<LeftAgent[]>
  fullWindows(): Promise<WindowProgress[]>
  droppedFullsMs(): Promise<number | null>
  dropFulls(untilMs: number): Promise<void>
  storedByDay(): Promise<ReadonlyMap<string, readonly StoredDay[]>>
  /** The arguments are those of the functions of the same names in `warehouse/planning/refresh.ts`. */
  dirtyIds(options: Parameters<typeof dirtyIds>[2]): Promise<ConversationKey[]>
  measuredRefreshes(options: Parameters<typeof measuredRefreshes>[2]): ReturnType<typeof measuredRefreshes>
  agedIds(options: Parameters<typeof agedIds>[2]): Promise<ConversationKey[]>
  randomIds(options: Parameters<typeof randomIds>[2]): Promise<ConversationKey[]>
  refreshedSince(sinceMs: number): Promise<ConversationKey[]>
  lastSampledMs(): Promise<number | null>
  hidingRanges(options: Parameters<typeof hidingRanges>[2]): Promise<ReadRange[]>
  shiftedRanges(options: Parameters<typeof shiftedRanges>[2]): Promise<ReadRange[]>
  lateRowsSeen(sinceMs: number): Promise<boolean>
  isTsLastActivity(sinceMs: number): Promise<boolean>
  billedByRereads(sinceMs: number): Promise<number>
}

/** Planning needs facts about the loaded pages and all pages that are not loaded yet, besides what fetching needs. */
export interface Planning extends Fetching {
  facts: PlanningFacts
  pending: Pending
}

/** Requesting resources by ids needs the tables that hold the ids, besides what planning needs. */
export interface ResourceFetching extends Planning {
  warehouse: Warehouse
}

export function warehouseFacts({ writer }: Pick<Warehouse, 'writer'>, workspaceId: string): PlanningFacts {
  return {
    knownAgents: () => knownAgents(writer, workspaceId),
    goneAgents: () => goneAgents(writer, workspaceId),
    async coverage(clock) {
      await cutUnpassedTime(writer, workspaceId, clock)
      return coverageByAgent(writer, workspaceId)
    },
    openWindows: () => openWindows(writer, workspaceId),
    pausedWindows: nowMs => pausedWindows(writer, workspaceId, nowMs),
    seenThrough: nowMs => seenThrough(writer, workspaceId, nowMs),
    activeConversations: nowMs => activeConversations(writer, workspaceId, nowMs),
    densities: nowMs => densityByAgent(writer, workspaceId, nowMs),
    reportedPeriods: () => reportedPeriods(writer, workspaceId),
    keysReported: () => keysReported(writer, workspaceId),
    periodSinceMs: key => periodSinceMs(writer, workspaceId, key),
    gaps: nowMs => readRangeGaps(writer, workspaceId, nowMs),
    billedForGaps: sinceMs => billedForGaps(writer, workspaceId, sinceMs),
    leftAgents: () => readLeftAgents(writer, workspaceId),
    fullWindows: () => fullWindows(writer, workspaceId),
    droppedFullsMs: () => droppedFullsMs(writer, workspaceId),
    dropFulls: untilMs => dropFulls(writer, workspaceId, untilMs),
    storedByDay: () => storedByDay(writer, workspaceId),
    dirtyIds: options => dirtyIds(writer, workspaceId, options),
    measuredRefreshes: options => measuredRefreshes(writer, workspaceId, options),
    agedIds: options => agedIds(writer, workspaceId, options),
    randomIds: options => randomIds(writer, workspaceId, options),
    refreshedSince: sinceMs => refreshedSince(writer, workspaceId, sinceMs),
    lastSampledMs: () => lastSampledMs(writer, workspaceId),
    hidingRanges: options => hidingRanges(writer, workspaceId, options),
    shiftedRanges: options => shiftedRanges(writer, workspaceId, options),
    lateRowsSeen: sinceMs => lateRowsSeen(writer, workspaceId, sinceMs),
    isTsLastActivity: sinceMs => isTsLastActivity(writer, workspaceId, sinceMs),
    billedByRereads: sinceMs => billedByRereads(writer, workspaceId, sinceMs),
  }
}
