// The flags that `plan` and `sync` share: what to read, and what it may cost.
import { type Command, Option } from 'commander'
import type { ListenAddress } from '../../config/address.ts'
import { EARLIEST_MS, SECOND } from '../../core/time.ts'
import { ageOrFile, duration, filled, invalidFlag, metricsAddress, moment, repeated, whole } from './values.ts'

export interface SyncFlags {
  config?: string
  workspace?: string
  agent?: string[]
  /** ms since the epoch. */
  since?: number
  until?: number
  full?: boolean
  /** Of `sync` alone. */
  dropFull?: boolean
  ids?: string
  refresh?: { ageMs: number } | { file: string }
  maxRequests?: number
  maxSessions?: number
  allowOveragePacks?: number
  /** False for `--no-wait`. */
  wait: boolean
  /** ms from the start of one round to the next. */
  watch?: number
  /** With `watch`. */
  metrics?: ListenAddress
  yes?: boolean
  /** Who runs it; absent: this process. */
  on?: 'temporal'
  json?: boolean
  /** Started by a command that supervises it. */
  supervised?: boolean
}

/** A round lists the agents: more often than this would only wear the vendor. */
const SHORTEST_WATCH_MS = 10 * SECOND

export const addConfigFlag = (command: Command): Command =>
  command.option('-c, --config <file>', 'configuration to use instead of ./convohouse.yaml', filled('--config'))

export const addWorkspaceFlag = (command: Command): Command =>
  command.option(
    '-w, --workspace <id>',
    'only this workspace; without it all that are configured',
    filled('--workspace'),
  )

/** Adds the flags to a command; `sync` has `--watch` besides. */
export function addSyncFlags(command: Command): Command {
  addWorkspaceFlag(addConfigFlag(command))
    .option('-a, --agent <id>', 'only this agent; may be repeated', repeated('--agent'))
    .option(
      '--since <moment>',
      "nothing before: a date, a time, or an age such as 90d (default: the configuration's)",
      moment('--since'),
    )
    .option('--until <moment>', 'nothing after', moment('--until'))
    .option(
      '--full',
      'export everything again, stored conversations included (billed again); goes on with one that was not finished',
    )
    .option(
      '--ids <file>',
      'only these conversations: one id a line, or agent,id; - reads standard input',
      filled('--ids'),
    )
    .option(
      '--refresh <age or file>',
      'besides what is new, buy again what was active within an age such as 7d and was read before the configured quiet; or the ids of a file, as with --ids',
      ageOrFile('--refresh'),
    )
    .option('--max-requests <n>', 'make at most so many requests', whole('--max-requests', 1))
    .option('--max-sessions <n>', 'buy at most so many sessions', whole('--max-sessions', 1))
    .option(
      '--allow-overage-packs <n>',
      'packs of 1,000 sessions that may be bought beyond the quota (default: 0)',
      whole('--allow-overage-packs', 0),
    )
    .option('--no-wait', 'stop when the requests of the hour are spent, instead of waiting')
  if (command.name() === 'sync')
    command
      .option('--drop-full', 'drop a full export that was not finished, and sync as the other flags say')
      .addOption(new Option('--on <host>', 'who runs it, instead of this process').choices(['temporal']))
      .option(
        '--watch <every>',
        'sync again and again, such as every 15m',
        duration('--watch', { min: SHORTEST_WATCH_MS }),
      )
      .option(
        '--metrics <host:port>',
        'with --watch: serve metrics for Prometheus there (default: as configured, else nowhere)',
        metricsAddress,
      )
  return command
    .option('-y, --yes', 'do not ask before a full export, nor before a first backfill that may take most of a period')
    .option('--json', 'one JSON object a line, for machines')
}

const CONTRADICTIONS: readonly [keyof SyncFlags, keyof SyncFlags, string][] = [
  ['full', 'ids', 'Ids name what to read: leave one of the two out.'],
  ['ids', 'since', 'Ids name what to read: leave --since out.'],
  ['ids', 'until', 'Ids name what to read: leave --until out.'],
  ['ids', 'refresh', 'Ids name what to read: leave one of the two out.'],
  ['full', 'refresh', 'A full sync buys everything again as it is: leave --refresh out.'],
  ['on', 'watch', 'Temporal has schedules for that: `convohouse schedule ensure`.'],
  ['watch', 'ids', 'A list of ids is read once: leave --watch out.'],
  ['watch', 'dropFull', 'A full export is dropped once: run --drop-full without --watch.'],
  ['watch', 'full', 'Every round would buy everything again: run --full once, without --watch.'],
  ['watch', 'until', 'What comes after --until would never be read: leave one of the two out.'],
]

/** @throws FLAG_INVALID for flags that cannot stand together */
export function checkTogether(flags: SyncFlags, nowMs: number): void {
  for (const [one, other, hint] of CONTRADICTIONS) {
    const both = flags[one] !== undefined && flags[other] !== undefined
    if (both) throw invalidFlag(`--${one} and --${other} contradict each other.`, hint)
  }
  const { since, until } = flags
  if (flags.metrics !== undefined && flags.watch === undefined)
    throw invalidFlag('--metrics is of use with --watch alone.', 'Give --watch as well, or leave --metrics out.')
  if (flags.watch !== undefined && flags.refresh && 'file' in flags.refresh)
    throw invalidFlag(
      '--watch and --refresh with a file contradict each other.',
      'Every round would buy the same ids again: give an age, or leave --watch out.',
    )
  if (since !== undefined && until !== undefined && since >= until)
    throw invalidFlag('--since is not before --until.', 'Give an earlier --since, or a later --until.')
  if (until !== undefined && until <= EARLIEST_MS)
    throw invalidFlag(
      '--until lies before 2001-09-09, where the API takes a time in milliseconds for one in seconds.',
      'Give a later moment.',
    )
  if (since !== undefined && since > nowMs)
    throw invalidFlag('--since lies in the future.', 'Give a moment that has passed, or an age such as 90d.')
}
