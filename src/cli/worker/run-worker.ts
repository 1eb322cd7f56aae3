// `convohouse worker`: works until it is told to end.
import { readConfig } from '../../config.ts'
import type { Role } from '../../run/temporal/role.ts'
import { installRuntime } from '../../run/temporal/runtime.ts'
import { runWorker } from '../../run/temporal/worker.ts'
import { openHouseSoon } from '../sync/open-house.ts'
import { remark } from '../terminal/say.ts'
import { STOPPING, stopOnSignals } from '../terminal/stop.ts'

export interface WorkerFlags {
  config?: string
  role: Role
  metrics?: string
}

/** @throws what is wrong with configuration, data folder or Temporal */
export async function runWorkerCommand({ config: path, role, metrics }: WorkerFlags): Promise<void> {
  const config = readConfig(path === undefined ? {} : { path })
  installRuntime({ log: remark, ...(metrics !== undefined && { metrics }) })
  const { stopping, aborted, release } = stopOnSignals(() => remark(STOPPING))
  const served = metrics === undefined ? '' : `; metrics at http://${metrics}/metrics`
  try {
    await runWorker({
      config,
      role,
      ending: { stopping, aborted },
      openHouse: () => openHouseSoon(config),
      ready: ({ address, namespace }) =>
        remark(`worker (${role}) for ${config.temporal.queues} at ${address}, namespace ${namespace}${served}`),
    })
  } finally {
    release()
  }
}
