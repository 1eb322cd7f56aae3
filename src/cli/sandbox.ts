// `convohouse sandbox`: serves the vendor's API with generated data until it is stopped.
import type { Command } from 'commander'
import { timeZone } from '../config/values.ts'
import { parseDuration } from '../core/time.ts'
import { FAULTS } from '../sandbox/faults/fault-settings.ts'
import { HOSTILE } from '../sandbox/hostile/hostility.ts'
import { MAX_CONVERSATIONS, SANDBOX_DEFAULTS, type SandboxOptions } from '../sandbox/options.ts'
import { issueTexts, type Rate, type RateTable, ratesSchema } from '../sandbox/rates.ts'
import { DEFAULT_WEBHOOK_SECRET } from '../sandbox/webhooks.ts'
import { duration, filled, invalidFlag, number, whole } from './flags/values.ts'
import { linesIf, print, printJson } from './terminal/print.ts'
import { stopOnSignals, untilStopping } from './terminal/signals.ts'

export const define = (command: Command): Command =>
  command
    .option('--port <n>', 'port; 0 takes a free one (default: 4010)', whole('--port', 0, 65_535))
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)', filled('--host'))
    .option('--token <token>', 'token that callers need (default: sandbox-token)', filled('--token'))
    .option('--agents <n>', 'number of agents (default: 3)', whole('--agents', 1, 10_000))
    .option(
      '--conversations <n>',
      'number of past conversations of all agents (default: 20000)',
      whole('--conversations', 0, MAX_CONVERSATIONS),
    )
    .option(
      '--arrivals-per-day <n>',
      'new conversations per day (default: 200)',
      number('--arrivals-per-day', { min: 0, max: 1_000_000 }),
    )
    .option('--seed <n>', 'seed of the generated data (default: 1)', whole('--seed', -(2 ** 31), 2 ** 32 - 1))
    .option('--time-zone <name>', 'time zone of the working days of contacts and people (default: UTC)', zone)
    .option('--traffic', 'agents are renamed, and events report organizations and clients that come and go')
    .option('--unpaid', 'the workspace has never paid: the export is refused')
    .option('--hourly <n>', 'requests per hour (default: 1500)', whole('--hourly', 1, 1_000_000))
    .option('--quota <n>', 'sessions included in a billing period (default: 50000)', whole('--quota', 0, 1_000_000_000))
    .option(
      '--latency <duration>',
      'delay of each answer: 100ms, or a number of ms (default: 0)',
      duration('--latency', { min: 0, bare: 1 }),
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
    .option('--webhooks <url>', 'post webhook events to this address; implies --traffic', filled('--webhooks'))
    .option(
      '--webhook-secret <secret>',
      'secret in each event (default: sandbox-webhook-secret)',
      filled('--webhook-secret'),
    )
    .option('--json', 'print the address as one JSON object')
    .addHelpText(
      'after',
      () => `
Faults; the default of PARAM is in parentheses:
${namesTable(FAULTS)}

POST /_sandbox/faults changes the faults of a running sandbox, also by request number (docs/sandbox.md).

Hostile records; the same --seed selects the same conversations:
${namesTable(HOSTILE)}

Examples:
  $ convohouse sandbox                                   listen on port 4010
  $ convohouse sandbox --conversations 200000 --hourly 100000 --quota 1000000
  $ convohouse sandbox --latency 200ms --hourly 50       a slow vendor that refuses early
  $ convohouse sandbox --fault dropped-after=0.05 --fault slow=0.1:3s
  $ convohouse sandbox --hostile wrong-types=0.05 --hostile huge-record=0.001:1000000
  $ convohouse sandbox --webhooks http://127.0.0.1:8787/webhooks`,
    )
    .action(runSandbox)

function zone(name: string): string {
  if (timeZone.safeParse(name).success) return name
  throw invalidFlag(`--time-zone cannot be ${JSON.stringify(name)}.`, 'Give an IANA name such as Europe/Berlin.')
}

/** Returns one line `  name   help` per name. */
function namesTable(table: Record<string, { help: string }>): string {
  const width = Math.max(...Object.keys(table).map(name => name.length))
  return Object.entries(table)
    .map(([name, { help }]) => `  ${name.padEnd(width)}  ${help}`)
    .join('\n')
}

/** Returns the parser of a repeatable flag NAME=RATE[:PARAM]. `table` lists the valid names, which messages call `noun`. */
function rated(flag: string, table: RateTable, noun: string) {
  const schema = ratesSchema(table, noun)
  return (text: string, before: Record<string, Rate> = {}): Record<string, Rate> => {
    const [, name = text, share = '', param] = /^([^=]*)=([\d.]+)(?::(.*))?$/.exec(text) ?? []
    const isTime = Object.hasOwn(table, name) && table[name]!.param?.unit === 'ms'
    const rate = Number(share === '' ? Number.NaN : share)
    const rates = { ...before, [name]: param === undefined ? rate : { rate, param: paramOf(param, isTime) } }
    const { error } = schema.safeParse(rates)
    if (!error) return rates
    throw invalidFlag(`${flag} ${text}: ${issueTexts(error).join('; ')}.`, `Give ${flag} NAME=RATE or NAME=RATE:PARAM.`)
  }
}

/** Parses a number, or a duration such as `30s` or `-5m` if the parameter is a time. Returns NaN for anything else. */
function paramOf(text: string, isTime: boolean): number {
  const ms = isTime ? parseDuration(text.replace(/^-/, '')) : undefined
  return ms === undefined ? Number(text) : text.startsWith('-') ? -ms : ms
}

/** Flags as commander parses them. A flag named like an option of the sandbox has that option's value. */
export interface SandboxFlags extends Partial<Omit<SandboxOptions, 'webhooks'>> {
  unpaid?: boolean
  hourly?: number
  quota?: number
  latency?: number
  fault?: Record<string, Rate>
  webhooks?: string
  webhookSecret?: string
  json?: boolean
}

/** Returns the sandbox options that the flags set; the sandbox uses its defaults for the others. */
export function sandboxOptions(flags: SandboxFlags): Partial<SandboxOptions> {
  const { unpaid, hourly, quota, latency, fault, json: _, ...others } = flags
  const { webhooks, webhookSecret, ...same } = others
  const named = {
    ...same,
    paid: unpaid === undefined ? undefined : !unpaid,
    hourlyRequests: hourly,
    quotaSessions: quota,
    latencyMs: latency,
    faults: { rates: fault },
    webhooks: { url: webhooks, secret: webhookSecret },
  }
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined))
}

