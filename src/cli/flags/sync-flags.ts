// The flags that `plan` and `sync` share: selection and limits.
import { type Command, Option } from 'commander'
import type { ListenAddress } from '../../config/address.ts'
import { EARLIEST_MS, MINUTE, SECOND } from '../../core/time.ts'
import { duration, filled, invalidFlag, metricsAddress, moment, repeated, resources, whole } from './values.ts'

export interface SyncFlags {
  config?: string
  workspace?: string
  agent?: string[]
  /** ms since the epoch. */
  since?: number
  until?: number
  full?: boolean
  /** Only for `sync`. */
  dropFull?: boolean
  ids?: string
  /** Age, ms. */
  refresh?: number
  maxRequests?: number
  maxSessions?: number
  allowOveragePacks?: number
  /** Names of API resources. */
  resources?: readonly string[]
  /** False for `--no-wait`. */
  wait: boolean
  /** ms from the start of one round to the next. */
  watch?: number
  /** Address that serves metrics; only with `watch`. */
  telemetry?: ListenAddress
  yes?: boolean
  /** Host of the sync; default: this process. */
  on?: 'temporal'
  json?: boolean
  /** Set by `up`, which starts the sync as a supervised child. */
  supervised?: boolean
}

/** Each round lists the agents; a shorter interval would only put load on the vendor. */
const SHORTEST_WATCH_MS = 10 * SECOND

export const addConfigFlag = (command: Command): Command =>
  command.option('-c, --config <file>', 'configuration to use instead of ./convohouse.yaml', filled('--config'))

export const addWorkspaceFlag = (command: Command): Command =>
  command.option('-w, --workspace <id>', 'only this workspace (default: all configured ones)', filled('--workspace'))

export const addMaxAgeFlag = (command: Command): Command =>
  command.option(
    '--max-age <duration>',
    'age from which syncs, events and targets are overdue (default: by `schedule` and `publish.every`)',
    duration('--max-age', { min: MINUTE }),
  )

/** Adds the shared flags to `plan` or `sync`, and to `sync` also its own. */
export function addSyncFlags(command: Command): Command {
  addWorkspaceFlag(addConfigFlag(command))
    .option('-a, --agent <id>', 'only this agent; may be repeated', repeated('--agent'))
    .option(
      '--since <moment>',
      'start of the range: a date (from 00:00 UTC), a time, or an age such as 90d (default: as configured)',
      moment('--since'),
    )
    .option('--until <moment>', 'end of the range', moment('--until'))
    .option(
      '--full',
      'export everything again, including stored conversations (billed again); continues an unfinished full export',
    )
    .option(
      '--ids <file>',
      'only these conversations: one id per line, or agent,id; - reads standard input',
      filled('--ids'),
    )
    .option(
      '--refresh <age>',
      'also export again conversations that were active within that time, such as 7d, and whose last export is older than the configured `quiet`',
      duration('--refresh', { min: 1 }),
    )
    .option('--max-requests <n>', 'make at most this many requests', whole('--max-requests', 1))
    .option('--max-sessions <n>', 'bill at most this many sessions', whole('--max-sessions', 1))
    .option(
      '--allow-overage-packs <n>',
      'packs of 1,000 sessions that may be billed beyond the quota of a billing period (default: 0)',
      whole('--allow-overage-packs', 0),
    )
    .option(
      '--resources <names>',
      'API resources to request besides agents and conversations: all, none, or names separated by commas (default: as configured)',
      resources('--resources'),
    )
    .option('--no-wait', 'stop at the hourly rate limit instead of waiting')
  if (command.name() === 'sync')
    command
      .option('--drop-full', 'drop an unfinished full export, then sync with the other flags')
      .addOption(new Option('--on <host>', 'run the sync there instead of in this process').choices(['temporal']))
      .option(
        '--watch <every>',
        'sync repeatedly, for example every 15m',
        duration('--watch', { min: SHORTEST_WATCH_MS }),
      )
      .option(
        '--telemetry <host:port>',
        'with --watch: serve metrics for Prometheus at this address (default: as configured, else none)',
        metricsAddress,
      )
  return command
    .option('-y, --yes', 'skip the question before a full export or a first backfill that may use most of the quota')
    .option('--json', 'one JSON object per line, for machines')
}

const CONTRADICTIONS: readonly [keyof SyncFlags, keyof SyncFlags, string][] = [
  ['full', 'ids', 'The ids select what to read: omit one of the two.'],
  ['ids', 'since', 'The ids select what to read: omit --since.'],
  ['ids', 'until', 'The ids select what to read: omit --until.'],
  ['ids', 'refresh', 'The ids select what to read: omit one of the two.'],
  ['full', 'refresh', 'A full sync exports everything again anyway: omit --refresh.'],
  ['on', 'watch', 'For repeated syncs on Temporal, use a schedule: `convohouse schedule ensure`.'],
  ['watch', 'ids', 'A list of ids is read once: omit --watch.'],
  ['watch', 'dropFull', 'A full export is dropped once: run --drop-full without --watch.'],
  ['watch', 'full', 'Every round would export everything again: run --full once, without --watch.'],
  ['watch', 'until', 'Later conversations would never be read: omit one of the two.'],
]

/** Returns the spelling of a flag: `dropFull` → `--drop-full`. */
const spelled = (flag: string): string => `--${flag.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`

/** @throws FLAG_INVALID for contradicting flags */
export function checkTogether(flags: SyncFlags, nowMs: number): void {
  for (const [one, other, hint] of CONTRADICTIONS) {
    const both = flags[one] !== undefined && flags[other] !== undefined
    if (both) throw invalidFlag(`${spelled(one)} and ${spelled(other)} contradict each other.`, hint)
  }
  const { since, until } = flags
  if (flags.telemetry !== undefined && flags.watch === undefined)
    throw invalidFlag('--telemetry needs --watch.', 'Give --watch as well, or omit --telemetry.')
  if (since !== undefined && until !== undefined && since >= until)
    throw invalidFlag('--since is not before --until.', 'Give an earlier --since, or a later --until.')
  if (until !== undefined && until <= EARLIEST_MS)
    throw invalidFlag(
      '--until lies before 2001-09-09: the API would interpret its milliseconds as seconds.',
      'Give a later moment.',
    )
  if (since !== undefined && since > nowMs)
    throw invalidFlag('--since lies in the future.', 'Give a moment that has passed, or an age such as 90d.')
}
