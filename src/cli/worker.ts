// `convohouse worker`: runs Temporal workers until it is stopped.

import { type Command, Option } from 'commander'
import { newRunId } from '../app.ts'
import type { ListenAddress } from '../config/address.ts'
import type { Config } from '../config.ts'
import { EXIT_CODES } from '../core/errors.ts'
import { restrictUmask } from '../files/durable.ts'
import { connectToSupervisor } from '../run/supervision/child.ts'
import { type Supervisor, supervise } from '../run/supervision/supervisor.ts'
import type { TemporalPlace } from '../run/temporal/client/connection.ts'
import { fetchMetrics, installRuntime, mergeMetrics } from '../run/temporal/worker/runtime.ts'
import { type Role, runWorker, type WorkerSettings } from '../run/temporal/worker/worker.ts'
import { holderOf } from '../steps/export/lease-recovery.ts'
import { listenForScrapes } from '../telemetry/listen.ts'
import type { MetricsPage } from '../telemetry/page.ts'
import { configArgs, configAt } from './flags/configuration.ts'
import { addConfigFlag } from './flags/sync-flags.ts'
import { metricsAddress, oneOf } from './flags/values.ts'
import { metricsOf, openAppWhenReleased } from './open-app.ts'
import { log, stampLines } from './terminal/print.ts'
import { endOnParentRequest, STOPPING, stopOnSignals } from './terminal/signals.ts'

const ROLES = ['export', 'warehouse', 'all'] as const satisfies readonly Role[]

export const define = (command: Command): Command =>
  addConfigFlag(command)
    .option(
      '--role <role>',
      'export (any number of workers), warehouse (exactly one), or all',
      oneOf('--role', ROLES),
      'all',
    )
    .option(
      '--telemetry <host:port>',
      'serve metrics for Prometheus at this address (default: as configured, else none)',
      metricsAddress,
    )
    .addOption(new Option('--supervised').hideHelp())
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse worker                                    all roles on one machine
  $ convohouse worker --role export                      on each machine that shares the data folder
  $ convohouse worker --role warehouse --telemetry 0.0.0.0:9464

