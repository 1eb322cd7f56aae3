// `convohouse sandbox`: serves the vendor's API with generated data until it is stopped.
import type { EventName } from '../../catalog/events/event-types.ts'
import { SANDBOX_DEFAULTS, type SandboxOptions } from '../../sandbox/options.ts'
import type { Rate } from '../../sandbox/rates.ts'
import type { Readings } from '../../sandbox/readings.ts'
import { startSandbox } from '../../sandbox/server.ts'
import { DEFAULT_WEBHOOK_SECRET } from '../../sandbox/webhooks/webhooks.ts'
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
  traffic?: boolean
  unpaid?: boolean
  limits: boolean
  hourly?: number
  hour?: number
  quota?: number
  periodDays?: number
  latency?: number
  mirrorLag?: number
  fault?: Record<string, Rate>
  hostile?: Record<string, Rate>
  reading?: Partial<Readings>
  literal?: boolean
  start?: number
  speed?: number
  webhooks?: string
  webhookSecret?: string
  webhookTypes?: string
  eventFault?: Record<string, Rate>
  json?: boolean
}

/** Returns the sandbox's options that flags set; the sandbox uses its defaults for the others. */
export function sandboxOptions(flags: SandboxFlags): Partial<SandboxOptions> {
  const { unpaid, hourly, hour, quota, latency, mirrorLag, start, reading, fault, json: _, ...others } = flags
  const { webhooks, webhookSecret, webhookTypes, eventFault, ...same } = others
  const named = {
    ...same,
    paid: unpaid === undefined ? undefined : !unpaid,
    hourlyRequests: hourly,
    hourMs: hour,
    quotaSessions: quota,
    latencyMs: latency,
    mirrorLagMs: mirrorLag,
    startMs: start,
    readings: reading,
    faults: { rates: fault },
    webhooks: {
      url: webhooks,
      secret: webhookSecret,
      types: webhookTypes?.split(',').map(name => name.trim()) as EventName[] | undefined,
      faults: { rates: eventFault },
    },
  }
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined))
}

const quoted = (text: string): string => (/^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** Serves until SIGINT or SIGTERM. @throws CONFIG_INVALID for an option out of range; ADDRESS_IN_USE */
export async function runSandbox(flags: SandboxFlags): Promise<void> {
  const stop = stopOnSignals()
  const sandbox = await startSandbox(sandboxOptions(flags))
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
