// The metrics of a command that runs for long, and where they are served.
import type { House } from '../../app.ts'
import type { Config } from '../../config.ts'
import { isCode } from '../../core/errors.ts'
import { listenForScrapes, type MetricsListener } from '../../metrics/listen.ts'
import type { MetricsPage } from '../../metrics/page.ts'
import { type ProcessMetrics, type ProcessRole, processMetrics } from '../../metrics/process-metrics.ts'
import { packageFacts } from '../package-facts.ts'
import { openHouseSoon } from '../sync/open-house.ts'

/** Where those look first who collect metrics of Temporal's SDK. */
const USUAL = { host: '127.0.0.1', port: 9_464 }

export const metricsOf = (config: Config, role: ProcessRole): ProcessMetrics =>
  processMetrics({ config, role, version: packageFacts().version })

/** At the usual port of this machine, or at a free one. */
export async function listenAnywhere(page: MetricsPage): Promise<MetricsListener> {
  try {
    return await listenForScrapes(page, USUAL)
  } catch (error) {
    if (!isCode(error, 'ADDRESS_IN_USE')) throw error
    return listenForScrapes(page, { ...USUAL, port: 0 })
  }
}

/** The warehouse, which metrics ask as long as it is open. @throws as `openHouseSoon` */
export async function openMeasuredHouse(config: Config, metrics: ProcessMetrics): Promise<House> {
  const house = await openHouseSoon(config)
  const askNoMore = metrics.askHere(house.warehouse.instance)
  return { ...house, close: () => askNoMore().then(house.close) }
}