Temporal's own variables and profile files configure the server: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY,
TEMPORAL_TLS_…, TEMPORAL_PROFILE. SIGTERM and Ctrl-C stop the worker once requests in flight have landed.`,
    )
    .action(async (flags: WorkerFlags) => {
      await runWorkerCommand(flags)
    })

export interface WorkerFlags {
  config?: string
  role: Role
  telemetry?: ListenAddress
  /** Set by the command that supervises this process. */
  supervised?: boolean
}

/** @throws CONFIG_INVALID, CONFIG_MISSING, HOME_UNUSABLE, WAREHOUSE_LOCKED, TEMPORAL_UNREACHABLE, ADDRESS_IN_USE */
async function runWorkerCommand(flags: WorkerFlags): Promise<void> {
  const { config: path, role } = flags
  const config = configAt(path)
  // The parent process timestamps the lines of this one.
  if (flags.supervised) return runWarehouseChild(config, () => installRuntime({ log }))
  stampLines()
  const metrics = metricsOf(config, `worker-${role}`)
  const at = flags.telemetry ?? config.telemetry
  const listener = at === null ? null : await listenForScrapes(metrics, at)
  const stop = stopOnSignals(() => log(STOPPING))
  const served = listener === null ? '' : `; metrics at ${listener.url}`
  const ready = ({ address, namespace }: TemporalPlace) =>
    log(`worker (${role}) for ${config.temporal.queues} at ${address}, namespace ${namespace}${served}`)
  const team = { config, ending: stop, ready }
  try {
    if (role === 'export') {
      metrics.append(await sdkMetrics({ supervisor: null, exports: true, log }))
      await runWorker({ ...team, role })
    } else process.exitCode = await runWithWarehouse({ ...team, role, path, page: metrics })
  } finally {
    await listener?.close()
    stop.release()
  }
}

/** Runs the warehouse in a supervised child; returns the exit code. */
async function runWithWarehouse(
  options: Omit<Team, 'supervisor' | 'logsSyncs'> & { path: string | undefined; page: MetricsPage },
): Promise<number> {
  const { path, page, ...team } = options
  restrictUmask()
  const supervisor = superviseWarehouse({ config: path, remark: log })
  const { stopping } = team.ending
  stopping.addEventListener('abort', supervisor.stop, { once: true })
  if (!(await supervisor.held)) return stopping.aborted ? EXIT_CODES.ok : supervisor.ended
  stopping.removeEventListener('abort', supervisor.stop)
  page.append(await sdkMetrics({ supervisor, exports: team.role === 'all', log }))
  return runTeam({ ...team, supervisor, logsSyncs: true })
}

/**
 * Runs the supervised child: opens the warehouse, reports that to the parent, and runs a worker when the parent asks for one. `install`
 * installs the SDK's runtime and returns the address of its metrics. It is called late, since an unused runtime would keep the process alive.
 * @throws WAREHOUSE_LOCKED, TEMPORAL_UNREACHABLE
 */
async function runWarehouseChild(config: Config, install: () => Promise<string>): Promise<void> {
  const parent = connectToSupervisor(endOnParentRequest().stop)
  const stop = stopOnSignals()
  const app = await openAppWhenReleased(config, parent.query)
  parent.holds(app, config.home)
  const work = await parent.work()
  let isTaken = false
  try {
    if (work === null) return
    const metrics = await install()
    await runWorker({
      config,
      role: 'warehouse',
      place: work.place,
      ...(work.holder !== null && { holder: work.holder }),
      ...{ log, logsSyncs: work.logsSyncs },
      ending: stop,
      async openApp() {
        isTaken = true
        return app
      },
      ready: at => parent.works({ place: at, metrics }),
    })
  } finally {
    stop.release()
    // A worker that has taken over the app closes it itself.
    if (!isTaken) await app.close()
  }
}

interface Team extends Pick<WorkerSettings, 'ending'> {
  config: Config
  role: Exclude<Role, 'export'>
  place?: Partial<TemporalPlace>
  /** Supervises the child that holds the warehouse. */
  supervisor: Supervisor
  /** True if the child logs when a sync begins and ends. */
  logsSyncs?: boolean
  /** Called when all workers poll. */
  ready(place: TemporalPlace): void
}

/** Runs until it is stopped and the child has ended. Returns the exit code of a child that ended by itself. @throws TEMPORAL_UNREACHABLE */
export async function runTeam({
  config,
  role,
  place = {},
  supervisor,
  logsSyncs = false,
  ending,
  ready,
}: Team): Promise<number> {
  const { stop } = supervisor
  const { stopping, aborted } = ending
  for (const signal of [stopping, aborted]) signal.addEventListener('abort', stop, { once: true })
  const childGone = new AbortController()
  void supervisor.ended.then(() => childGone.abort(new Error('the process that holds the warehouse has ended')))
  const holder = role === 'all' ? holderOf(newRunId()) : null
  const begin = () => void supervisor.work({ place, holder, logsSyncs }).then(({ place: at }) => ready(at))
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
  const args = ['worker', '--role', 'warehouse', '--supervised', ...configArgs(options.config)]
  return supervise({ entry: process.argv[1]!, args, remark: options.remark })
}

/** Installs the SDK's runtime if this process runs an export worker. Returns a function that reads both processes' SDK metrics. */
export async function sdkMetrics(options: {
  supervisor: Supervisor | null
  exports: boolean
  log: (line: string) => void
}): Promise<() => Promise<string>> {
  const { supervisor, exports, log } = options
  const own = exports ? await installRuntime({ log }) : null
  return async () => {
    const child = supervisor?.metrics() ?? null
    const [exporting, warehouse] = await Promise.all([fetchMetrics(own), fetchMetrics(child)])
    return mergeMetrics({ export: exporting, warehouse })
  }
}
