// Sends events in the order of their creation. Each is posted once.

import type { WorldEvent } from '../events/event-types.ts'

/** Yields events created after `afterMs`, up to `untilMs`, in order. */
export type EventsBetween = (afterMs: number, untilMs: number) => Iterator<WorldEvent>

export class Dispatch {
  private readonly events: EventsBetween
  /** Time up to which events were taken from the world, or are in `coming`. */
  private reachedMs: number
  private coming: Iterator<WorldEvent> | undefined
  private announced: WorldEvent[] = []

  constructor(events: EventsBetween, nowMs: number) {
    this.events = events
    this.reachedMs = nowMs
  }

  /** Skips all events up to that time. */
  skipTo(nowMs: number): void {
    this.reachedMs = Math.max(this.reachedMs, nowMs)
    this.coming = undefined
    this.announced = []
  }

  /** Adds an event from outside the world's schedule. */
  announce(event: WorldEvent): void {
    this.announced.push(event)
  }

  /** Takes the next event that is due; undefined if there is none. */
  take(nowMs: number): WorldEvent | undefined {
    const announced = this.announced.shift()
    if (announced !== undefined) return announced
    if (this.coming === undefined && nowMs > this.reachedMs) {
      this.coming = this.events(this.reachedMs, nowMs)
      this.reachedMs = nowMs
    }
    const { done, value } = this.coming?.next() ?? { done: true, value: undefined }
    if (!done) return value
    this.coming = undefined
    return undefined
  }
}

/** The vendor's timeout (API document, section 6.1). */
const TIMEOUT_MS = 60_000

/** Posts an event once: the vendor never resends. Returns the answer's status; 0 without a complete answer in time. */
export async function post(url: string, body: string, closed: AbortSignal): Promise<number> {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'user-agent': 'convohouse-sandbox' }
  const signal = AbortSignal.any([closed, AbortSignal.timeout(TIMEOUT_MS)])
  try {
    const answer = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal })
    await answer.arrayBuffer()
    return answer.status
  } catch {
    return 0
  }
}
