// The SDK's runtime, one a process: where its log goes, and where Prometheus may fetch metrics.
import { DefaultLogger, type LogEntry, makeTelemetryFilterString, Runtime } from '@temporalio/worker'

export interface RuntimeSettings {
  /** `0.0.0.0:9464`: metrics are served there, at /metrics. */
  metrics?: string
  log(line: string): void
}

/** A worker has one kind of task on purpose; the SDK warns of the others. */
const isOnPurpose = ({ message }: LogEntry): boolean => message.includes('not polling for')

function lineOf({ level, message, meta = {} }: LogEntry): string {
  const { workflowId, activityType, error } = meta as { workflowId?: string; activityType?: string; error?: Error }
  const about = [workflowId, activityType].filter(Boolean).join(' ')
  return [level.toLowerCase(), about, message, error?.message].filter(Boolean).join(': ')
}

/** Before anything else of the SDK is used. Signals stay ours. */
export function installRuntime({ metrics, log }: RuntimeSettings): void {
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
