// Installs the SDK's runtime, one per process, which writes the SDK's log and serves its Prometheus metrics.

import { DefaultLogger, type LogEntry, makeTelemetryFilterString, Runtime } from '@temporalio/worker'
import { SECOND } from '../../../core/time.ts'
import { reasonOf } from '../client/connection.ts'
import { freePort } from '../server/dev-server.ts'

interface RuntimeSettings {
  log(line: string): void
}

/** By design, each worker polls for one kind of task, and the asker of a query or task may have ended before its answer. */
const ON_PURPOSE = /not polling for|(query|task|activity) not found/i

/** Returns the line for an entry of the SDK's log; null for none. Texts of its Rust libraries are put into words. */
export function lineOf({ level, message, meta = {} }: Omit<LogEntry, 'timestampNanos'>): string | null {
  const { workflowId, activityType, error } = meta as { workflowId?: string; activityType?: string; error?: Error }
  const about = [workflowId, activityType].filter(Boolean).join(' ')
  const text = [message, error?.message].filter(Boolean).join(': ')
  if (ON_PURPOSE.test(text)) return null
  const isConnection = /tonic|transport|grpc/i.test(text)
  const shown = isConnection ? `Temporal's server is asked again: ${reasonOf({ message: text })}` : text
  return [level.toLowerCase(), about, shown].filter(Boolean).join(': ')
}

/** `metrics`: `HOST:PORT` at which the SDK serves its metrics. */
function install({ metrics, log }: RuntimeSettings & { metrics: string }): void {
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('WARN', entry => {
      const line = lineOf(entry)
      if (line !== null) log(line)
    }),
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
      metrics: { prometheus: { bindAddress: metrics } },
    },
  })
}

/** Number of attempts to install: another process may take a free port before the SDK does. */
const TRIES = 3

/**
 * Installs the runtime, which serves the SDK's metrics on a free loopback port. Must precede any other use of the SDK.
 * The process keeps its own signal handlers. @returns the `host:port` of the metrics
 */
export async function installRuntime(settings: RuntimeSettings): Promise<string> {
  for (let left = TRIES - 1; ; left--) {
    const metrics = `127.0.0.1:${await freePort()}`
    try {
      install({ ...settings, metrics })
      return metrics
    } catch (error) {
      if (left === 0) throw error
    }
  }
}

// Merges the SDK metrics of several processes into one page for Prometheus. A page may contain each metric family only once.

/** Fetches the page of metrics at `host:port`; empty if nothing answers, for example during a restart. */
export const fetchMetrics = async (address: string | null): Promise<string> => {
  if (address === null) return ''
  try {
    return await (await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(SECOND) })).text()
  } catch {
    return ''
  }
}

/** Returns the name of the metric family that a line belongs to. */
const familyOf = (line: string): string =>
  /^# (?:HELP|TYPE) (\S+)/.exec(line)?.[1] ?? /^[^\s{]+/.exec(line)![0].replace(/_(bucket|sum|count)$/, '')

interface Family {
  /** HELP and TYPE lines. */
  head: Map<string, string>
  series: string[]
}

/** Returns one page with every family once, and the series of all pages; the label `process` names the page of a series. */
export function mergeMetrics(pages: Readonly<Record<string, string>>): string {
  const families = new Map<string, Family>()
  for (const [name, page] of Object.entries(pages)) {
    for (const line of page.split('\n')) {
      if (line.trim() === '' || /^#(?! (HELP|TYPE) )/.test(line)) continue
      const family = families.get(familyOf(line)) ?? { head: new Map<string, string>(), series: [] }
      families.set(familyOf(line), family)
      const head = /^# (HELP|TYPE)/.exec(line)
      if (head) family.head.set(head[1]!, family.head.get(head[1]!) ?? line)
      else family.series.push(labelled(line, name))
    }
  }
  return [...families.values()].flatMap(({ head, series }) => [...head.values(), ...series, '']).join('\n')
}

function labelled(line: string, name: string): string {
  const [, metric, labels, value] = /^([^\s{]+)(?:\{(.*)\})?(\s.*)$/.exec(line) ?? []
  if (metric === undefined) return line
  return `${metric}{${labels ? `${labels},` : ''}process="${name}"}${value}`
}
