// The metrics of a command that runs for long, and where they are served.
import { openStores } from '../app/stores.ts'
import type { App } from '../app.ts'
import type { Config } from '../config.ts'
import { isCode } from '../core/errors.ts'
import { listenForScrapes, type MetricsListener } from '../metrics/listen.ts'
import type { MetricsPage } from '../metrics/page.ts'
import { type ProcessMetrics, type ProcessRole, processMetrics } from '../metrics/process-metrics.ts'
import { packageFacts } from './package-facts.ts'
import { openAppWhenReleased } from './sync/open-app.ts'

/** Where those look first who collect metrics of Temporal's SDK. */
const USUAL = { host: '127.0.0.1', port: 9_464 }

export const metricsOf = (config: Config, role: ProcessRole): ProcessMetrics =>
  processMetrics({ config, stores: openStores(config.home), role, version: packageFacts().version })

/** At the usual port of this machine, or at a free one. */
export async function listenAnywhere(page: MetricsPage): Promise<MetricsListener> {
  try {
    return await listenForScrapes(page, USUAL)
  } catch (error) {
    if (!isCode(error, 'ADDRESS_IN_USE')) throw error
    return listenForScrapes(page, { ...USUAL, port: 0 })
  }
}

/** The warehouse, which metrics ask as long as it is open. @throws as `openAppWhenReleased` */
export async function openMeasuredApp(config: Config, metrics: ProcessMetrics): Promise<App> {
  const app = await openAppWhenReleased(config)
  const askNoMore = metrics.askHere(app.warehouse.instance)
  return { ...app, close: () => askNoMore().then(app.close) }
}
