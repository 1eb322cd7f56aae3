// In which order events go out: that of their creation, but for those that are late, behind others, or sent again.

import { Agent, request } from 'undici'
import { MINUTE } from '../../core/time.ts'
import type { WorldEvent } from '../events/event-types.ts'
import type { EventFate } from './event-faults.ts'
import type { EmittedEvent } from './event-log.ts'

export interface Dispatched {
  event: WorldEvent
  fate: EventFate
  entry: EmittedEvent
}

interface Held extends Dispatched {
  dueMs: number
  /** Events that are to go out before it; it goes no later than when it is due. */
  behind: number
}

interface DispatchWorld {
  /** Events created after the one time, up to the other, in order. */
  events(afterMs: number, untilMs: number): Iterator<WorldEvent>
  /** Undefined for an event that is never sent. */
  judge(event: WorldEvent): Dispatched | undefined
}

const LONGEST_BEHIND_MS = MINUTE

export class Dispatch {
  private readonly world: DispatchWorld
  /** All that was created until then has been taken from the world, or will be by `coming`. */
  private reachedMs: number
  private coming: Iterator<WorldEvent> | undefined
  private next: WorldEvent | undefined
  private announced: WorldEvent[] = []
  /** By when they are due. */
  private held: Held[] = []
  /** Those of them that are behind others. */
  private behind: Held[] = []
  private again: Dispatched[] = []

  constructor(world: DispatchWorld, nowMs: number) {
    this.world = world
    this.reachedMs = nowMs
  }

  get waiting(): number {
    return this.held.length
  }

  /** What happens until then is told to nobody; what waits is forgotten. */
  skipTo(nowMs: number): void {
    this.reachedMs = Math.max(this.reachedMs, nowMs)
    this.coming = undefined
    this.next = undefined
    this.announced = []
    this.held = []
    this.behind = []
    this.again = []
  }

  /** An event that the world does not know of beforehand. */
  announce(event: WorldEvent): void {
    this.announced.push(event)
  }

  /** The next that is to go out by now; undefined where none is. */
  take(nowMs: number): Dispatched | undefined {
    const again = this.again.pop()
    if (again !== undefined) return again
    for (;;) {
      const next = this.peek(nowMs)
      const due = this.takeHeld(next?.createdMs ?? nowMs)
      if (due !== undefined) return this.sent(due)
      if (next === undefined) return undefined
      this.pass()
      const dispatched = this.world.judge(next)
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

  /** Leaves behind what `peek` has shown. */
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
    const { event, fate } = dispatched
    if (fate.pace === undefined) return false
    const { name, param } = fate.pace
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
    const copies = dispatched.fate.copies?.param ?? 0
    for (let copy = 0; copy < copies; copy++) this.again.push(dispatched)
    return dispatched
  }
}

// One event to its address, once: the vendor never sends an event again.

interface Posted {
  url: string
  body: string
  timeoutMs: number
}

/** Connections to the configured address. */
export class Poster {
  private readonly agent = new Agent({ connections: 1_000, pipelining: 1 })

  /** The answer's status; 0 where none came in time, or not whole. */
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

  /** Gives up what is under way. */
  close(): Promise<void> {
    return this.agent.destroy()
  }
}
