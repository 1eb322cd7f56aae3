// Sends events in the order of their creation. Each is posted once.

import { Agent, request } from 'undici'
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

/** Posts to the configured address, once per event: the vendor never resends. */
export class Poster {
  private readonly agent = new Agent({ connections: 1_000, pipelining: 1 })

  /** Returns the answer's status; 0 without a complete answer in time. */
  async post(url: string, body: string): Promise<number> {
    try {
      const answer = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8', 'user-agent': 'convohouse-sandbox' },
        body,
        dispatcher: this.agent,
        headersTimeout: 0,
        bodyTimeout: 0,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      await answer.body.dump()
      return answer.statusCode
    } catch {
      return 0
    }
  }

  /** Aborts requests in flight. */
  close(): Promise<void> {
    return this.agent.destroy()
  }
}
