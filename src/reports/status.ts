// The state of one workspace: conversations, agents, runs, quota, findings, landing and webhook events.
import { quoteText } from '../catalog/layout.ts'
import type { WorkspaceConfig } from '../config.ts'
import type { Overdue } from '../core/overdue.ts'
import type { Gap } from '../core/planning/gaps.ts'
import type { MeasuredRefreshes } from '../core/planning/refresh-rule.ts'
import type { ReadRange } from '../core/planning/rereads.ts'
import { momentText } from '../core/time.ts'
import type { Landing } from '../landing/landing.ts'
import type { LeaseLog } from '../landing/lease-log.ts'
import { LISTING_PATH, SECRET_REMOVED } from '../warehouse/load/findings.ts'
import { pausedWindows } from '../warehouse/planning/planner-queries.ts'
import { activeConversations, measuredRefreshes, shiftedRanges } from '../warehouse/planning/refresh.ts'
import { type Rows, withParams } from '../warehouse/query/rows.ts'
import { type AgentStatus, agentStatus } from './coverage.ts'
import { type EventsStatus, eventsStatus } from './events.ts'
import { overdueOf, syncTimes } from './freshness.ts'
import { readGaps } from './gaps.ts'
import { type QuotaStatus, quotaStatus } from './quota.ts'
import { NO_RUNS, type RunsStatus, runsStatus } from './runs.ts'

export interface WorkspaceStatus extends RunsStatus {
  workspaceId: string
  conversations: number
  newestAt: string | null
  oldestAt: string | null
  agents: AgentStatus[]
  /** Number of windows that were started and are not finished. */
  openWindows: number
  /** Windows that made no progress, so that watch mode and schedules skip them until `until` (ISO-8601 UTC). */
  backingOff: { agentId: string; window: string; until: string }[]
  /** Ranges that could not be read. */
  gaps: Gap[]
  /** Ranges in which pages may have shifted during reading, and that have not been read again yet (ADR 6). */
  unverified: ReadRange[]
  /** Null until the vendor has reported usage. */
  quota: QuotaStatus | null
  /** What is older than the schedule, or --max-age, allows. */
  overdue: Overdue[]
  findings: Findings
  landing: LandingStatus
  events: EventsStatus
  /** Findings of refreshes without a new message; null if `refreshOn: auto` has measured none. */
  measured: MeasuredRefreshes | null
  /** Number of conversations whose first export waits until they are quiet. */
  active: number
}

interface LandingStatus {
  /** Pages of all streams. */
  pages: number
  /** Those that syncs count in their reports. */
  conversationPages: number
  notLoaded: number
  bytes: number
}

/** Returns the state. `rows`: null without a warehouse. `isHeld`: held by another process. @throws HOME_UNUSABLE, WAREHOUSE_LOCKED */
export async function workspaceStatus(options: {
  home: string
  landing: Landing
  leaseLog: Pick<LeaseLog, 'recent'>
  workspaceId: string
  /** Undefined for a workspace that is in the warehouse but not configured. */
  settings: WorkspaceConfig | undefined
  rows: Rows | null
  isHeld: () => boolean
  nowMs: number
  maxAgeMs?: number | undefined
}): Promise<WorkspaceStatus> {
  const { home, landing, workspaceId, settings, rows, isHeld, nowMs } = options
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const agents = rows ? await agentStatus(rows, workspaceId, nowMs) : []
  const runs = rows ? await runsStatus(rows, here, isHeld) : NO_RUNS
  const active = rows ? await activeConversations({ rows }, workspaceId, nowMs) : []
  return {
    workspaceId,
    conversations: agents.reduce((sum, agent) => sum + agent.conversations, 0),
    newestAt: last(agents.map(agent => agent.newestAt)),
    oldestAt: first(agents.map(agent => agent.oldestAt)),
    agents,
    openWindows: agents.reduce((sum, agent) => sum + agent.openWindows, 0),
    backingOff: rows ? await windowsBackingOff(rows, workspaceId, nowMs) : [],
    gaps: rows ? await readGaps({ rows }, workspaceId, nowMs) : [],
    unverified:
      rows && settings
        ? await shiftedRanges(withParams(rows), workspaceId, { ...settings, sinceMs: nowMs - settings.rereadHorizonMs })
        : [],
    ...runs,
    quota: await quotaStatus(options),
    overdue: rows && settings ? await overdueOf(settings, { ...options, times: await syncTimes(rows), runs }) : [],
    findings: rows ? await findingsStatus(rows, here) : NO_FINDINGS,
    landing: await landingStatus(landing, workspaceId, rows),
    events: await eventsStatus({ home, workspaceId, rows, here, nowMs }),
    measured:
      rows && settings?.refreshOn === 'auto'
        ? await measuredRefreshes({ rows }, workspaceId, { nowMs, quietMs: settings.quietMs })
        : null,
    active: active.reduce((sum, { conversations }) => sum + conversations, 0),
  }
}

