// Installs the SDK's runtime, one per process, which writes the SDK's log and serves its Prometheus metrics.
import { DefaultLogger, type LogEntry, makeTelemetryFilterString, Runtime } from '@temporalio/worker'
import { freePort } from '../server/ports.ts'

interface RuntimeSettings {
  log(line: string): void
}

/** True for the SDK's warnings about tasks that a worker does not poll for: each worker polls for one kind of task by design. */
const isOnPurpose = ({ message }: LogEntry): boolean => message.includes('not polling for')

function lineOf({ level, message, meta = {} }: LogEntry): string {
  const { workflowId, activityType, error } = meta as { workflowId?: string; activityType?: string; error?: Error }
  const about = [workflowId, activityType].filter(Boolean).join(' ')
  return [level.toLowerCase(), about, message, error?.message].filter(Boolean).join(': ')
}

/** `metrics`: `HOST:PORT` at which the SDK serves its metrics. */
function install({ metrics, log }: RuntimeSettings & { metrics: string }): void {
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('WARN', entry => {
      if (!isOnPurpose(entry)) log(lineOf(entry))
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
 * Installs the runtime, which serves the SDK's metrics on a free loopback port. Must precede any other use of the SDK. The process keeps its
 * own signal handlers. @returns the `host:port` of the metrics
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
