import { Command, Option } from 'commander'
import { MINUTE, SECOND } from '../../core/time.ts'
import { addConfigFlag } from '../flags/sync-flags.ts'
import { duration, metricsAddress, whole } from '../flags/values.ts'
import type { UpFlags } from '../up/on-temporal.ts'

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
    .option('--port <n>', 'port of its Temporal server (default: 7233, or a free one)', whole('--port', 1, 65_535))
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
  $ convohouse up                            every workspace by its schedule, else every 15 minutes
  $ convohouse up --every 1h
  $ TEMPORAL_ADDRESS=temporal:7233 convohouse up      a worker and the schedules, with an existing server

Without TEMPORAL_ADDRESS (or a profile file of Temporal's that names one) it starts a server of its own, which keeps everything in
temporal.db in the data folder. The Temporal CLI is taken from the PATH, else downloaded. Where it cannot
be downloaded, the syncs run without Temporal, as \`convohouse sync --watch\` does. It asks nobody before a first backfill; look at \`convohouse plan\` first.
Where a workspace has a webhook secret, it takes the vendor's webhooks in as well, as \`convohouse receive\` does.
Ctrl-C lets what is under way land and ends all that it started; the next \`convohouse up\` goes on there.`,
    )
    .action(async (flags: UpFlags) => {
      const { runUp } = await import('../up/up.ts')
      process.exitCode = await runUp(flags)
    })
