// `convohouse up`: runs on the configured Temporal server, else on its own dev server, else without Temporal.

import type { Config } from '../../config.ts'
import { type ConvohouseError, EXIT_CODES, isCode } from '../../core/errors.ts'
import { durationText, SECOND } from '../../core/time.ts'
import { restrictUmask } from '../../files/durable.ts'
import { listenForScrapes } from '../../metrics/listen.ts'
import type { ProcessMetrics } from '../../metrics/process-metrics.ts'
import { supervise } from '../../run/supervision/supervisor.ts'
import { isTemporalConfigured } from '../../run/temporal/client/connection.ts'
import { provideTemporal } from '../../run/temporal/server/temporal-cli.ts'
import { findHolder } from '../doctor/warehouse.ts'
import { configAt } from '../flags/configuration.ts'
import {
  CLOSE_MS,
  hasWebhooks,
  type OpenedReceiver,
  openReceiver,
  rereadSecretsOnSighup,
  waitsForText,
} from '../receive/receive.ts'
import { listenAnywhere, metricsOf } from '../serve-metrics.ts'
import { log, stampLines } from '../terminal/print.ts'
import { stopOnSignals } from '../terminal/signals.ts'
import type { UpFlags } from './on-temporal.ts'

/** The shortest interval of all schedules. For a workspace without a schedule, or with a cron expression, the flag's interval counts. */
const shortest = ({ workspaces }: Config, everyMs: number): number =>
  Math.min(...workspaces.map(({ schedule }) => (schedule && 'everyMs' in schedule ? schedule.everyMs : everyMs)))

interface UpContext {
  flags: UpFlags
  config: Config
  metrics: ProcessMetrics
}

async function withoutTemporal({ flags, config }: UpContext, why: ConvohouseError): Promise<number> {
  const watch = shortest(config, flags.every)
  log(`Syncing every ${durationText(watch)} without Temporal. ${why.message}`)
  const named = flags.config === undefined ? [] : ['--config', flags.config]
  const args = ['sync', '--watch', `${watch / SECOND}s`, '--yes', '--supervised', ...named]
  restrictUmask()
  const supervisor = supervise({ entry: process.argv[1]!, args, sharesTerminal: true, endsByItself: true, remark: log })
  const stop = stopOnSignals()
  for (const signal of [stop.stopping, stop.aborted]) signal.addEventListener('abort', supervisor.stop, { once: true })
  const code = await supervisor.ended.finally(stop.release)
  return code === EXIT_CODES.interrupted ? EXIT_CODES.ok : code
}

/** The Temporal CLI; null if a server is configured. @throws TEMPORAL_MISSING */
const commandForServer = async (): Promise<string | null> => (isTemporalConfigured() ? null : provideTemporal({ log }))

/** Runs until it is stopped; returns the exit code. @throws CONFIG_INVALID, CONFIG_MISSING, HOME_UNUSABLE, ADDRESS_IN_USE, WAREHOUSE_LOCKED, TEMPORAL_UNREACHABLE */
export async function runUp(flags: UpFlags): Promise<number> {
  stampLines()
  const config = configAt(flags.config)
  const up = { flags, config, metrics: metricsOf(config, 'up') }
  return hasWebhooks(config) ? receiving(up) : measured(up, null)
}

const logReceiver = (receiver: OpenedReceiver): void =>
  log(`Listening for webhooks of ${waitsForText(receiver)} at ${receiver.url}/webhooks.`)

/** Reports a second `up` as WAREHOUSE_LOCKED, since its occupied port is only a symptom. @throws WAREHOUSE_LOCKED, ADDRESS_IN_USE */
async function listening<T>(config: Config, listen: () => Promise<T>): Promise<T> {
  try {
    return await listen()
  } catch (error) {
    if (!isCode(error, 'ADDRESS_IN_USE')) throw error
    const holding = await findHolder(config)
    throw holding.state === 'held' ? holding.error : error
  }
}

/** Opens the receiver first and closes it last: the vendor does not resend events that arrive while it is closed. */
async function receiving(up: UpContext): Promise<number> {
  const { flags, config, metrics } = up
  const receiver = await listening(config, () => openReceiver(config, metrics.page))
  const stopRereading = rereadSecretsOnSighup({
    receiver: () => receiver,
    readConfig: () => configAt(flags.config),
    announce: logReceiver,
  })
  logReceiver(receiver)
  try {
    return await measured(up, receiver)
  } finally {
    await receiver.closeWithin(CLOSE_MS)
    stopRereading()
  }
}

/** Serves metrics. A receiver already serves them, so a second address is opened only if one is given. */
async function measured(up: UpContext, receiver: OpenedReceiver | null): Promise<number> {
  const { flags, config, metrics } = up
  const at = flags.metrics ?? config.metrics
  if (at === null && receiver !== null) return runSyncs(up, `${receiver.url}/metrics`)
  const listener = await listening(config, () =>
    at === null ? listenAnywhere(metrics.page) : listenForScrapes(metrics.page, at),
  )
  try {
    return await runSyncs(up, listener.url)
  } finally {
    await listener.close()
  }
}

async function runSyncs(up: UpContext, metricsUrl: string): Promise<number> {
  let command: string | null
  try {
    command = await commandForServer()
  } catch (error) {
    if (!isCode(error, 'TEMPORAL_MISSING')) throw error
    log(`Metrics at ${metricsUrl}.`)
    return withoutTemporal(up, error)
  }
  const { upOnTemporal } = await import('./on-temporal.ts')
  return upOnTemporal({ ...up, command, metricsUrl })
}
