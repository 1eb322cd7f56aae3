// The metrics of one long-running process: its identity and the state of workspaces and targets.
import { Gauge } from 'prom-client'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { SECOND } from '../core/time.ts'
import { rowsOfHolder } from '../warehouse/query/rows.ts'
import { MetricsPage } from './page.ts'
import { TargetMetrics } from './target-metrics.ts'
import { type MeasuredStores, WorkspaceMetrics } from './workspace-metrics.ts'

/** The kind of process. */
export type ProcessRole = 'up' | 'watch' | 'receive' | 'worker-all' | 'worker-warehouse' | 'worker-export'

/** A query takes milliseconds. If the warehouse is busy for longer, the previous values are used. */
const LIMITS = { timeoutMs: 10 * SECOND }

/** Returns the page of a process's metrics. They ask the process that holds the warehouse. */
export function processMetrics(options: {
  config: Config
  stores: MeasuredStores
  role: ProcessRole
  version: string
}): MetricsPage {
  const { config, stores, role, version } = options
  const page = new MetricsPage()
  const { registry } = page
  new Gauge({
    name: 'convohouse_process_info',
    help: 'One for each process, by what it is for',
    labelNames: ['role', 'version'],
    registers: [registry],
  }).set({ role, version }, 1)
  new Gauge({
    name: 'convohouse_process_start_timestamp_seconds',
    help: 'When the process began',
    registers: [registry],
  }).set((Date.now() - performance.now()) / SECOND)
  const rows = rowsOfHolder(config.home, LIMITS)
  const workspaces = new WorkspaceMetrics({ registry, config, stores, rows, now: systemClock.now })
  const targets = new TargetMetrics({ registry, targets: config.targets, rows, now: systemClock.now })
  page.beforeAnswer(() => workspaces.refresh())
  page.beforeAnswer(() => targets.refresh())
  return page
}
