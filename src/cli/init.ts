// `convohouse init`: writes a commented configuration.
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { CONFIG_FILE } from '../config.ts'
import { ConvohouseError } from '../core/errors.ts'
import { print } from './terminal/print.ts'

const NEXT = [
  'Next:',
  '  1. Enter the id and the API address of your workspace.',
  '  2. export CONVOHOUSE_API_TOKEN=…   (the secret key of the workspace)',
  '  3. convohouse plan                 shows what a sync would read; it costs no session',
  '  4. convohouse sync',
]

function failure(file: string, cause: NodeJS.ErrnoException): ConvohouseError {
  if (cause.code === 'EEXIST') {
    return new ConvohouseError('CONFIG_EXISTS', {
      what: `${file} already exists.`,
      hint: 'Edit it, or overwrite it with --force.',
    })
  }
  return new ConvohouseError('HOME_UNUSABLE', {
    what: `${file} cannot be written (${cause.code ?? cause.message}).`,
    hint: 'Run it in a folder that you may write to.',
    cause,
  })
}

/** @throws CONFIG_EXISTS, HOME_UNUSABLE */
export async function runInit({ force }: { force?: boolean }): Promise<void> {
  const file = resolve(CONFIG_FILE)
  await writeFile(file, CONFIG_TEMPLATE, { flag: force ? 'w' : 'wx' }).catch(cause => {
    throw failure(file, cause)
  })
  print(`Wrote ${file}`, '', ...NEXT)
}

/** Every setting with its default. A test reads it with `readConfig`. */
export const CONFIG_TEMPLATE = `# Configuration of convohouse. Settings that begin with # have that value unless you change it.
# Durations are written 90s, 15m, 2h or 1d.

# The data folder: raw pages as they came, and the warehouse. A relative path counts from this file.
# CONVOHOUSE_HOME, where it is set, wins.
# home: convohouse-data

# Memory that DuckDB may take; a sync takes some 650 MB beside it. A replay may take more, and is faster with it; without
# replayMemoryLimit, memoryLimit holds for both where it is set.
# Above a million conversations it may take 180 MB more for each further million, to know what is replaced.
# memoryLimit: 448MB
# replayMemoryLimit: 1GB

# Threads that it may use (default: all that the machine has).
# threads: 4

# For workers of Temporal: the prefix of their task queues, and how long a lease may be used before another worker may go on
# from where it ended. Where Temporal is, its own variables say (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, …).
# temporal: { queues: convohouse, lease: 2m }

# Where the receiver of webhooks listens, the largest body that it takes, and from how many connections at once.
# webhooks: { host: 127.0.0.1, port: 8787, maxBody: 8MB, maxConnections: 1000 }

# Where workers, \`sync --watch\` and \`up\` serve metrics for Prometheus; --metrics says otherwise for one of them. Without it, \`up\`
# serves them at 127.0.0.1:9464 or a free port, and the others where --metrics says. A receiver serves them itself.
# metrics: 127.0.0.1:9464

workspaces:
  # One entry for each workspace. Its id is part of every key in the warehouse.
  - id: my-workspace

    # Address of the API, without /v3.
    apiUrl: https://api.example.com

    # Where the token is kept; never the token itself. A variable, or a file (mode 0600) with the token as its only line:
    #   token: { file: ./my-workspace.token }
    token: { env: CONVOHOUSE_API_TOKEN }

    # The secret that the vendor puts into the workspace's webhooks, kept like the token. While it is exchanged there may be two.
    # webhooks: { secrets: [{ env: CONVOHOUSE_WEBHOOK_SECRET }] }

    # How far back to read: a date, or an age such as 90d. Without it everything there is.
    # since: 90d

    # Organizations whose names and teams are asked for, beside those that conversations name: ids. (The vendor has no list of them.)
    # organizations: []

    # When Temporal syncs it by itself, once \`convohouse schedule ensure\` has told it: every so often, or by a cron expression in UTC
    # ({ cron: "0 * * * *" }); each time later by up to jitter.
    # schedule: { every: 15m, jitter: 30s }

    # How long a conversation's time must have passed before its second is read. Longer pays for most
    # conversations once; shorter has them sooner.
    # settle: 2m

    # How late the mirror that the export reads from may be.
    # mirrorLag: 2m

    # The time zone whose days are the days of reports.
    # timeZone: UTC

    # Export requests an hour, until the vendor tells another number.
    # requestsPerHour: 1500

    # Length of that hour. Only a sandbox has another one.
    # hour: 1h

    # Share of the hour's requests that a sync leaves for people and other tools (0 to 0.9).
    # hourReserve: 0.02

    # Least share of the period's sessions that history leaves for conversations to come (0 to 0.9).
    # headReserve: 0.1

    # How long a conversation that has changed is left alone before it is bought again, once.
    # quiet: 24h

    # Which changes that is for: "change", any; "message", only where something was written since it was exported, or no event
    # told what has changed. Fewer sessions are bought, and columns that only an export has stay as they were.
    # refreshOn: change

    # The export skips conversations in which no person has written yet. Stretches of time that skipped some are read
    # again, within so many days and for at most this share of the period's sessions (0 to 0.9; 0: never).
    # rereadHorizon: 7d
    # rereadShare: 0.02

    # A few conversations at random are bought again each week, to learn how stale the rest is: for at most this share of
    # the period's sessions (0: never).
    # sampleShare: 0.002

    # Conversations a page, 1 to 100. Fewer cost more requests.
    # pageSize: 100

    # How long one request may take.
    # timeout: 60s
`
