// The state of each workspace for Prometheus. Every long-running process reports all that it can know, from the data folder and, through
// the process that holds it, from the warehouse. Labels are workspace ids and our own names, never names of customers or the vendor.
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Config, WorkspaceConfig } from '../config.ts'
import { knownPerDay } from '../core/planning/estimate.ts'
import { SECOND } from '../core/time.ts'
import { bytesBelow, freeBytes, warehouseSize } from '../files/stored-bytes.ts'
import type { Landing } from '../landing/landing.ts'
import type { LeaseLog } from '../landing/lease-log.ts'
import { type QuotaForecast, type QuotaOutlook, quotaForecast } from '../reports/quota.ts'
import { type DrainFailure, readDrainFailure } from '../spool/drain-failure.ts'
import { spoolFolder } from '../spool/folders.ts'
import { countWaiting, type SpoolBacklog } from '../spool/waiting.ts'
import type { Params } from '../warehouse/connection.ts'
import { densityByAgent } from '../warehouse/planning/planner-queries.ts'
import type { Rows } from '../warehouse/query/rows.ts'
import { sqlFile, withLiterals } from '../warehouse/sql-files.ts'
import { warehouseFile } from '../warehouse/warehouse-file.ts'
import { latest, SLOW, STATE } from './latest.ts'
import { type Described, mapped, set } from './page.ts'

/** The stores of the data folder that metrics read. */
export interface MeasuredStores {
  landing: { workspace(workspaceId: string): Pick<Landing, 'storedBytes'> }
  leaseLog(options: { workspaceId: string; run: string }): Pick<LeaseLog, 'recent'>
}

interface WorkspaceMetricsOptions {
  registry: Registry
  config: Config
  stores: MeasuredStores
  rows: Rows
  now: () => number
}

interface WorkspaceSources {
  waiting: () => Promise<SpoolBacklog | null>
  draining: () => Promise<{ failure: DrainFailure | null } | null>
  quota: () => Promise<QuotaForecast | null>
  landingBytes: () => Promise<number | null>
  spoolBytes: () => Promise<number | null>
}

type Figures = Map<string, WorkspaceFigures>

export class WorkspaceMetrics {
  private readonly options: WorkspaceMetricsOptions
  private readonly figures: () => Promise<Figures | null>
  private readonly freeBytes: () => Promise<number | null>
  private readonly warehouseBytes: () => Promise<number | null>
  private readonly sources: ReadonlyMap<WorkspaceConfig, WorkspaceSources>
  private readonly gauges: Record<GaugeName, Gauge>
  private readonly counters: Record<CounterName, Counter>

  constructor(options: WorkspaceMetricsOptions) {
    this.options = options
    const { config, registry } = options
    const { home } = config
    const registers = [registry]
    this.gauges = mapped(GAUGES, ([name, help, ...labelNames]) => new Gauge({ name, help, labelNames, registers }))
    this.counters = mapped(
      COUNTERS,
      ([name, help, ...labelNames]) => new Counter({ name, help, labelNames, registers }),
    )
    this.figures = latest({ ...STATE, read: () => workspaceFigures(options.rows) })
    this.freeBytes = latest({ ...STATE, read: () => freeBytes(home) })
    this.warehouseBytes = latest({ ...STATE, read: () => warehouseSize(warehouseFile(home)) })
    this.sources = new Map(config.workspaces.map(workspace => [workspace, this.sourcesOf(workspace)]))
  }

  /** Updates every series; unknown values are omitted. */
  async refresh(): Promise<void> {
    const { config } = this.options
    const [figures, freeBytes, warehouseBytes, ...each] = await Promise.all([
      this.figures(),
      this.freeBytes(),
      this.warehouseBytes(),
      ...config.workspaces.map(workspace => this.ask(workspace)),
    ])
    for (const metric of [...Object.values(this.gauges), ...Object.values(this.counters)]) metric.reset()
    set(this.gauges.diskFree, {}, freeBytes)
    set(this.gauges.stored, { store: 'warehouse' }, warehouseBytes)
    for (const [at, workspace] of config.workspaces.entries()) {
      const labels = { workspace: workspace.id }
      this.gauges.workspace.set({ ...labels, webhooks: String(workspace.readWebhookSecrets !== null) }, 1)
      this.setSources(labels, each[at]!)
      if (figures) this.setFigures(labels, figures.get(workspace.id) ?? noFigures())
    }
  }

