// The snapshot that `serve` keeps if none is configured. The process that holds the warehouse publishes it, as any target. While no
// process holds the warehouse, `serve` has a process of its own publish it, which gives way to a sync.
import { stat } from 'node:fs/promises'
import { systemClock } from '../clock.ts'
import { SECOND } from '../core/time.ts'
import { answers, socketPath } from '../warehouse/query/http/socket-path.ts'
import { warehouseFile } from '../warehouse/warehouse-file.ts'

/** Path of the question that asks a publishing process to give way. */
export const YIELD_PATH = '/yield'

const LOOK_EVERY_MS = 5 * SECOND

interface OwnSnapshot {
  home: string
  /** Minimum time from one publication to the next. */
  everyMs: number
  /** Publishes in a process of its own. */
  publish(): Promise<'done' | 'failed' | 'gave way'>
}

/** True if a process that answers queries holds the warehouse. */
export const isHeld = (home: string): Promise<boolean> => socketPath(home).then(answers, () => false)

/** Returns the time of the last change of the warehouse; null without one. */
async function changedMs(home: string): Promise<number | null> {
  const file = warehouseFile(home)
  const times = await Promise.all(
    [file, `${file}.wal`].map(path =>
      stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  )
  return Math.max(...times) || null
}

/** Keeps the snapshot until `signal` aborts. */
export async function keepOwnSnapshot({ home, everyMs, publish }: OwnSnapshot, signal: AbortSignal): Promise<void> {
  let published: { changedMs: number | null; atMs: number } | null = null
  while (!signal.aborted) {
    const nowMs = systemClock.now()
    const changed = await changedMs(home)
    const isDue = published === null || (changed !== published.changedMs && nowMs - published.atMs >= everyMs)
    if (changed !== null && isDue && !(await isHeld(home))) {
      const outcome = await publish()
      // The publication itself writes to the warehouse.
      if (outcome === 'done') published = { changedMs: await changedMs(home), atMs: nowMs }
      if (outcome === 'failed') published = { changedMs: null, atMs: nowMs }
    }
    await systemClock.sleepUntil(nowMs + LOOK_EVERY_MS, signal).catch(() => {})
  }
}
