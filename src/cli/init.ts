// `convohouse init`: writes a commented configuration.
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { notWritable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { print } from './terminal/print.ts'

export const define = (command: Command): Command =>
  command
    .option('-f, --force', 'overwrite an existing file')
    .option('--print', 'print it instead')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse init              every setting, with its meaning and default
  $ convohouse init --force      the same, replacing an existing file
  $ convohouse init --print      shows it beside a file that exists`,
    )
    .action(runInit)

const NEXT = [
  'Next:',
  '  1. Enter the id and the API address of your workspace in that file.',
  '  2. export CONVOHOUSE_API_TOKEN=…   (the secret key of the workspace)',
  '  3. convohouse plan                 shows what a sync would read; it costs no session',
  '  4. convohouse sync',
]

const exists = (file: string): ConvohouseError =>
  new ConvohouseError('CONFIG_EXISTS', {
    what: `${file} already exists.`,
    hint: 'Edit it (`convohouse init --print` shows every setting), or overwrite it with --force.',
  })

/** @throws CONFIG_EXISTS, HOME_UNUSABLE */
async function runInit({ force, print: isPrinted }: { force?: boolean; print?: boolean }): Promise<void> {
  if (isPrinted) return void process.stdout.write(CONFIG_TEMPLATE)
  const { CONFIG_FILE } = await import('../config.ts')
  const file = resolve(CONFIG_FILE)
  await writeFile(file, CONFIG_TEMPLATE, { flag: force ? 'w' : 'wx' }).catch(cause => {
    throw cause.code === 'EEXIST'
      ? exists(file)
      : notWritable('HOME_UNUSABLE', file, cause, 'Run `convohouse init` in a folder with write permission.')
  })
  print(`Wrote ${file}`, '', ...NEXT)
}

/** Every setting with its default. */
export const CONFIG_TEMPLATE = `# Configuration of convohouse. A setting that is commented out shows its default.
# Durations are written 90s, 15m, 2h or 1d.

# The data folder: raw pages and the warehouse. A relative path is relative to this file. CONVOHOUSE_HOME overrides it.
# home: convohouse-data

# Memory limit of DuckDB; a sync needs about 650 MB in addition. A replay is faster with more memory. If only memoryLimit is set, it
# applies to both. Above a million conversations, a load may need 180 MB more for each further million.
# memoryLimit: 640MB
# replayMemoryLimit: 1GB

# Threads of DuckDB (default: all of the machine).
# threads: 4

# For Temporal workers: the prefix of their task queues, and the duration of a lease, after which another worker may continue the
# work of one that disappeared. Temporal's own variables configure the server (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, …).
# temporal: { queues: convohouse, lease: 2m }

# The webhook receiver: its address, the largest body, and the largest number of concurrent connections.
# webhooks: { host: 127.0.0.1, port: 8787, maxBody: 8MB, maxConnections: 1000 }

# Address at which workers, \`sync --watch\` and \`up\` serve metrics for Prometheus; --telemetry overrides it. By default \`up\` uses
# 127.0.0.1:9464 or a free port, and the others serve none. A receiver serves metrics at its own address.
# telemetry: 127.0.0.1:9464

# Folder of your own checks: each .sql file is one SELECT that returns the rows that break a rule. \`convohouse check\` runs them.
# CONVOHOUSE_CHECKS overrides it.
# checks: ./checks

# Folder of your own models: each .sql file is one SELECT, whose rows become a table that is published with the marts. docs/models.md explains
# them. CONVOHOUSE_MODELS overrides it.
# models: ./models

# Folder of your own metrics: each .yaml file declares one over a mart, beside those of convohouse. docs/metrics.md explains them.
# metrics: ./metrics

# Folder of your own pages of the dashboard: each .yaml file is one. docs/dashboard.md explains them. CONVOHOUSE_PAGES overrides it.
# pages: ./pages

# Targets of publications, for dashboards and notebooks; by default nothing is published. docs/publishing.md explains \`pii\` (keep, hash or drop,
# by class) and \`rows\`, which each may have; docs/targets has the settings of each type: snapshot, parquet (also in S3), postgres, ducklake.
# targets:
#   - name: dashboards
#     type: snapshot
#     path: ./published/dashboards.duckdb
#     pii: { identity: hash, staff: hash, device: hash, content: drop, label: keep }    # default
#     rows: { organizations: [my-organization] }      # also workspaces: [my-workspace] and agents: [my-agent]; default: all rows
# publish: { every: 15m, memoryLimit: 512MB }

# \`convohouse serve\`: its address, other names under which it is reached, the path that a proxy passes on, and what its own snapshot keeps of
# personal data; or \`snapshot\`, the name of a target to read instead. With this setting \`up\` serves, too. docs/serving.md explains it.
# serve: { address: 127.0.0.1:8790, hosts: [], pii: { identity: hash, staff: hash, device: hash, content: drop, label: keep } }

# Folder of DuckDB's extensions for targets postgres and ducklake, for \`search\` in a snapshot, and for \`publish --verify\` of a target in S3; by default
# they are downloaded when needed. CONVOHOUSE_EXTENSIONS overrides it.
# extensions: ./extensions

workspaces:
  # One entry per workspace. Its id, as the vendor shows it, is in requests for agents and crawler pages and part of every key in the warehouse.
  - id: my-workspace

    # Address of the API, without /v3.
    apiUrl: https://api.example.com

    # Where the token is kept, never the token itself: a variable, or a file (mode 0600) with the token as its only line:
    #   token: { file: ./my-workspace.token }
    token: { env: CONVOHOUSE_API_TOKEN }

    # The secret that the vendor puts into the workspace's webhooks, kept like the token. Give two while you replace it.
    # webhooks: { secrets: [{ env: CONVOHOUSE_WEBHOOK_SECRET }] }

    # How far back to read: a date, or an age such as 90d. Without it, everything.
    # since: 90d

    # Ids of organizations whose names and teams are fetched, in addition to those that conversations name. (The API cannot list them.)
    # organizations: []

    # What is fetched besides agents and conversations, at most daily and not metered: all, none, or a list of organizations, teams, tools,
    # variables, audit_log, custom_metrics, voices and crawler_pages.
    # resources: all

    # Ids of custom metrics by agent, such as { my-agent: [my-metric] }, in addition to those that conversations name. (The API cannot list them.)
    # customMetrics: {}

    # Pages of crawler jobs to fetch, by job, such as { my-job: [my-page] }. (The API cannot list them.) With bodies, their Markdown and HTML
    # are kept, too.
    # crawler: { pages: {}, bodies: false }

    # Interval of syncs on Temporal, or a cron expression in UTC ({ cron: "0 * * * *" }). Each start is delayed by up to jitter.
    # \`convohouse schedule ensure\` applies it.
    # schedule: { every: 15m, jitter: 30s }

    # How far behind the present a sync stays. With a longer time, most conversations are exported only once; with a shorter one, they
    # arrive sooner.
    # settle: 2m

    # How far the mirror that the export reads from may lag behind.
    # mirrorLag: 2m

    # The time zone of days in reports, and of business hours.
    # timeZone: UTC

    # Business hours and targets for waiting times, for the mart fct_responses: docs/marts.md explains them. A day that is not named is closed.
    # businessHours: { monday: 09:00-17:00, tuesday: [09:00-12:00, 13:00-17:00], holidays: [2026-12-25] }
    # sla:
    #   - { name: standard, channels: [whatsapp], firstResponse: 15m, nextResponse: 1h, handoff: 10m, resolution: 24h, hours: business }

    # Export requests per hour, until the vendor reports another limit.
    # requestsPerHour: 1500

    # Length of that hour. Only a sandbox needs another value.
    # hour: 1h

    # Share of the hourly requests that a sync leaves to people and other tools (0 to 0.9).
    # hourReserve: 0.02

    # Share of the period's sessions that history leaves to new conversations (0 to 0.9; 0: none). Without this line: as many as they
    # are expected to need, and at least a tenth.
    # headReserve: 0.1

    # A changed conversation is exported again once it has been unchanged for this long.
    # quiet: 24h

    # Which changes count: "change", any; "message", a new message or a change of unknown kind, which bills less and updates columns that only
    # an export has less often; "auto" begins as "change", and becomes "message" once other refreshes have been seen to find nothing.
    # refreshOn: auto

    # The export skips conversations in which no person has written yet. Time ranges with skipped conversations are read again within
    # this time, for at most this share of the period's sessions (0 to 0.9; 0: never).
    # rereadHorizon: 7d
    # rereadShare: 0.02

    # Each week a few random conversations are exported again, to measure how stale the others are: for at most this share of the
    # period's sessions (0: never).
    # sampleShare: 0.002

    # Landed pages and event payloads older than this are removed; their rows stay in the warehouse, which then is the only place that
    # has them. Without these settings everything is kept.
    # retention: { pages: 400d, events: 90d }

    # Conversations per page, 1 to 100. Smaller pages cost more requests.
    # pageSize: 100

    # Timeout of one request, from connecting to the last byte.
    # timeout: 120s
`
