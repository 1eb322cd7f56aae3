// Counts the webhook events of a workspace (received, waiting, applied) for displays that follow the process that
// applies them. Waiting events are counted in the spool, because other processes may receive them.
import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkspaceConfig } from '../config.ts'
import { SECOND } from '../core/time.ts'
import { hasSpool } from '../spool/folders.ts'
import { openSegments } from '../spool/segments.ts'
import { countWaiting } from '../spool/waiting.ts'
import type { DrainCounts } from './supervision/messages.ts'

export interface EventCounts {
  /** Number of events since this process started, including those that were already waiting. */
  received: number
  waiting: number
  /** Number of applied events without duplicates. */
  applied: number
}

interface WatchEvents {
  /** The workspace's drainer. */
  drained: { counts(): DrainCounts; drain?(): Promise<unknown> }
  home: string
  workspace: WorkspaceConfig
  onCounts: (counts: EventCounts) => void
}

const LOOK_EVERY_MS = SECOND
/** A receiver seals a segment after one second. A segment that is open for longer probably belongs to a killed receiver. */
const SEALED_WITHIN_MS = 5 * SECOND
const SEALED_LOOK_MS = 100

export interface EventWatch {
  /** Applies waiting events, including those acknowledged before the watch began, and reports the final counts. */
  settle(stopping: AbortSignal): Promise<void>
  end(): void
}

/** Reports the counts every second, from the first event on, until `end`. */
export function watchEvents({ drained, home, workspace, onCounts }: WatchEvents): EventWatch {
  const ending = new AbortController()
  const { signal } = ending
  const waitingNow = countWaiting(home, workspace.id)
  let received = 0
  const look = async () => {
    if (!hasSpool(home, workspace.id)) return
    // An event that is drained between the two reads is in neither count; none is ever in both. So the largest sum so far is correct.
    const { taken, applied } = drained.counts()
    const { events: waiting } = await waitingNow()
    received = Math.max(received, taken + waiting)
    if (received > 0 && !signal.aborted) onCounts({ received, waiting, applied })
  }
  const watch = async () => {
    while (!signal.aborted) {
      // Errors are ignored here: the drainer reports disk errors.
      await look().catch(() => {})
      await sleep(LOOK_EVERY_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }
  const open = async (): Promise<string[]> => {
    const segments = await openSegments(home, workspace.id, Date.now())
    return segments.filter(({ bytes }) => bytes > 0).map(({ name }) => name)
  }
  const begunMs = performance.now()
  const openAtFirst = open().catch((): string[] => [])
  const sealed = async (stopping: AbortSignal) => {
    const awaited = await openAtFirst
    const isOpen = async () => awaited.length > 0 && (await open()).some(name => awaited.includes(name))
    while (performance.now() < begunMs + SEALED_WITHIN_MS && !stopping.aborted && (await isOpen()))
      await sleep(SEALED_LOOK_MS, undefined, { signal: stopping })
  }
  watch()
  return {
    async settle(stopping) {
      if (!hasSpool(home, workspace.id)) return
      await sealed(stopping).catch(() => {})
      await drained.drain?.().catch(() => {})
      await look().catch(() => {})
    },
    end: () => ending.abort(),
  }
}
