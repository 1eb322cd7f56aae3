// All that `status` tells of one workspace.
import { openStores } from '../../app/stores.ts'
import { quoteText } from '../../catalog/layout.ts'
import type { WorkspaceConfig } from '../../config.ts'
import { momentText } from '../../core/time.ts'
import type { Landing } from '../../landing/landing.ts'
import { type QuotaStatus, quotaStatus } from '../../reports/quota.ts'
import { pausedWindows } from '../../warehouse/planning/planner-queries.ts'
import { type AgentStatus, agentStatus } from './agents.ts'
import { type EventsStatus, eventsStatus } from './events.ts'
import { type Findings, findingsStatus, NO_FINDINGS } from './findings.ts'
import type { Rows } from './reading.ts'
import { NO_RUNS, type RunsStatus, runsStatus } from './runs.ts'

export interface WorkspaceStatus extends RunsStatus {
  workspaceId: string
  conversations: number
  newestAt: string | null
  oldestAt: string | null
  agents: AgentStatus[]
  openWindows: number
  /** Windows that a watch or a schedule leaves alone for now, since they came no further; `until` is ISO-8601 UTC. */
  resting: { agentId: string; window: string; until: string }[]
  quota: QuotaStatus | null
  findings: Findings
  landing: { pages: number; notLoaded: number; bytes: number }
  events: EventsStatus
}

/** `rows` is null where there is no warehouse: then nothing is loaded. */
export async function landingStatus(
  landing: Landing,
  workspaceId: string,
  rows: Rows | null,
): Promise<WorkspaceStatus['landing']> {
  const here = `workspace_id = ${quoteText(workspaceId)}`
  // Loads first: what lands between the two counts as not loaded, never as less than nothing.
  const loads = rows ? await rows<{ file: string }>(`SELECT file FROM _loads WHERE ${here}`) : []
  const loaded = new Set(loads.map(({ file }) => file))
  const pages = await landing.list()
  return {
    pages: pages.length,
    notLoaded: pages.filter(({ address }) => !loaded.has(address)).length,
    bytes: await landing.storedBytes(),
  }
}

const last = (texts: (string | null)[]): string | null =>
  texts.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null)
const first = (texts: (string | null)[]): string | null =>
  texts.reduce((a, b) => (a === null || (b !== null && b < a) ? b : a), null)

async function restingStatus(rows: Rows, workspaceId: string, nowMs: number): Promise<WorkspaceStatus['resting']> {
  const resting = await pausedWindows({ rows }, workspaceId, nowMs)
  return resting.map(({ agentId, window, untilMs }) => ({ agentId, window, until: momentText(untilMs) }))
}

/** `rows` is null where there is no warehouse yet. */
export async function workspaceStatus(options: {
  home: string
  workspaceId: string
  settings: WorkspaceConfig | undefined
  rows: Rows | null
  /** True where another process holds the warehouse. */
  isHeld: () => boolean
  nowMs: number
}): Promise<WorkspaceStatus> {
  const { home, workspaceId, settings, rows, isHeld, nowMs } = options
  const stores = openStores(home)
  const here = `workspace_id = ${quoteText(workspaceId)}`
  const agents = rows ? await agentStatus(rows, workspaceId) : []
  return {
    workspaceId,
    conversations: agents.reduce((sum, agent) => sum + agent.conversations, 0),
    newestAt: last(agents.map(agent => agent.newestAt)),
    oldestAt: first(agents.map(agent => agent.oldestAt)),
    agents,
    openWindows: agents.reduce((sum, agent) => sum + agent.openWindows, 0),
    resting: rows ? await restingStatus(rows, workspaceId, nowMs) : [],
    ...(rows ? await runsStatus(rows, here, isHeld) : NO_RUNS),
    quota: await quotaStatus({ leaseLog: stores.leaseLog({ workspaceId, run: 'status' }), settings, nowMs }),
    findings: rows ? await findingsStatus(rows, here) : NO_FINDINGS,
    landing: await landingStatus(stores.landing.workspace(workspaceId), workspaceId, rows),
    events: await eventsStatus({ home, workspaceId, rows, here, nowMs }),
  }
}