const quoted = (text: string): string => (/^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** Serves until SIGINT or SIGTERM. @throws CONFIG_INVALID, ADDRESS_IN_USE */
async function runSandbox(flags: SandboxFlags): Promise<void> {
  const { startSandbox } = await import('../sandbox/server.ts')
  const stop = stopOnSignals()
  const sandbox = await startSandbox(sandboxOptions(flags))
  const { workspaceId } = SANDBOX_DEFAULTS
  if (flags.json) printJson({ url: sandbox.url, port: sandbox.port, workspaceId })
  else {
    print(
      `Sandbox at ${sandbox.url}. To use it, run in another terminal:`,
      '',
      `  export CONVOHOUSE_API_URL=${sandbox.url}`,
      `  export CONVOHOUSE_API_TOKEN=${quoted(flags.token ?? SANDBOX_DEFAULTS.token)}`,
      `  export CONVOHOUSE_WORKSPACE=${workspaceId}`,
      '  export CONVOHOUSE_HOME=./sandbox-data',
      '  convohouse sync',
      '',
      ...linesIf(
        flags.webhooks !== undefined,
        `Webhook events are posted to ${flags.webhooks}. To receive them there:`,
        '',
        `  export CONVOHOUSE_WEBHOOK_SECRET=${quoted(flags.webhookSecret ?? DEFAULT_WEBHOOK_SECRET)}`,
        '  convohouse receive',
        '',
      ),
      'Press Ctrl-C to stop.',
    )
  }
  await untilStopping(stop)
  await sandbox.close()
  stop.release()
}
