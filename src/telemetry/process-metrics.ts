// The metrics of one long-running process: its identity and the state of workspaces and targets.
import { Gauge } from 'prom-client'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { SECOND } from '../core/time.ts'
import type { Connectable } from '../warehouse/connection.ts'
import { type Rows, rowsHere, rowsOfHolder } from '../warehouse/query/rows.ts'
import { MetricsPage } from './page.ts'
import { TargetMetrics } from './target-metrics.ts'
import { type MeasuredStores, WorkspaceMetrics } from './workspace-metrics.ts'

/** The kind of process. */
export type ProcessRole = 'up' | 'watch' | 'receive' | 'worker-all' | 'worker-warehouse' | 'worker-export'

export interface ProcessMetrics {
  page: MetricsPage
  /**
   * From now on the metrics query the warehouse in this process, which holds it, instead of over the socket. Call the returned function
   * before the warehouse is closed; it resolves when no query is running any more.
   */
  askHere(instance: Connectable): () => Promise<void>
}

/** A query takes milliseconds. If the warehouse is busy for longer, the previous values are used. */
const LIMITS = { timeoutMs: 10 * SECOND }

export function processMetrics(options: {
  config: Config
  stores: MeasuredStores
  role: ProcessRole
  version: string
}): ProcessMetrics {
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
  const byOthers = rowsOfHolder(config.home, LIMITS)
  let rows: Rows = byOthers
  const workspaces = new WorkspaceMetrics({ registry, config, stores, rows: () => rows, now: systemClock.now })
  const targets = new TargetMetrics({ registry, targets: config.targets, rows: () => rows, now: systemClock.now })
  page.beforeAnswer(() => workspaces.refresh())
  page.beforeAnswer(() => targets.refresh())
  return {
    page,
    askHere(instance) {
      const ending = new AbortController()
      const asked = new Set<Promise<unknown>>()
      const here = rowsHere(instance, { ...LIMITS, signal: ending.signal })
      rows = <R>(sql: string) => {
        const answer = here<R>(sql)
        const settled: Promise<unknown> = answer.catch(() => {}).then(() => asked.delete(settled))
        asked.add(settled)
        return answer
      }
      return async () => {
        rows = byOthers
        ending.abort()
        await Promise.all(asked)
      }
    },
  }
}
