// `up` with Temporal: warehouse, server, schedules and worker, begun in this order and ended in the other.
import { withReleasers } from '../../app.ts'
import type { Config } from '../../config.ts'
import { ConvohouseError, EXIT_CODES } from '../../core/errors.ts'
import { usualPort } from '../../run/temporal/ports.ts'
import { installRuntime } from '../../run/temporal/runtime.ts'
import { runWorker } from '../../run/temporal/worker.ts'
import { openHouseSoon } from '../sync/open-house.ts'
import { remark, say } from '../terminal/say.ts'
import { type Stop, stopOnSignals } from '../terminal/stop.ts'
import { type ServerOfUp, serverOfUp } from './own-server.ts'
import { ensureSchedules } from './schedules-of-up.ts'
import type { UpFlags } from './up-flags.ts'

export interface Up {
  config: Config
  flags: UpFlags
  /** The Temporal CLI; null where a server is configured. */
  command: string | null
}

const STOPPING = 'Stopping: what is under way is still taken in. Once more (Ctrl-C) gives it up.'
/** Where those look first who collect metrics of Temporal's SDK. */
const METRICS_PORT = 9464
/** Where a client looks that was told of no address. */
const FOUND_BY_ITSELF = /^(localhost|127\.0\.0\.1):7233$/

function addressLines({ place, own }: ServerOfUp, metrics: string): string[] {
  const { address, namespace } = place
  const hint = `\`export TEMPORAL_ADDRESS=${address}\` in other terminals`
  return [
    `Temporal  ${address}, namespace ${namespace}${own ? `, kept in ${own.file}` : ''}`,
    ...(own && !FOUND_BY_ITSELF.test(address) ? [`          ${hint}`] : []),
    ...(own?.uiUrl ? [`UI        ${own.uiUrl}`] : []),
    `metrics   http://${metrics}/metrics`,
  ]
}

const serverEnded = ({ place }: ServerOfUp): ConvohouseError =>
  new ConvohouseError('TEMPORAL_UNREACHABLE', {
    what: `The Temporal server at ${place.address}, which this command had started, has ended.`,
    mend: 'Run `convohouse up` again: it goes on where it was.',
  })

/** Works until it is told to end, or the server has ended. */
async function work(
  options: Up & { server: ServerOfUp; house: ReturnType<typeof openHouseSoon>; stop: Stop },
): Promise<void> {
  const { config, server, house, stop } = options
  const lost = new AbortController()
  server.own?.ended.then(() => lost.abort(serverEnded(server)))
  await runWorker({
    config,
    role: 'all',
    place: server.place,
    ending: {
      stopping: AbortSignal.any([stop.stopping, lost.signal]),
      aborted: AbortSignal.any([stop.aborted, lost.signal]),
    },
    openHouse: () => house,
    ready: () => remark('Up. Ctrl-C ends it.'),
  })
  if (lost.signal.aborted && !stop.stopping.aborted) throw lost.signal.reason
}

/** The process's exit code. @throws WAREHOUSE_LOCKED, TEMPORAL_UNREACHABLE */
export async function upOnTemporal(up: Up): Promise<number> {
  const { config, flags } = up
  const metrics = flags.metrics ?? `127.0.0.1:${await usualPort(METRICS_PORT)}`
  const stop = stopOnSignals(() => remark(STOPPING))
  const opened = await withReleasers(async acquire => {
    acquire(stop, ({ release }) => release())
    // First of all: who holds the warehouse is alone at the server's file, too.
    const house = acquire(await openHouseSoon(config), opened => opened.close())
    const server = acquire(await serverOfUp(up), started => started.stop())
    return { house, server }
  })
  try {
    const { house, server } = opened
    // What was installed and never used would keep the process from its end: nothing may fail between this and the worker.
    const lines = await ensureSchedules(config, server.place, flags.every)
    say(...addressLines(server, metrics), ...lines)
    installRuntime({ log: remark, metrics })
    await work({ ...up, server, house: Promise.resolve(house), stop })
    return EXIT_CODES.ok
  } finally {
    await opened.close()
  }
}
