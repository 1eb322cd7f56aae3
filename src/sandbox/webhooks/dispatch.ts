// The order in which events are sent: by creation, except for delayed and duplicated ones. Each is posted once.

import { Agent, request } from 'undici'
import type { WorldEvent } from '../events/event-types.ts'
import type { EventFaultPlan } from './webhook-settings.ts'

export interface Dispatched {
  event: WorldEvent
  plan: EventFaultPlan
}

interface Held extends Dispatched {
  dueMs: number
}

interface DispatchWorld {
  /** Yields events created after `afterMs`, up to `untilMs`, in order. */
  events(afterMs: number, untilMs: number): Iterator<WorldEvent>
  /** Returns the event with its faults; undefined if the event is never sent. */
  admit(event: WorldEvent): Dispatched | undefined
}

export class Dispatch {
  private readonly world: DispatchWorld
  /** Time up to which events were taken from the world, or are in `coming`. */
  private reachedMs: number
  private coming: Iterator<WorldEvent> | undefined
  private next: WorldEvent | undefined
  private announced: WorldEvent[] = []
  /** Delayed events, sorted by due time. */
  private held: Held[] = []
  private duplicates: Dispatched[] = []

  constructor(world: DispatchWorld, nowMs: number) {
    this.world = world
    this.reachedMs = nowMs
  }

  get waiting(): number {
    return this.held.length
  }

  /** Skips all events up to that time, and drops events that are waiting. */
  skipTo(nowMs: number): void {
    this.reachedMs = Math.max(this.reachedMs, nowMs)
    this.coming = undefined
    this.next = undefined
    this.announced = []
    this.held = []
    this.duplicates = []
  }

  /** Adds an event from outside the world's schedule. */
  announce(event: WorldEvent): void {
    this.announced.push(event)
  }

  /** Takes the next event that is due; undefined if there is none. */
  take(nowMs: number): Dispatched | undefined {
    const duplicate = this.duplicates.pop()
    if (duplicate !== undefined) return duplicate
    for (;;) {
      const next = this.announced[0] ?? this.peek(nowMs)
      const held = this.held[0]
      if (held !== undefined && held.dueMs <= (next?.createdMs ?? nowMs)) return this.sent(this.held.shift()!)
      if (next === undefined) return undefined
      if (this.announced.shift() === undefined) this.next = undefined
      const dispatched = this.world.admit(next)
      if (dispatched === undefined) continue
      if (dispatched.plan.delayed === undefined) return this.sent(dispatched)
      this.hold({ ...dispatched, dueMs: next.createdMs + dispatched.plan.delayed })
    }
  }

  private peek(nowMs: number): WorldEvent | undefined {
    if (this.next !== undefined) return this.next
    if (this.coming === undefined && nowMs > this.reachedMs) {
      this.coming = this.world.events(this.reachedMs, nowMs)
      this.reachedMs = nowMs
    }
    const { done, value } = this.coming?.next() ?? { done: true, value: undefined }
    if (done) this.coming = undefined
    else this.next = value
    return this.next
  }

  private hold(held: Held): void {
    const place = this.held.findIndex(({ dueMs }) => dueMs > held.dueMs)
    this.held.splice(place < 0 ? this.held.length : place, 0, held)
  }

  private sent(dispatched: Dispatched): Dispatched {
    for (let copy = 0; copy < (dispatched.plan.duplicated ?? 0); copy++) this.duplicates.push(dispatched)
    return dispatched
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
