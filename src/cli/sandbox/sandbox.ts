// `convohouse sandbox`: serves the vendor's API with generated data until it is stopped.
import { readFile } from 'node:fs/promises'
import type { EventName } from '../../catalog/events/event-types.ts'
import type { ScriptRule } from '../../sandbox/faults/fault-settings.ts'
import type { TsUnit } from '../../sandbox/options.ts'
import { SANDBOX_DEFAULTS, type SandboxOptions } from '../../sandbox/options.ts'
import type { Rate } from '../../sandbox/rates.ts'
import type { Readings } from '../../sandbox/readings.ts'
import { startSandbox } from '../../sandbox/server.ts'
import type { EventRule } from '../../sandbox/webhooks/webhook-settings.ts'
import { DEFAULT_WEBHOOK_SECRET } from '../../sandbox/webhooks/webhooks.ts'
import { invalidFlag } from '../flags/values.ts'
import { print, printJson } from '../terminal/print.ts'
import { stopOnSignals, untilStopping } from '../terminal/signals.ts'

/** The flags as commander parses them: absent ones are undefined; `limits` is false for `--no-limits`. */
export interface SandboxFlags {
  port?: number
  host?: string
  workspaceId?: string
  token?: string
  agents?: number
  conversations?: number
  historyDays?: number
  arrivalsPerDay?: number
  seed?: number
  ts?: 'created' | 'activity'
  /** False for `--no-traffic`. */
  traffic?: boolean
  tsUnit?: TsUnit
  unpaid?: boolean
  limits: boolean
  hourly?: number
  hour?: number
  quota?: number
  periodDays?: number
  latency?: number
  mirrorLag?: number
  lateShare?: number
  lateBy?: number
  burstEvery?: number
  burstSize?: number
  clockOffset?: number
  fault?: Record<string, Rate>
  hostile?: Record<string, Rate>
  reading?: Partial<Readings>
  literal?: boolean
  faultScript?: string
  faultSeed?: number
  faultSearch?: boolean
  start?: number
  speed?: number
  cache?: number
  webhooks?: string
  webhookSecret?: string
  webhookTypes?: string
  eventFault?: Record<string, Rate>
  eventFaultScript?: string
  eventFaultSeed?: number
  data?: string
  json?: boolean
}

/** The sandbox's options that flags set; the sandbox uses its defaults for the others. @throws FLAG_INVALID */
export async function sandboxOptions(flags: SandboxFlags): Promise<Partial<SandboxOptions>> {
  const {
    unpaid,
    hourly,
    hour,
    quota,
    latency,
    mirrorLag,
    lateBy,
    clockOffset,
    start,
    cache,
    reading,
    json: _,
    ...others
  } = flags
  const { fault, faultScript, faultSeed, faultSearch, ...served } = others
  const { webhooks, webhookSecret, webhookTypes, eventFault, eventFaultScript, eventFaultSeed, ...same } = served
  const named = {
    ...same,
    paid: unpaid === undefined ? undefined : !unpaid,
    hourlyRequests: hourly,
    hourMs: hour,
    quotaSessions: quota,
    latencyMs: latency,
    mirrorLagMs: mirrorLag,
    lateMs: lateBy,
    clockOffsetMs: clockOffset,
    startMs: start,
    cacheBytes: cache,
    readings: reading,
    faults: {
      seed: faultSeed,
      rates: fault,
      script: faultScript === undefined ? undefined : await readFaultScript<ScriptRule>('--fault-script', faultScript),
      search: faultSearch,
    },
    webhooks: {
      url: webhooks,
      secret: webhookSecret,
      types: webhookTypes?.split(',').map(name => name.trim()) as EventName[] | undefined,
      faults: {
        seed: eventFaultSeed,
        rates: eventFault,
        script:
          eventFaultScript === undefined
            ? undefined
            : await readFaultScript<EventRule>('--event-fault-script', eventFaultScript),
      },
    },
  }
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined))
}

const quoted = (text: string): string => (/^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** Serves until SIGINT or SIGTERM. @throws CONFIG_INVALID for an option out of range; ADDRESS_IN_USE */
export async function runSandbox(flags: SandboxFlags): Promise<void> {
  const stop = stopOnSignals()
  const sandbox = await startSandbox(await sandboxOptions(flags))
  const workspaceId = flags.workspaceId ?? SANDBOX_DEFAULTS.workspaceId
  if (flags.json) printJson({ url: sandbox.url, port: sandbox.port, workspaceId })
  else {
    print(
      `Sandbox at ${sandbox.url}. To use it, run in another terminal:`,
      '',
      `  export CONVOHOUSE_API_URL=${sandbox.url}`,
      `  export CONVOHOUSE_API_TOKEN=${quoted(flags.token ?? SANDBOX_DEFAULTS.token)}`,
      `  export CONVOHOUSE_WORKSPACE=${quoted(workspaceId)}`,
      '  export CONVOHOUSE_HOME=./sandbox-data',
      '  convohouse sync',
      '',
      ...(flags.webhooks === undefined
        ? []
        : [
            `Webhook events are posted to ${flags.webhooks}. To receive them there:`,
            '',
            `  export CONVOHOUSE_WEBHOOK_SECRET=${quoted(flags.webhookSecret ?? DEFAULT_WEBHOOK_SECRET)}`,
            '  convohouse receive',
            '',
          ]),
      'Press Ctrl-C to stop.',
    )
  }
  await untilStopping(stop)
  await sandbox.close()
  stop.release()
}

/** Reads a JSON list of rules. The sandbox validates the rules when it sets the faults. @throws FLAG_INVALID */
async function readFaultScript<R>(flag: string, path: string): Promise<R[]> {
  const text = await readFile(path, 'utf8').catch(() => {
    throw invalidFlag(`${flag}: ${path} cannot be read.`, 'Give the path of a JSON file.')
  })
  const rules = parse(text)
  if (Array.isArray(rules)) return rules as R[]
  throw invalidFlag(`${flag}: ${path} is not a JSON list.`, `Give rules such as [{"at": 3, "fault": …}].`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