const last = (texts: (string | null)[]): string | null =>
  texts.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null)
const first = (texts: (string | null)[]): string | null =>
  texts.reduce((a, b) => (a === null || (b !== null && b < a) ? b : a), null)

async function windowsBackingOff(
  rows: Rows,
  workspaceId: string,
  nowMs: number,
): Promise<WorkspaceStatus['backingOff']> {
  const paused = await pausedWindows({ rows }, workspaceId, nowMs)
  return paused.map(({ agentId, window, untilMs }) => ({ agentId, window, until: momentText(untilMs) }))
}

/** Counts landed pages and their bytes. Without a warehouse (`rows` is null) none is loaded. @throws HOME_UNUSABLE */
export async function landingStatus(landing: Landing, workspaceId: string, rows: Rows | null): Promise<LandingStatus> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  // `_loads` is read first: a page that lands in between counts as not loaded, and the difference is never negative.
  const loads = rows ? await rows<{ file: string }>(`SELECT file FROM _loads WHERE ${here}`) : []
  const loaded = new Set(loads.map(({ file }) => file))
  const pages = await landing.list()
  return {
    pages: pages.length,
    conversationPages: pages.filter(({ address }) => address.split('/')[1] === 'conversations').length,
    notLoaded: pages.filter(({ address }) => !loaded.has(address)).length,
    bytes: await landing.storedBytes(),
  }
}

/** Returns the ids of all workspaces that were ever synced, in order. */
export async function workspacesIn(rows: Rows): Promise<string[]> {
  const found = await rows<{ id: string }>(
    'SELECT DISTINCT workspace_id AS id FROM _runs UNION SELECT DISTINCT workspace_id FROM _loads UNION SELECT workspace_id FROM _workspaces ORDER BY id',
  )
  return found.map(({ id }) => id)
}

/** Drift, data issues and quarantined records found by loading; see the tables `_drift`, `_issues` and `_quarantine`. */
interface Findings {
  driftPaths: number
  issuePaths: number
  issues: number
  quarantined: number
  /** Reason why the newest listing of agents may be incomplete; null if it is complete. */
  agentsCutOff: string | null
  /** Number of secrets that were removed before anything was written. They are expected, so they do not count as issues. */
  secretsRemoved: number
}

const NO_FINDINGS: Findings = {
  driftPaths: 0,
  issuePaths: 0,
  issues: 0,
  quarantined: 0,
  agentsCutOff: null,
  secretsRemoved: 0,
}

/** Returns the findings. `here` is the SQL condition that selects the workspace. */
async function findingsStatus(rows: Rows, here: string): Promise<Findings> {
  const [counts] = await rows<Omit<Findings, 'agentsCutOff'>>(countsSql(here))
  const [cutOff] = await rows<{ issue: string }>(cutOffSql(here))
  return {
    ...NO_FINDINGS,
    ...counts,
    agentsCutOff: cutOff?.issue ?? null,
  }
}

const REMOVED = `issue = ${quoteText(SECRET_REMOVED)}`

const countsSql = (here: string): string => `
  SELECT (SELECT count(*) FROM _drift WHERE ${here}) AS "driftPaths", (SELECT count(*) FROM _issues WHERE ${here} AND NOT ${REMOVED}) AS "issuePaths",
    (SELECT coalesce(sum(occurrences), 0)::BIGINT FROM _issues WHERE ${here} AND NOT ${REMOVED}) AS issues,
    (SELECT coalesce(sum(occurrences), 0)::BIGINT FROM _issues WHERE ${here} AND ${REMOVED}) AS "secretsRemoved",
    (SELECT count(*) FROM _quarantine WHERE ${here}) AS quarantined`

/** Returns the SQL of the warning that the newest agent list was cut off. Equal lists are not landed again. */
const cutOffSql = (here: string): string => `
  SELECT issue FROM _issues WHERE ${here} AND record = 'agent' AND path = '${LISTING_PATH}'
    AND last_seen >= (SELECT max(sent_at) FROM _requests WHERE ${here} AND stream = 'agents') ORDER BY last_seen DESC LIMIT 1`
