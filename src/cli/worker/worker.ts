// `convohouse worker`: runs Temporal workers until it is stopped.
import type { ListenAddress } from '../../config/address.ts'
import { type Config, readConfig } from '../../config.ts'

import { EXIT_CODES } from '../../core/errors.ts'
import { listenForScrapes } from '../../metrics/listen.ts'
import type { MetricsPage } from '../../metrics/page.ts'
import { connectToSupervisor } from '../../run/supervision/child.ts'
import type { TemporalPlace } from '../../run/temporal/client/connection.ts'
import type { Role } from '../../run/temporal/worker/role.ts'
import { installRuntimeAnywhere } from '../../run/temporal/worker/runtime.ts'
import { runWorker } from '../../run/temporal/worker/worker.ts'
import { restrictUmask } from '../../warehouse/umask.ts'
import { metricsOf } from '../serve-metrics.ts'
import { openAppWhenReleased } from '../sync/open-app.ts'
import { log, stampLines } from '../terminal/print.ts'
import { endOnParentRequest, STOPPING, stopOnSignals } from '../terminal/signals.ts'
import { runTeam, sdkMetrics, superviseWarehouse, type Team } from './team.ts'

export interface WorkerFlags {
  config?: string
  role: Role
  metrics?: ListenAddress
  /** Set by the command that supervises this process. */
  supervised?: boolean
}

/** @throws what is wrong with configuration, data folder or Temporal; ADDRESS_IN_USE */
export async function runWorkerCommand(flags: WorkerFlags): Promise<void> {
  const { config: path, role } = flags
  const config = readConfig(path === undefined ? {} : { path })
  // The parent process timestamps the lines of this one.
  if (flags.supervised) return runWarehouseChild(config, () => installRuntimeAnywhere({ log: log }))
  stampLines()
  const metrics = metricsOf(config, `worker-${role}`)
  const at = flags.metrics ?? config.metrics
  const listener = at === null ? null : await listenForScrapes(metrics.page, at)
  const stop = stopOnSignals(() => log(STOPPING))
  const served = listener === null ? '' : `; metrics at ${listener.url}`
  const ready = ({ address, namespace }: TemporalPlace) =>
    log(`worker (${role}) for ${config.temporal.queues} at ${address}, namespace ${namespace}${served}`)
  const team = { config, ending: stop, ready }
  const { page } = metrics
  try {
    if (role === 'export') {
      page.append(await sdkMetrics({ supervisor: null, exports: true, log: log }))
      await runWorker({ ...team, role })
    } else process.exitCode = await runWithWarehouse({ ...team, role, path, page })
  } finally {
    await listener?.close()
    stop.release()
  }
}

/** Runs the warehouse in a supervised child; returns the exit code. */
async function runWithWarehouse(
  options: Omit<Team, 'supervisor' | 'tells'> & { path: string | undefined; page: MetricsPage },
): Promise<number> {
  const { path, page, ...team } = options
  restrictUmask()
  const supervisor = superviseWarehouse({ config: path, remark: log })
  const { stopping } = team.ending
  stopping.addEventListener('abort', supervisor.stop, { once: true })
  if (!(await supervisor.held)) return stopping.aborted ? EXIT_CODES.ok : supervisor.ended
  stopping.removeEventListener('abort', supervisor.stop)
  page.append(await sdkMetrics({ supervisor, exports: team.role === 'all', log: log }))
  return runTeam({ ...team, supervisor, tells: true })
}

/**
 * The supervised child: opens the warehouse, reports that to the parent, and works when told to. `install` installs the SDK's runtime and
 * returns the address of its metrics; a runtime that is installed and never used would keep the process alive.
 * @throws WAREHOUSE_LOCKED, TEMPORAL_UNREACHABLE
 */
export async function runWarehouseChild(config: Config, install: () => Promise<string>): Promise<void> {
  const parent = connectToSupervisor(endOnParentRequest().stop)
  const stop = stopOnSignals()
  const app = await openAppWhenReleased(config, parent.query)
  parent.holds(app)
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
      ...(work.logsSyncs && { log: log }),
      ending: stop,
      async openApp() {
        isTaken = true
        return app
      },
      ready: at => parent.works({ place: at, metrics }),
    })
  } finally {
    stop.release()
    // A worker that took the app closes it.
    if (!isTaken) await app.close()
  }
}
