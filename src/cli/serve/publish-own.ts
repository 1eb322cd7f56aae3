// The process that publishes the snapshot of `serve` while nobody holds the warehouse. It gives way to a command that asks for the warehouse.
import type { Config } from '../../config.ts'
import { EXIT_CODES, isCode } from '../../core/errors.ts'
import { publish } from '../../publish/publish.ts'
import { YIELD_PATH } from '../../serve/own-snapshot.ts'
import { openAppWhenReleased } from '../open-app.ts'
import { stopOnSignals } from '../terminal/signals.ts'

/** Returns the exit code: that of an interruption if it gave way, or if another process holds the warehouse. @throws as `publish` */
export async function publishOwnSnapshot(config: Config): Promise<number> {
  const { home, threads, extensions, models, serve } = config
  const stop = stopOnSignals()
  const yielding = new AbortController()
  const signal = AbortSignal.any([stop.stopping, yielding.signal])
  try {
    const app = await openAppWhenReleased(config)
    app.questions.set(YIELD_PATH, async () => {
      yielding.abort()
      return true
    })
    const settings = { ...config.publish, threads, extensions, models }
    const { warehouse } = app
    await publish({ warehouse, home, target: serve.target, settings, signal }).finally(() => app.close())
    return EXIT_CODES.ok
  } catch (error) {
    if (isCode(error, 'INTERRUPTED', 'WAREHOUSE_LOCKED')) return EXIT_CODES.interrupted
    throw error
  } finally {
    stop.release()
  }
}
