// `convohouse up`: runs on the configured Temporal server, else on its own dev server, else without Temporal.
import { type Command, Option } from 'commander'
import type { Config } from '../../config.ts'
import { EXIT_CODES, isCode } from '../../core/errors.ts'
import { durationText, MINUTE, SECOND } from '../../core/time.ts'
import { isTemporalConfigured } from '../../run/temporal/client/connection.ts'
import { findTemporal } from '../../run/temporal/server/dev-server.ts'
import { listenForScrapes, type MetricsListener } from '../../telemetry/listen.ts'
import type { MetricsPage } from '../../telemetry/page.ts'
import { configArgs, configAt } from '../flags/configuration.ts'
import { addConfigFlag } from '../flags/sync-flags.ts'
import { duration, metricsAddress, whole } from '../flags/values.ts'
import { metricsOf } from '../open-app.ts'
import {
  CLOSE_MS,
  hasWebhooks,
  type OpenedReceiver,
  openReceiver,
  rereadSecretsOnSighup,
  waitsForText,
} from '../receive.ts'
import { superviseSync } from '../sync/watch.ts'
import { log, stampLines } from '../terminal/print.ts'
import type { UpFlags } from './on-temporal.ts'
import { besideServe } from './serving.ts'

export const define = (command: Command): Command =>
  addConfigFlag(command)
    .addOption(
      new Option('--every <duration>', 'sync interval of workspaces without a configured schedule')
        .argParser(duration('--every', { min: 10 * SECOND }))
        .default(15 * MINUTE, '15m'),
    )
    .option(
      '--port <n>',
      'port of the Temporal server that it starts (default: 7233, or a free one)',
      whole('--port', 1, 65_535),
    )
    .option('--ui-port <n>', "port of that server's UI (default: 8233, or a free one)", whole('--ui-port', 1, 65_535))
    .option(
      '--telemetry <host:port>',
      'address of the metrics for Prometheus (default: as configured, else that of the webhook receiver, else 127.0.0.1:9464 or a free port)',
      metricsAddress,
    )
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse up                            sync every workspace on its schedule, else every 15 minutes
  $ convohouse up --every 1h
  $ TEMPORAL_ADDRESS=temporal:7233 convohouse up      worker and schedules with an existing server

Without TEMPORAL_ADDRESS (or a Temporal profile file that sets an address) it starts its own server, which keeps its data in temporal.db
in the data folder. It needs the Temporal CLI on the PATH (https://docs.temporal.io/cli). Without it, syncs run without Temporal, as with \`convohouse sync --watch\`.
A first backfill starts without asking for confirmation, once its price is printed: run \`convohouse plan\` first. If a workspace has a
webhook secret, it also receives the vendor's webhooks, as \`convohouse receive\` does. With \`serve\` in the configuration, it also serves figures.
After Ctrl-C, requests in flight still land and every process that it started ends; the next \`convohouse up\` continues where this one stopped.`,
    )
    .action(async (flags: UpFlags) => {
      process.exitCode = await runUp(flags)
    })

/** Returns the shortest interval of all schedules; the flag's interval for those without a schedule or with a cron expression. */
const shortest = ({ workspaces }: Config, everyMs: number): number =>
  Math.min(...workspaces.map(({ schedule }) => (schedule && 'everyMs' in schedule ? schedule.everyMs : everyMs)))

interface UpContext {
  flags: UpFlags
  config: Config
  metrics: MetricsPage
}

async function withoutTemporal({ flags, config }: UpContext): Promise<number> {
  const watch = shortest(config, flags.every)
  log(
    `Syncing every ${durationText(watch)} without Temporal, whose CLI is not on the PATH. To have its server and UI, install it (https://docs.temporal.io/cli).`,
  )
  const code = await superviseSync(['sync', '--watch', `${watch / SECOND}s`, '--yes', ...configArgs(flags.config)])
  return code === EXIT_CODES.interrupted ? EXIT_CODES.ok : code
}

/** Runs until it is stopped; returns the exit code. @throws CONFIG_INVALID, CONFIG_MISSING, HOME_UNUSABLE, ADDRESS_IN_USE, WAREHOUSE_LOCKED, TEMPORAL_UNREACHABLE */
async function runUp(flags: UpFlags): Promise<number> {
  stampLines()
  const config = configAt(flags.config)
  const up = { flags, config, metrics: metricsOf(config, 'up') }
  return besideServe(config, flags.config, () => (hasWebhooks(config) ? receiving(up) : measured(up, null)))
}

const logReceiver = (receiver: OpenedReceiver): void =>
  log(`Listening for webhooks of ${waitsForText(receiver)} at ${receiver.url}/webhooks.`)

/** Opens the receiver first and closes it last: the vendor does not resend events that arrive while it is closed. */
async function receiving(up: UpContext): Promise<number> {
  const { flags, config, metrics } = up
  const receiver = await openReceiver(config, metrics)
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

/** Usual address of the Temporal SDK's metrics, where scrapers look first. */
const DEFAULT_ADDRESS = { host: '127.0.0.1', port: 9_464 }

/** Listens on the default port, else on a free one. */
async function listenAnywhere(page: MetricsPage): Promise<MetricsListener> {
  try {
    return await listenForScrapes(page, DEFAULT_ADDRESS)
  } catch (error) {
    if (!isCode(error, 'ADDRESS_IN_USE')) throw error
    return listenForScrapes(page, { ...DEFAULT_ADDRESS, port: 0 })
  }
}

/** Serves metrics. A receiver already serves them, so a second address is opened only if one is given. */
async function measured(up: UpContext, receiver: OpenedReceiver | null): Promise<number> {
  const { flags, config, metrics } = up
  const at = flags.telemetry ?? config.telemetry
  if (at === null && receiver !== null) return runSyncs(up, `${receiver.url}/metrics`)
  const listener = at === null ? await listenAnywhere(metrics) : await listenForScrapes(metrics, at)
  try {
    return await runSyncs(up, listener.url)
  } finally {
    await listener.close()
  }
}

async function runSyncs(up: UpContext, metricsUrl: string): Promise<number> {
  const command = isTemporalConfigured() ? null : await findTemporal()
  if (command === null && !isTemporalConfigured()) {
    log(`Metrics at ${metricsUrl}.`)
    return withoutTemporal(up)
  }
  const { upOnTemporal } = await import('./on-temporal.ts')
  return upOnTemporal({ ...up, command, metricsUrl })
}
