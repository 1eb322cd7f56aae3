// Metrics of long-running commands, and their default address.
import { openStores } from '../app/stores.ts'
import type { Config } from '../config.ts'
import { isCode } from '../core/errors.ts'
import { listenForScrapes, type MetricsListener } from '../telemetry/listen.ts'
import type { MetricsPage } from '../telemetry/page.ts'
import { type ProcessMetrics, type ProcessRole, processMetrics } from '../telemetry/process-metrics.ts'
import { packageFacts } from './package-facts.ts'

/** Usual address of the Temporal SDK's metrics: scrapers look there first. */
const DEFAULT_ADDRESS = { host: '127.0.0.1', port: 9_464 }

export const metricsOf = (config: Config, role: ProcessRole): ProcessMetrics =>
  processMetrics({ config, stores: openStores(config.home), role, version: packageFacts().version })

/** Listens on the default port, else on a free one. */
export async function listenAnywhere(page: MetricsPage): Promise<MetricsListener> {
  try {
    return await listenForScrapes(page, DEFAULT_ADDRESS)
  } catch (error) {
    if (!isCode(error, 'ADDRESS_IN_USE')) throw error
    return listenForScrapes(page, { ...DEFAULT_ADDRESS, port: 0 })
  }
}
