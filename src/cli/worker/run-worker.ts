// `convohouse worker`: works until it is told to end.
import type { ListenAddress } from '../../config/address.ts'
import { readConfig } from '../../config.ts'
import { listenForScrapes } from '../../metrics/listen.ts'
import type { Role } from '../../run/temporal/role.ts'
import { installRuntime, installRuntimeWithMetrics } from '../../run/temporal/runtime.ts'
import { runWorker } from '../../run/temporal/worker.ts'
import { metricsOf, openMeasuredHouse } from '../metrics/serve-metrics.ts'
import { remark, stampLines } from '../terminal/say.ts'
import { STOPPING, stopOnSignals } from '../terminal/stop.ts'

export interface WorkerFlags {
  config?: string
  role: Role
  metrics?: ListenAddress
}

/** @throws what is wrong with configuration, data folder or Temporal; ADDRESS_IN_USE */
export async function runWorkerCommand({ config: path, role, metrics: address }: WorkerFlags): Promise<void> {
  stampLines()
  const config = readConfig(path === undefined ? {} : { path })
  const metrics = metricsOf(config, `worker-${role}`)
  const at = address ?? config.metrics
  const listener = at === null ? null : await listenForScrapes(metrics.page, at)
  if (listener) metrics.page.append(await installRuntimeWithMetrics({ log: remark }))
  else installRuntime({ log: remark })
  const { stopping, aborted, release } = stopOnSignals(() => remark(STOPPING))
  const served = listener === null ? '' : `; metrics at ${listener.url}`
  try {
    await runWorker({
      config,
      role,
      ending: { stopping, aborted },
      openHouse: () => openMeasuredHouse(config, metrics),
      tell: remark,
      ready: ({ address, namespace }) =>
        remark(`worker (${role}) for ${config.temporal.queues} at ${address}, namespace ${namespace}${served}`),
    })
  } finally {
    await listener?.close()
    release()
  }
}
