import type { Command } from 'commander'
import { DAY, parseDuration, SECOND } from '../../core/time.ts'
import { FAULTS } from '../../sandbox/faults/fault-settings.ts'
import { HOSTILE } from '../../sandbox/hostile/mutations.ts'
import { MAX_CONVERSATIONS } from '../../sandbox/options.ts'
import { type Param, paramIssue, type Rate, type RateTable } from '../../sandbox/rates.ts'
import { READINGS, type ReadingDefinition, type Readings, readingIssue } from '../../sandbox/readings.ts'
import { EVENT_FAULTS } from '../../sandbox/webhooks/webhook-settings.ts'
import { duration, filled, invalidFlag, moment, number, oneOf, whole } from '../flags/values.ts'
import type { SandboxFlags } from './sandbox.ts'

export const define = (command: Command): Command =>
  command
    .option('--port <n>', 'port; 0 takes a free one (default: 4010)', whole('--port', 0, 65_535))
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)', filled('--host'))
    .option('--workspace-id <id>', 'id of the workspace (default: ws_demo)', filled('--workspace-id'))
    .option('--token <token>', 'token that callers need (default: sandbox-token)', filled('--token'))
    .option('--agents <n>', 'number of agents (default: 3)', whole('--agents', 1, 10_000))
    .option(
      '--conversations <n>',
      'number of past conversations of all agents (default: 20000)',
      whole('--conversations', 0, MAX_CONVERSATIONS),
    )
    .option(
      '--history-days <n>',
      'number of past days in which they started (default: 90)',
      number('--history-days', { min: 0.001, max: 2_000 }),
    )
    .option(
      '--arrivals-per-day <n>',
      'new conversations per day (default: 200)',
      number('--arrivals-per-day', { min: 0, max: 1_000_000 }),
    )
    .option('--seed <n>', 'seed of the generated data (default: 1)', whole('--seed', -(2 ** 31), 2 ** 32 - 1))
    .option(
      '--ts <meaning>',
      'meaning of ts: created (default), the first message; activity, the last start or end of a session',
      oneOf('--ts', ['created', 'activity']),
    )
    .option('--traffic', 'agents are renamed, and events report organizations and clients that come and go')
    .option('--unpaid', 'the workspace has never paid: the export is refused')
    .option('--no-limits', 'no hourly limit and no quota')
    .option('--hourly <n>', 'requests per hour (default: 1500)', whole('--hourly', 1, 1_000_000))
    .option('--hour <duration>', 'length of that hour (default: 1h)', duration('--hour', { min: 0.001 * SECOND }))
    .option('--quota <n>', 'sessions included in a billing period (default: 50000)', whole('--quota', 0, 1_000_000_000))
    .option(
      '--period-days <n>',
      'length of a billing period in days (default: 30)',
      number('--period-days', { min: 0.0001, max: 3_660 }),
    )
    .option(
      '--latency <duration>',
      'delay of each answer: 100ms, or a number of ms (default: 0)',
      duration('--latency', { min: 0, bare: 1 }),
    )
    .option(
      '--mirror-lag <duration>',
      'how far the export lags behind (default: 0)',
      duration('--mirror-lag', { min: 0, bare: 1 }),
    )
    .option('--start <moment>', "initial time of the sandbox's clock (default: now)", moment('--start'))
    .option(
      '--speed <n>',
      "sandbox seconds per real second; 0 stops the clock (default: 1). A sync reads up to the machine's own time, so start in the past",
      number('--speed', { min: 0, max: 1_000_000 }),
    )
    .option(
      '--fault <name=rate>',
      'inject a fault into this share of requests, 0 to 1; NAME=RATE:PARAM for faults with a parameter; repeatable',
      rated('--fault', FAULTS, 'fault'),
    )
    .option(
      '--hostile <name=rate>',
      'make this share of records hostile in the named way; repeatable',
      rated('--hostile', HOSTILE, 'hostile record'),
    )
    .option(
      '--reading <name=value>',
      'choose one interpretation of a point that the API document leaves open; repeatable',
      readings('--reading'),
    )
    .option('--literal', 'serve only what the API document shows, and refuse parameters that it does not name')
    .option('--webhooks <url>', 'post webhook events to this address; implies --traffic', filled('--webhooks'))
    .option(
      '--webhook-secret <secret>',
      'secret in each event (default: sandbox-webhook-secret)',
      filled('--webhook-secret'),
    )
    .option(
      '--webhook-types <names>',
      'event types to send, separated by commas (default: all)',
      filled('--webhook-types'),
    )
    .option(
      '--event-fault <name=rate>',
      'inject a fault into this share of events; NAME=RATE:PARAM for faults with a parameter; repeatable',
      rated('--event-fault', EVENT_FAULTS, 'event fault'),
    )
    .option('--json', 'print the address as one JSON object')
    .addHelpText(
      'after',
      () => `
Faults, at most one per stage of a request (docs/sandbox.md); the default of PARAM is in parentheses:
${namesTable(FAULTS)}

POST /_sandbox/faults changes the faults of a running sandbox, also by request number (docs/sandbox.md).

Hostile records; the same --seed selects the same conversations:
${namesTable(HOSTILE)}

Event faults:
${namesTable(EVENT_FAULTS)}

POST /_sandbox/webhooks changes the event faults and the webhook address of a running sandbox.

Readings of points that the API document leaves open, the default first:
${readingsTable(READINGS)}

Examples:
  $ convohouse sandbox                                   listen on port 4010
  $ convohouse sandbox --conversations 200000 --no-limits
  $ convohouse sandbox --latency 200ms --hourly 50 --hour 1m   a slow vendor with a short hour
  $ convohouse sandbox --start 2026-01-01 --speed ${DAY / SECOND}     one day per second
  $ convohouse sandbox --fault dropped-after=0.05 --fault slow=0.1:3s
  $ convohouse sandbox --hostile wrong-types=0.05 --hostile huge-record=0.001:1000000
  $ convohouse sandbox --literal --reading usage=nested  only what the document shows
  $ convohouse sandbox --webhooks http://127.0.0.1:8787/webhooks --event-fault dropped=0.05 --event-fault delayed=0.1:10m`,
    )
    .action(async (flags: SandboxFlags) => {
      const { runSandbox } = await import('./sandbox.ts')
      await runSandbox(flags)
    })

