// The workers of one command: the export worker runs in this process, the warehouse worker in a supervised child.
import { newRunId } from '../../app.ts'
import type { Config } from '../../config.ts'
import { EXIT_CODES } from '../../core/errors.ts'
import { type Supervisor, supervise } from '../../run/supervision/supervisor.ts'
import type { TemporalPlace } from '../../run/temporal/client/connection.ts'
import type { Role } from '../../run/temporal/worker/role.ts'
import { installRuntimeAnywhere } from '../../run/temporal/worker/runtime.ts'
import { fetchMetrics, mergeMetrics } from '../../run/temporal/worker/sdk-metrics.ts'
import { runWorker, type WorkerSettings } from '../../run/temporal/worker/worker.ts'

export interface Team extends Pick<WorkerSettings, 'ending'> {
  config: Config
  role: Exclude<Role, 'export'>
  place?: Partial<TemporalPlace>
  /** Supervises the child that holds the warehouse. */
  supervisor: Supervisor
  /** The child writes a line when a sync begins and ends. */
  tells?: boolean
  /** Called when all workers poll. */
  ready(place: TemporalPlace): void
}

/** Works until it is stopped, and until the child has ended. Returns the child's exit code if that ended by itself. @throws TEMPORAL_UNREACHABLE */
export async function runTeam({
  config,
  role,
  place = {},
  supervisor,
  tells = false,
  ending,
  ready,
}: Team): Promise<number> {
  const { stop } = supervisor
  const { stopping, aborted } = ending
  for (const signal of [stopping, aborted]) signal.addEventListener('abort', stop, { once: true })
  const childGone = new AbortController()
  void supervisor.ended.then(() => childGone.abort(new Error('the process that holds the warehouse has ended')))
  const holder = role === 'all' ? newRunId() : null
  const begin = () => void supervisor.work({ place, holder, logsSyncs: tells }).then(({ place: at }) => ready(at))
  try {
    if (stopping.aborted) stop()
    if (holder === null) begin()
    else {
      const both = { stopping: AbortSignal.any([stopping, childGone.signal]), aborted }
      await runWorker({ config, role: 'export', place, holder, ending: both, ready: begin })
    }
    const code = await supervisor.ended
    return stopping.aborted ? EXIT_CODES.ok : code
  } finally {
    for (const signal of [stopping, aborted]) signal.removeEventListener('abort', stop)
    if (!stopping.aborted) stop()
    await supervisor.ended
  }
}

/** Starts the child that holds the warehouse. */
export function superviseWarehouse(options: {
  config: string | undefined
  remark: (...lines: string[]) => void
}): Supervisor {
  const { config, remark } = options
  const named = config === undefined ? [] : ['--config', config]
  const args = ['worker', '--role', 'warehouse', '--supervised', ...named]
  return supervise({ entry: process.argv[1]!, args, remark })
}

/** Installs the SDK's runtime if this process runs an export worker; returns the SDK's metrics of both processes. */
export async function sdkMetrics(options: {
  supervisor: Supervisor | null
  exports: boolean
  log: (line: string) => void
}): Promise<() => Promise<string>> {
  const { supervisor, exports, log } = options
  const own = exports ? await installRuntimeAnywhere({ log }) : null
  return async () => {
    const child = supervisor?.metrics() ?? null
    const [exporting, warehouse] = await Promise.all([fetchMetrics(own), fetchMetrics(child)])
    return mergeMetrics({ export: exporting, warehouse })
  }
}
