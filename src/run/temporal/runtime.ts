// The SDK's runtime, one a process: where its log goes, and where Prometheus may fetch metrics.
import { DefaultLogger, type LogEntry, makeTelemetryFilterString, Runtime } from '@temporalio/worker'
import { ConvohouseError } from '../../core/errors.ts'
import { usualPort } from './ports.ts'

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

function install({ metrics, log }: RuntimeSettings): void {
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

/** Before anything else of the SDK is used. Signals stay ours. @throws FLAG_INVALID where metrics cannot be served there */
export function installRuntime(settings: RuntimeSettings): void {
  const { metrics } = settings
  try {
    install(settings)
  } catch (cause) {
    if (metrics === undefined) throw cause
    throw new ConvohouseError('FLAG_INVALID', {
      what: `Metrics cannot be served at ${metrics}: ${(cause as Error).message}.`,
      mend: 'Give another host and port (--metrics 127.0.0.1:9465), or end what listens there.',
      cause,
    })
  }
}

/** Where those look first who collect metrics of Temporal's SDK. */
const METRICS_PORT = 9464
/** A port that was free may be taken by another process a moment later. */
const TRIES = 3

/** With metrics at the usual port of this machine, or at a free one; where. */
export async function installRuntimeAnywhere(settings: Omit<RuntimeSettings, 'metrics'>): Promise<string> {
  for (let left = TRIES - 1; ; left--) {
    const metrics = `127.0.0.1:${await usualPort(METRICS_PORT)}`
    try {
      installRuntime({ ...settings, metrics })
      return metrics
    } catch (error) {
      if (left === 0) throw error
    }
  }
}
