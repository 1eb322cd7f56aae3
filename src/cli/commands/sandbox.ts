import { Command } from 'commander'
import { DAY, parseDuration, SECOND } from '../../core/time.ts'
import { FAULTS } from '../../sandbox/faults/fault-settings.ts'
import { HOSTILE } from '../../sandbox/hostile/hostile-table.ts'
import { TS_UNITS } from '../../sandbox/options.ts'
import { nameIssue, type Param, paramIssue, type Rate, type RateTable } from '../../sandbox/rates.ts'
import { READINGS, type ReadingDefinition, type Readings, readingIssue } from '../../sandbox/readings.ts'
import { EVENT_FAULTS } from '../../sandbox/webhooks/webhook-settings.ts'
import { duration, filled, invalidFlag, moment, number, oneOf, signedDuration, whole } from '../flags/values.ts'
import type { SandboxFlags } from '../sandbox.ts'

export const sandboxCommand = (): Command =>
  new Command('sandbox')
    .description("serve the vendor's API with generated data, until it is stopped")
    .option('--port <n>', 'port; 0 takes a free one (default: 4010)', whole('--port', 0, 65_535))
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)', filled('--host'))
    .option('--workspace-id <id>', 'id of the workspace (default: ws_demo)', filled('--workspace-id'))
    .option('--token <token>', 'token that callers need (default: sandbox-token)', filled('--token'))
    .option('--agents <n>', 'agents (default: 3)', whole('--agents', 1, 10_000))
    .option(
      '--conversations <n>',
      'conversations of the past, over all agents (default: 20000)',
      whole('--conversations', 0),
    )
    .option(
      '--history-days <n>',
      'days of the past that they began in (default: 90)',
      number('--history-days', { min: 0.001, max: 2_000 }),
    )
    .option(
      '--arrivals-per-day <n>',
      'new conversations a day (default: 200)',
      number('--arrivals-per-day', { min: 0, max: 1_000_000 }),
    )
    .option('--seed <n>', 'another seed, other data (default: 1)', whole('--seed', -(2 ** 31), 2 ** 32 - 1))
    .option('--ts <meaning>', 'what ts tells: created (default) or activity', oneOf('--ts', ['created', 'activity']))
    .option('--traffic', 'conversations change in the middle of their sessions and for days after them')
    .option('--ts-unit <unit>', 'unit of ts: s, ms (default), us or mixed', oneOf('--ts-unit', TS_UNITS))
    .option(
      '--burst-every <n>',
      'in every so many conversations, many of one ts (default: 0, hardly any)',
      whole('--burst-every', 0),
    )
    .option('--burst-size <n>', 'as many as that (default: 150)', whole('--burst-size', 2, 10_000))
    .option('--unpaid', 'a workspace that has never paid: the export is refused')
    .option('--no-limits', 'no hourly limit and no quota')
    .option('--hourly <n>', 'requests an hour (default: 1500)', whole('--hourly', 1, 1_000_000))
    .option('--hour <duration>', 'length of that hour (default: 1h)', duration('--hour', { min: 0.001 * SECOND }))
    .option('--quota <n>', 'sessions included in a period (default: 50000)', whole('--quota', 0, 1_000_000_000))
    .option('--period-days <n>', 'days of a period (default: 30)', number('--period-days', { min: 0.0001, max: 3_660 }))
    .option(
      '--latency <duration>',
      'wait before each answer: 100ms, or a number of ms (default: 0)',
      duration('--latency', { min: 0, bare: 1 }),
    )
    .option(
      '--mirror-lag <duration>',
      'how late the export is (default: 0)',
      duration('--mirror-lag', { min: 0, bare: 1 }),
    )
    .option(
      '--late-share <share>',
      'share of conversations that reach the export late (default: 0)',
      number('--late-share', { min: 0, max: 1 }),
    )
    .option(
      '--late-by <duration>',
      'how late they are, at most (default: 6h)',
      duration('--late-by', { min: 1, bare: 1 }),
    )
    .option(
      '--clock-offset <duration>',
      'how far the Date header is off; -5m: behind (default: 0)',
      signedDuration('--clock-offset'),
    )
    .option('--start <moment>', "the sandbox's time at the start (default: now)", moment('--start'))
    .option(
      '--speed <n>',
      'sandbox seconds to a real one; 0 stands still (default: 1)',
      number('--speed', { min: 0, max: 1_000_000 }),
    )
    .option('--cache <bytes>', 'memory for rendered records (default: 192 MiB)', whole('--cache', 0, 2 ** 36))
    .option(
      '--fault <name=rate>',
      'a fault at that rate of requests, 0 to 1; NAME=RATE:PARAM where it has one; repeatable',
      rated('--fault', FAULTS, 'fault'),
    )
    .option(
      '--hostile <name=rate>',
      'records hostile in that way, at that rate of conversations; repeatable',
      rated('--hostile', HOSTILE, 'hostile record'),
    )
    .option(
      '--reading <name=value>',
      'a point that the API document leaves open, served in that way; repeatable',
      readings('--reading'),
    )
    .option('--literal', 'serve what the API document shows and nothing else; refuse parameters that it does not name')
    .option('--fault-script <file>', 'faults by number of the request: JSON, a list of rules', filled('--fault-script'))
    .option('--fault-seed <n>', 'another seed hits other requests (default: 1)', whole('--fault-seed', 0, 2 ** 32 - 1))
    .option('--fault-search', 'faults at a rate hit agent searches, and requests for organizations, too')
    .option('--webhooks <url>', 'where events are posted; with it, conversations have --traffic', filled('--webhooks'))
    .option('--no-traffic', 'with --webhooks: conversations change by their sessions alone')
    .option(
      '--webhook-secret <secret>',
      'secret that events carry (default: sandbox-webhook-secret)',
      filled('--webhook-secret'),
    )
    .option(
      '--webhook-types <names>',
      'types that are sent, separated by commas (default: all)',
      filled('--webhook-types'),
    )
    .option(
      '--event-fault <name=rate>',
      'a fault at that rate of events; NAME=RATE:PARAM where it has one; repeatable',
      rated('--event-fault', EVENT_FAULTS, 'fault of events'),
    )
    .option(
      '--event-fault-script <file>',
      'faults by number of the event: JSON, a list of rules',
      filled('--event-fault-script'),
    )
    .option(
      '--event-fault-seed <n>',
      'another seed hits other events (default: 1)',
      whole('--event-fault-seed', 0, 2 ** 32 - 1),
    )
    .option('--json', 'print the address as one JSON object')
    .addHelpText(
      'after',
      () => `
Faults, at most one of a kind in a request; PARAM with its default in brackets:
${namesTable(FAULTS)}

A script is a list of rules, by number of the export request from 1: [{"at": 3, "fault": "503"},
{"from": 10, "to": 20, "fault": "html"}, {"every": 50, "fault": "slow", "param": 2000}, {"at": 60, "set": {"paid": false}}].
Faults can be changed while it runs: POST /_sandbox/faults. More in docs/sandbox.md.

Hostile records, the same conversations for the same --seed:
${namesTable(HOSTILE)}

Faults of events, at most one of a kind for an event:
${namesTable(EVENT_FAULTS)}

They can be changed while it runs, as the address can: POST /_sandbox/webhooks.

Readings of what the API document leaves open, the default first:
${readingsTable(READINGS)}

Examples:
  $ convohouse sandbox                                   on port 4010
  $ convohouse sandbox --conversations 200000 --no-limits
  $ convohouse sandbox --latency 200ms --hourly 50 --hour 1m   a slow vendor with a short hour
  $ convohouse sandbox --start 2026-01-01 --speed ${DAY / SECOND}     a day a second
  $ convohouse sandbox --fault dropped-after=0.05 --fault slow=0.1:3s --fault-seed 7
  $ convohouse sandbox --hostile wrong-types=0.05 --hostile huge-record=0.001:1000000
  $ convohouse sandbox --literal --reading unpaid=402    the document to the letter
  $ convohouse sandbox --webhooks http://127.0.0.1:8787/webhooks --event-fault dropped=0.05 --event-fault delayed=0.1:10m`,
    )
    .action(async (flags: SandboxFlags) => {
      const { runSandbox } = await import('../sandbox.ts')
      await runSandbox(flags)
    })

