// The worker of the warehouse as a supervised child: it opens the warehouse, tells so, and works where it is told to.
import type { Config } from '../../config.ts'
import { connectToSupervisor } from '../../run/supervision/child.ts'
import { runWorker } from '../../run/temporal/worker/worker.ts'
import { openAppWhenReleased } from '../sync/open-app.ts'
import { log } from '../terminal/print.ts'
import { endOnParentRequest } from '../terminal/signals.ts'
import { stopOnSignals } from '../terminal/stop.ts'

/**
 * `install` gives the SDK its runtime, and where metrics are for the parent to join; what is installed and never used would keep the process
 * from its end. @throws WAREHOUSE_LOCKED, TEMPORAL_UNREACHABLE
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
      ...(work.tells && { tell: log }),
      ending: stop,
      async openApp() {
        isTaken = true
        return app
      },
      ready: at => parent.works({ place: at, metrics }),
    })
  } finally {
    stop.release()
    // The worker closes what it has taken.
    if (!isTaken) await app.close()
  }
}