  private sourcesOf(workspace: WorkspaceConfig): WorkspaceSources {
    const { config, stores, now, rows } = this.options
    const { home } = config
    const workspaceId = workspace.id
    const outlook = latest({ ...SLOW, read: () => newConversations(rows, workspaceId, now()) })
    const landing = stores.landing.workspace(workspaceId)
    const leaseLog = stores.leaseLog({ workspaceId, run: 'metrics' })
    const spoolBytes = bytesBelow()
    const quota = async () => {
      const figures = (await this.figures())?.get(workspaceId)
      // Before the first sync, nothing is known about the number of new conversations.
      const known = figures?.lastSuccess === undefined ? null : await outlook()
      const question = { leaseLog, settings: workspace, nowMs: now() }
      return quotaForecast(question, known)
    }
    return {
      waiting: latest({ ...STATE, read: countWaiting(home, workspaceId) }),
      draining: latest({ ...STATE, read: async () => ({ failure: await readDrainFailure(home, workspaceId) }) }),
      quota: latest({ ...STATE, read: quota }),
      landingBytes: latest({ ...SLOW, read: () => landing.storedBytes() }),
      spoolBytes: latest({ ...SLOW, read: () => spoolBytes(spoolFolder(home, workspaceId)) }),
    }
  }

  private async ask(workspace: WorkspaceConfig) {
    const { waiting, draining, quota, landingBytes, spoolBytes } = this.sources.get(workspace)!
    const [waits, drains, left, landing, spool] = await Promise.all([
      waiting(),
      draining(),
      quota(),
      landingBytes(),
      spoolBytes(),
    ])
    return { waits, drains, left, landing, spool }
  }

  private setSources(labels: { workspace: string }, asked: Awaited<ReturnType<WorkspaceMetrics['ask']>>): void {
    const { waits, drains, left, landing, spool } = asked
    const { gauges, options } = this
    set(gauges.stored, { ...labels, store: 'landing' }, landing)
    set(gauges.stored, { ...labels, store: 'spool' }, spool)
    if (waits) {
      gauges.waiting.set(labels, waits.events)
      gauges.waitingAge.set(labels, waits.sinceMs === null ? 0 : Math.max(0, options.now() - waits.sinceMs) / SECOND)
    }
    if (drains?.failure) gauges.drainFailing.set({ ...labels, code: drains.failure.code }, drains.failure.attempts)
    if (!left) return
    const { rateLimit, quota, reserveForNewSessions, projectedSessions } = left
    gauges.requestsLeft.set(labels, rateLimit.requestsLeft)
    gauges.requestsLimit.set(labels, rateLimit.requestsPerHour)
    gauges.used.set(labels, quota.usedSessions)
    gauges.included.set(labels, quota.includedSessions)
    gauges.reserved.set(labels, reserveForNewSessions)
    set(gauges.projected, labels, projectedSessions)
    gauges.packs.set(labels, quota.overagePacks)
    gauges.quotaReported.set(labels, quota.reportedAtMs! / SECOND)
  }

  private setFigures(labels: { workspace: string }, figures: WorkspaceFigures): void {
    const { gauges, counters, options } = this
    if (figures.head !== undefined) gauges.headAge.set(labels, Math.max(0, options.now() / SECOND - figures.head))
    set(gauges.lastSuccess, labels, figures.lastSuccess ?? null)
    gauges.quarantined.set(labels, figures.quarantined)
    gauges.issues.set(labels, figures.issues)
    counters.eventsApplied.inc(labels, figures.eventsApplied)
    for (const [outcome, runs] of figures.runs) counters.runs.inc({ ...labels, outcome }, runs)
    for (const [code, runs] of figures.runErrors) counters.runErrors.inc({ ...labels, code }, runs)
  }
}