/** A repeatable flag NAME=RATE[:PARAM]. `table` has the names; `noun` names one in messages. */
export const rated =
  (flag: string, table: RateTable, noun: string) =>
  (text: string, before: Record<string, Rate> = {}): Record<string, Rate> => {
    const [, name = text, share = '', told] = /^([^=]*)=([^:]*)(?::(.*))?$/.exec(text) ?? []
    const unknown = nameIssue(table, noun, name)
    if (unknown !== undefined) throw invalidFlag(`${flag}: ${unknown}.`, `Give ${flag} NAME=RATE.`)
    const rate = /^\d*\.?\d+$/.test(share) ? Number(share) : Number.NaN
    if (!(rate >= 0 && rate <= 1))
      throw invalidFlag(`${flag} ${text} has no rate.`, `Give ${flag} ${name}=0.1, from 0 to 1.`)
    if (told === undefined) return { ...before, [name]: rate }
    const param = readParam(told, table[name]!.param)
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
export function namesTable(table: Record<string, { help: string }>): string {
  const width = Math.max(...Object.keys(table).map(name => name.length))
  return Object.entries(table)
    .map(([name, { help }]) => `  ${name.padEnd(width)}  ${help}`)
    .join('\n')
}

/** A repeatable flag NAME=VALUE; the last value of a name wins. */
export const readings =
  (flag: string) =>
  (text: string, before: Partial<Readings> = {}): Partial<Readings> => {
    const [, name = text, value = ''] = /^([^=]*)=(.*)$/.exec(text) ?? []
    const issue = readingIssue(name, value)
    if (issue !== undefined) throw invalidFlag(`${flag} ${text}: ${issue}.`, `Give ${flag} NAME=VALUE.`)
    return { ...before, [name]: value }
  }

/** One line `  name   value, value: help` per name. */
export function readingsTable(table: Record<string, ReadingDefinition>): string {
  const width = Math.max(...Object.keys(table).map(name => name.length))
  return Object.entries(table)
    .map(([name, { values, help }]) => `  ${name.padEnd(width)}  ${values.join(', ')}: ${help}`)
    .join('\n')
}
