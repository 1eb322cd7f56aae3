// The end of the demo on a terminal: serves the dashboard of the demo's folder until Ctrl-C.
import { createServer } from 'node:http'
import { listenAt, urlOf } from '../config/address.ts'
import { ownEnvironment } from '../config.ts'
import { isCode } from '../core/errors.ts'
import { supervise } from '../run/supervision/supervisor.ts'
import { log, print } from './terminal/print.ts'
import { type Stop, untilStopping } from './terminal/signals.ts'

const HOST = '127.0.0.1'
const USUAL_PORT = 8790

const TEXTS = { taken: 'the dashboard cannot be served', takenHint: '', refused: 'Cannot listen at', refusedHint: '' }

/** Returns the usual port if it is free, else another free one. */
async function freePort(port = USUAL_PORT): Promise<number> {
  const server = createServer()
  try {
    return (await listenAt(server, { host: HOST, port }, TEXTS)).port
  } catch (error) {
    if (port !== 0 && isCode(error, 'ADDRESS_IN_USE')) return freePort(0)
    throw error
  } finally {
    server.close()
  }
}

/** Serves in a process of its own, which is restarted after a crash. Only the demo's configuration is read, in its folder. */
export async function serveDashboard(home: string, stop: Stop): Promise<void> {
  const port = await freePort()
  const others = Object.entries(ownEnvironment()).filter(([name]) => !name.startsWith('CONVOHOUSE_'))
  const env = { ...Object.fromEntries(others), CONVOHOUSE_HOME: home }
  // What it says while it starts matters only if it cannot start.
  let starting: string[] | null = []
  const supervisor = supervise({
    ...{
      entry: process.argv[1]!,
      args: ['serve', '--supervised', '--address', `${HOST}:${port}`],
      place: { env, cwd: home },
    },
    ...{ subject: 'The process that serves the dashboard', isRestartedOnceReady: true },
    remark: (...lines) => (starting ? void starting.push(...lines) : log(...lines)),
  })
  const isServing = await supervisor.held
  if (isServing) {
    starting = null
    print(`The dashboard is at ${urlOf({ host: HOST, port })}/ (Ctrl-C ends it).`)
    await untilStopping(stop)
    supervisor.stop()
  } else log(...starting)
  await supervisor.ended
}