const GAUGES = {
  workspace: ['convohouse_workspace_info', 'One for each configured workspace', 'workspace', 'webhooks'],
  headAge: ['convohouse_head_age_seconds', 'End of the coverage of the least current agent', 'workspace'],
  lastSuccess: ['convohouse_last_success_timestamp_seconds', 'When the last sync ended that succeeded', 'workspace'],
  used: ['convohouse_quota_used_sessions', 'Billable sessions used in the billing period', 'workspace'],
  included: ['convohouse_quota_included_sessions', 'Billable sessions that the billing period includes', 'workspace'],
  reserved: ['convohouse_quota_reserved_sessions', 'Sessions that history leaves to new conversations', 'workspace'],
  projected: [
    'convohouse_quota_projected_sessions',
    'Sessions used at the end of the period if only new conversations are exported',
    'workspace',
  ],
  packs: ['convohouse_quota_overage_packs', 'Packs of overage that the vendor has reported', 'workspace'],
  quotaReported: [
    'convohouse_quota_reported_timestamp_seconds',
    'When the vendor last reported the quota',
    'workspace',
  ],
  requestsLeft: ['convohouse_requests_left', 'Requests left of the rate limit', 'workspace'],
  requestsLimit: ['convohouse_requests_limit', 'Requests of the rate limit, per hour', 'workspace'],
  quarantined: ['convohouse_quarantined_records', 'Records that could not be loaded', 'workspace'],
  issues: ['convohouse_data_issues', 'Values that did not fit their columns', 'workspace'],
  waiting: ['convohouse_events_waiting', 'Webhook events in the spool that are not applied yet', 'workspace'],
  waitingAge: [
    'convohouse_events_waiting_seconds',
    'How long the oldest of them has waited; 0 where none does',
    'workspace',
  ],
  drainFailing: [
    'convohouse_events_failing_attempts',
    'How often applying events has failed since it last succeeded, by error code; absent while it does not fail',
    'workspace',
    'code',
  ],
  stored: [
    'convohouse_stored_bytes',
    'Bytes on disk: landing and spool by workspace, and the warehouse of all',
    'workspace',
    'store',
  ],
  diskFree: ['convohouse_disk_free_bytes', 'Bytes free on the disk of the data folder'],
} as const satisfies Record<string, Described>

const COUNTERS = {
  eventsApplied: ['convohouse_events_applied_total', 'Webhook events in the warehouse', 'workspace'],
  runs: ['convohouse_runs_total', 'Syncs that have ended, by outcome', 'workspace', 'outcome'],
  runErrors: ['convohouse_run_errors_total', 'Syncs that have ended with an error, by its code', 'workspace', 'code'],
} as const satisfies Record<string, Described>

type GaugeName = keyof typeof GAUGES
type CounterName = keyof typeof COUNTERS

/** Figures, named as in sql/reports/figures.sql; a figure without rows is missing. */
interface WorkspaceFigures {
  /** End of the coverage of the agent whose coverage ends first, seconds since the epoch. */
  head?: number
  /** End of the last successful run, seconds since the epoch. */
  lastSuccess?: number
  quarantined: number
  issues: number
  eventsApplied: number
  /** Number of runs by outcome. */
  runs: Map<string, number>
  /** Number of ended runs with an error, by error code. */
  runErrors: Map<string, number>
}

interface FigureRow {
  workspaceId: string
  figure: 'head' | 'lastSuccess' | 'quarantined' | 'issues' | 'eventsApplied' | 'runs' | 'runErrors'
  label: string
  value: number
}

const noFigures = (): WorkspaceFigures => ({
  quarantined: 0,
  issues: 0,
  eventsApplied: 0,
  runs: new Map(),
  runErrors: new Map(),
})

/** Figures by workspace id. */
async function workspaceFigures(rows: Rows): Promise<Map<string, WorkspaceFigures>> {
  const found = new Map<string, WorkspaceFigures>()
  for (const { workspaceId, figure, label, value } of await rows<FigureRow>(sqlFile('reports/figures'))) {
    const figures = found.get(workspaceId) ?? noFigures()
    found.set(workspaceId, figures)
    if (figure === 'runs' || figure === 'runErrors') figures[figure].set(label, value)
    else figures[figure] = value
  }
  return found
}

/** Returns the sessions that new conversations are expected to use. Reads the conversations of the last weeks, so call it rarely. */
async function newConversations(rows: Rows, workspaceId: string, nowMs: number): Promise<QuotaOutlook> {
  const reader = { rows: <R>(sql: string, params: Params = {}) => rows<R>(withLiterals(sql, params)) }
  const densities = await densityByAgent(reader, workspaceId, nowMs)
  return { knownPerDay: knownPerDay([...densities.values()]) }
}
