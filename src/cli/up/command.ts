import { Command, Option } from 'commander'
import { MINUTE, SECOND } from '../../core/time.ts'
import { addConfigFlag } from '../flags/sync-flags.ts'
import { duration, metricsAddress, whole } from '../flags/values.ts'
import type { UpFlags } from './on-temporal.ts'

export const upCommand = (): Command =>
  addConfigFlag(
    new Command('up').description(
      'run everything in one process: a Temporal server, a worker and the schedules, until Ctrl-C',
    ),
  )
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
      '--metrics <host:port>',
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
in the data folder. It uses the Temporal CLI on the PATH, else downloads it. If the download fails, syncs run without Temporal, as with
\`convohouse sync --watch\`. A first backfill starts without asking for confirmation, once its price is printed: run \`convohouse plan\` first. If a workspace has a webhook secret,
it also receives the vendor's webhooks, as \`convohouse receive\` does.
After Ctrl-C, requests in flight still land and every process that it started ends; the next \`convohouse up\` continues where this one stopped.`,
    )
    .action(async (flags: UpFlags) => {
      const { runUp } = await import('./up.ts')
      process.exitCode = await runUp(flags)
    })
