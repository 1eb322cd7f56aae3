// The SDK's runtime, one a process: where its log goes, and what it tells Prometheus.
import { DefaultLogger, type LogEntry, makeTelemetryFilterString, Runtime } from '@temporalio/worker'
import { SECOND } from '../../core/time.ts'
import { freePort } from './ports.ts'

export interface RuntimeSettings {
  log(line: string): void
}

/** A worker has one kind of task on purpose; the SDK warns of the others. */
const isOnPurpose = ({ message }: LogEntry): boolean => message.includes('not polling for')

function lineOf({ level, message, meta = {} }: LogEntry): string {
  const { workflowId, activityType, error } = meta as { workflowId?: string; activityType?: string; error?: Error }
  const about = [workflowId, activityType].filter(Boolean).join(' ')
  return [level.toLowerCase(), about, message, error?.message].filter(Boolean).join(': ')
}

/** `metrics`: `127.0.0.1:4711`, where the SDK serves its own. */
function install({ metrics, log }: RuntimeSettings & { metrics?: string }): void {
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('WARN', entry => {
      if (!isOnPurpose(entry)) log(lineOf(entry))
    }),
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
      ...(metrics !== undefined && { metrics: { prometheus: { bindAddress: metrics } } }),
    },
  })
}

/** Before anything else of the SDK is used. Signals stay ours. */
export const installRuntime = ({ log }: RuntimeSettings): void => install({ log })

/** A port that was free may be taken by another process a moment later. */
const TRIES = 3
const PATIENCE_MS = 2 * SECOND

/** The same; the SDK's own metrics can then be read, in Prometheus's text format: it serves them itself, to this machine alone. */
export async function installRuntimeWithMetrics(settings: RuntimeSettings): Promise<() => Promise<string>> {
  for (let left = TRIES - 1; ; left--) {
    const metrics = `127.0.0.1:${await freePort()}`
    try {
      install({ ...settings, metrics })
      return async () => (await fetch(`http://${metrics}/metrics`, { signal: AbortSignal.timeout(PATIENCE_MS) })).text()
    } catch (error) {
      if (left === 0) throw error
    }
  }
}
