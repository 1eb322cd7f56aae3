// The metrics of one process that lives long: which it is, and how the workspaces are.
import { Gauge } from 'prom-client'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { SECOND } from '../core/time.ts'
import type { Connectable } from '../warehouse/connection.ts'
import { type Rows, rowsHere, rowsOfHolder } from '../warehouse/query/rows.ts'
import { MetricsPage } from './page.ts'
import { WorkspaceMetrics } from './workspace-metrics.ts'

/** What the process is for. */
export type ProcessRole = 'up' | 'watch' | 'receive' | 'worker-all' | 'worker-warehouse' | 'worker-export'

export interface ProcessMetrics {
  page: MetricsPage
  /**
   * From now on the warehouse is asked in this process, which holds it, and not as others ask, by the holder's socket. What is returned is to
   * be called before the warehouse is closed: it ends when none of its questions is under way any more.
   */
  askHere(instance: Connectable): () => Promise<void>
}

/** A question takes milliseconds, unless the warehouse is busy: then the answer before is told. */
const LIMITS = { timeoutMs: 10 * SECOND }

export function processMetrics(options: { config: Config; role: ProcessRole; version: string }): ProcessMetrics {
  const { config, role, version } = options
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
  const workspaces = new WorkspaceMetrics({ registry, config, rows: () => rows, now: systemClock.now })
  page.beforeAnswer(() => workspaces.refresh())
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