/** A repeatable flag NAME=RATE[:PARAM]. `table` lists the valid names; in messages, such a name is called `noun`. */
const rated =
  (flag: string, table: RateTable, noun: string) =>
  (text: string, before: Record<string, Rate> = {}): Record<string, Rate> => {
    const [, name = text, share = '', paramText] = /^([^=]*)=([^:]*)(?::(.*))?$/.exec(text) ?? []
    if (!Object.hasOwn(table, name)) {
      const known = Object.keys(table).join(', ')
      const what = `${flag}: unknown ${noun} ${JSON.stringify(name)}; the known ones are ${known}.`
      throw invalidFlag(what, `Give ${flag} NAME=RATE.`)
    }
    const rate = /^\d*\.?\d+$/.test(share) ? Number(share) : Number.NaN
    if (!(rate >= 0 && rate <= 1))
      throw invalidFlag(`${flag} ${text} has no rate.`, `Give a rate from 0 to 1, such as ${flag} ${name}=0.1.`)
    if (paramText === undefined) return { ...before, [name]: rate }
    const param = readParam(paramText, table[name]!.param)
    const wrong = paramIssue(table, name, param)
    if (wrong !== undefined) throw invalidFlag(`${flag} ${text}: ${wrong}.`, `Give ${flag} ${name}=${share}:PARAM.`)
    return { ...before, [name]: { rate, param } }
  }

/** A plain number, or a duration such as `30s` or `-5m` if the parameter is in milliseconds; else NaN. */
function readParam(text: string, param: Param | undefined): number {
  if (/^-?\d+$/.test(text)) return Number(text)
  const duration = param?.unit === 'ms' ? parseDuration(text.replace(/^-/, '')) : undefined
  if (duration === undefined) return Number.NaN
  return text.startsWith('-') ? -duration : duration
}

/** One line `  name   help` per name. */
function namesTable(table: Record<string, { help: string }>): string {
  const width = Math.max(...Object.keys(table).map(name => name.length))
  return Object.entries(table)
    .map(([name, { help }]) => `  ${name.padEnd(width)}  ${help}`)
    .join('\n')
}

/** A repeatable flag NAME=VALUE; the last value of a name wins. */
const readings =
  (flag: string) =>
  (text: string, before: Partial<Readings> = {}): Partial<Readings> => {
    const [, name = text, value = ''] = /^([^=]*)=(.*)$/.exec(text) ?? []
    const issue = readingIssue(name, value)
    if (issue !== undefined) throw invalidFlag(`${flag} ${text}: ${issue}.`, `Give ${flag} NAME=VALUE.`)
    return { ...before, [name]: value }
  }

/** One line `  name   value, value: help` per name. */
function readingsTable(table: Record<string, ReadingDefinition>): string {
  const withValues = Object.entries(table).map(([name, { values, help }]) => [
    name,
    { help: `${values.join(', ')}: ${help}` },
  ])
  return namesTable(Object.fromEntries(withValues))
}
