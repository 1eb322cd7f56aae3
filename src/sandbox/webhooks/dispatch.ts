// The order in which events are sent: by creation, except for delayed, reordered and duplicated ones. Each is posted once.

import { Agent, request } from 'undici'
import { MINUTE } from '../../core/time.ts'
import type { WorldEvent } from '../events/event-types.ts'
import type { EventFaultPlan } from './event-faults.ts'
import type { EmittedEvent } from './event-log.ts'

export interface Dispatched {
  event: WorldEvent
  plan: EventFaultPlan
  entry: EmittedEvent
}

interface Held extends Dispatched {
  dueMs: number
  /** How many other events are sent before this one, which is sent at `dueMs` at the latest. */
  behind: number
}

interface DispatchWorld {
  /** Events created after `afterMs`, up to `untilMs`, in order. */
  events(afterMs: number, untilMs: number): Iterator<WorldEvent>
  /** The event with its faults and log entry; undefined if the event is never sent. */
  admit(event: WorldEvent): Dispatched | undefined
}

const LONGEST_BEHIND_MS = MINUTE

export class Dispatch {
  private readonly world: DispatchWorld
  /** Events up to this time were taken from the world, or are in `coming`. */
  private reachedMs: number
  private coming: Iterator<WorldEvent> | undefined
  private next: WorldEvent | undefined
  private announced: WorldEvent[] = []
  /** Delayed events by due time. */
  private held: Held[] = []
  /** Delayed events that wait for a number of later events. */
  private behind: Held[] = []
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
    this.behind = []
    this.duplicates = []
  }

  /** Adds an event from outside the world's schedule. */
  announce(event: WorldEvent): void {
    this.announced.push(event)
  }

  /** The next event that is due; undefined if there is none. */
  take(nowMs: number): Dispatched | undefined {
    const duplicate = this.duplicates.pop()
    if (duplicate !== undefined) return duplicate
    for (;;) {
      const next = this.peek(nowMs)
      const due = this.takeHeld(next?.createdMs ?? nowMs)
      if (due !== undefined) return this.sent(due)
      if (next === undefined) return undefined
      this.pass()
      const dispatched = this.world.admit(next)
      if (dispatched !== undefined && !this.hold(dispatched)) return this.sent(dispatched)
    }
  }

  private peek(nowMs: number): WorldEvent | undefined {
    if (this.announced[0] !== undefined) return this.announced[0]
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

  /** Removes the event that `peek` returned. */
  private pass(): void {
    if (this.announced.shift() === undefined) this.next = undefined
  }

  private takeHeld(untilMs: number): Dispatched | undefined {
    const place = this.held.findIndex(({ dueMs, behind }) => dueMs <= untilMs || behind <= 0)
    if (place < 0) return undefined
    const [taken] = this.held.splice(place, 1)
    this.behind = this.behind.filter(one => one !== taken)
    return taken
  }

  private hold(dispatched: Dispatched): boolean {
    const { event, plan } = dispatched
    if (plan.pace === undefined) return false
    const { name, param } = plan.pace
    const isBehind = name === 'reordered'
    const held: Held = {
      ...dispatched,
      dueMs: event.createdMs + (isBehind ? LONGEST_BEHIND_MS : param),
      behind: isBehind ? param : Number.POSITIVE_INFINITY,
    }
    if (isBehind) this.behind.push(held)
    const place = this.held.findIndex(({ dueMs }) => dueMs > held.dueMs)
    this.held.splice(place < 0 ? this.held.length : place, 0, held)
    return true
  }

  private sent(dispatched: Dispatched): Dispatched {
    for (const held of this.behind) held.behind--
    const copies = dispatched.plan.copies?.param ?? 0
    for (let copy = 0; copy < copies; copy++) this.duplicates.push(dispatched)
    return dispatched
  }
}

interface Posted {
  url: string
  body: string
  timeoutMs: number
}

/** Posts to the configured address, once per event: the vendor never resends. */
export class Poster {
  private readonly agent = new Agent({ connections: 1_000, pipelining: 1 })

  /** The answer's status; 0 without a complete answer in time. */
  async post({ url, body, timeoutMs }: Posted): Promise<number> {
    try {
      const answer = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8', 'user-agent': 'convohouse-sandbox' },
        body,
        dispatcher: this.agent,
        headersTimeout: 0,
        bodyTimeout: 0,
        signal: AbortSignal.timeout(timeoutMs),
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
