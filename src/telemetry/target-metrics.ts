// The state of publications, checks and models for Prometheus. Labels are names of targets, our own names, and error codes.
import { Counter, Gauge, type Registry } from 'prom-client'
import type { TargetConfig } from '../config/targets.ts'
import { SECOND } from '../core/time.ts'
import { type TargetStatus, targetStatuses } from '../reports/publications.ts'
import { storedResults } from '../warehouse/checks/results.ts'
import { iso } from '../warehouse/connection.ts'
import { MODEL_OUTCOMES, type ModelOutcome, storedModels } from '../warehouse/models/stored-models.ts'
import type { Rows } from '../warehouse/query/rows.ts'
import { latest, STATE } from './latest.ts'
import { type Described, mapped, set } from './page.ts'

interface TargetMetricsOptions {
  registry: Registry
  targets: readonly TargetConfig[]
  rows: Rows
  now: () => number
}

const SEVERITIES = ['error', 'warn']
const OUTCOMES = ['passed', 'failed', 'broken', 'timeout']

interface NewFailures {
  target: string
  code: string
  failures: number
  last: string
}

export class TargetMetrics {
  private readonly options: TargetMetricsOptions
  private readonly gauges: Record<GaugeName, Gauge>
  private readonly failures: Counter
  private readonly statuses: () => Promise<TargetStatus[] | null>
  private readonly checks: () => Promise<{ severity: string; outcome: string }[] | null>
  private readonly models: () => Promise<{ outcome: ModelOutcome }[] | null>
  private readonly countFailures: () => Promise<unknown>

  constructor(options: TargetMetricsOptions) {
    this.options = options
    const { registry, targets, rows, now } = options
    const registers = [registry]
    this.gauges = mapped(GAUGES, ([name, help, ...labelNames]) => new Gauge({ name, help, labelNames, registers }))
    const [name, help, ...labelNames] = FAILURES
    this.failures = new Counter({ name, help, labelNames, registers })
    this.statuses = latest({ ...STATE, read: () => targetStatuses(rows, targets, now()) })
    this.checks = latest({ ...STATE, read: () => storedResults({ rows }) })
    this.models = latest({ ...STATE, read: () => storedModels({ rows }) })
    this.countFailures = latest({ ...STATE, read: this.failureReader() })
  }

  /** Updates every series; unknown values are omitted. */
  async refresh(): Promise<void> {
    const { targets } = this.options
    const read = [this.statuses(), this.checks(), this.models(), this.countFailures()] as const
    const [statuses, checks, models] = await Promise.all(read)
    for (const gauge of Object.values(this.gauges)) gauge.reset()
    for (const { name: target, type } of targets) this.gauges.target.set({ target, type }, 1)
    for (const status of statuses ?? []) this.setTarget(status)
    if (models)
      for (const outcome of MODEL_OUTCOMES)
        this.gauges.models.set({ outcome }, models.filter(model => model.outcome === outcome).length)
    if (!checks) return
    for (const severity of SEVERITIES)
      for (const outcome of OUTCOMES) {
        const these = checks.filter(check => check.severity === severity && check.outcome === outcome)
        this.gauges.checks.set({ severity, outcome }, these.length)
      }
  }

  /** Counts the failures since the process began: the warehouse drops old ones, but a counter must not decrease. */
  private failureReader(): () => Promise<void> {
    const { rows, now, targets } = this.options
    const known = new Set(targets.map(({ name }) => name))
    let countedTo = iso(now())
    return async () => {
      const found =
        await rows<NewFailures>(`SELECT target, error_code AS code, count(*) AS failures, max(ended_at)::VARCHAR AS last
        FROM _publications WHERE error IS NOT NULL AND ended_at > TIMESTAMPTZ '${countedTo}' GROUP BY target, error_code`)
      for (const { target, code, failures, last } of found) {
        if (known.has(target)) this.failures.inc({ target, code }, failures)
        if (last > countedTo.replace('T', ' ')) countedTo = last
      }
    }
  }

  private setTarget({ target, lagSeconds, behind, last, failure }: TargetStatus): void {
    const { gauges } = this
    set(gauges.lag, { target }, lagSeconds)
    set(gauges.behind, { target }, behind)
    if (failure) gauges.failing.set({ target, code: failure.code }, failure.attempts)
    if (!last) return
    const { endedAt, kind, rows, durationMs } = last
    gauges.success.set({ target }, Date.parse(endedAt) / SECOND)
    gauges.duration.set({ target, kind }, durationMs / SECOND)
    gauges.rows.set({ target, kind }, rows)
  }
}

const GAUGES = {
  target: ['convohouse_target_info', 'One for each configured target', 'target', 'type'],
  lag: ['convohouse_target_lag_seconds', 'How long the oldest change that the target lacks has waited', 'target'],
  behind: ['convohouse_target_changes_behind', 'Changed records that the target lacks', 'target'],
  success: [
    'convohouse_target_last_success_timestamp_seconds',
    'When the last publication with changes ended that succeeded',
    'target',
  ],
  duration: ['convohouse_target_last_duration_seconds', 'How long that publication took', 'target', 'kind'],
  rows: ['convohouse_target_last_rows', 'Rows that it wrote', 'target', 'kind'],
  failing: [
    'convohouse_target_failing_attempts',
    'Publications that have failed since the last success; absent while they succeed',
    'target',
    'code',
  ],
  checks: ['convohouse_checks', 'Checks of the tables by the outcome of their last run', 'severity', 'outcome'],
  models: ['convohouse_models', 'Models of the user by the outcome of the last attempt to build them', 'outcome'],
} as const satisfies Record<string, Described>

const FAILURES = [
  'convohouse_publication_failures_total',
  'Publications that have failed since this process began',
  'target',
  'code',
] as const satisfies Described

type GaugeName = keyof typeof GAUGES
