// The SDK's runtime, one a process: where its log goes, and what it tells Prometheus.
import { DefaultLogger, type LogEntry, makeTelemetryFilterString, Runtime } from '@temporalio/worker'
import { freePort } from '../server/ports.ts'

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

/** The same, with the SDK's own metrics, which it serves itself, to this machine alone; at which `host:port`. */
export async function installRuntimeAnywhere(settings: RuntimeSettings): Promise<string> {
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
