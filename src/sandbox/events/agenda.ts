// Which conversations have something to tell in an hour. Found by when they began: nothing happens to one longer than
// `LONGEST_TALE_MS` after that, so an hour asks for those alone, each of which is looked at once.
import { HOUR } from '../../core/time.ts'
import type { Placement } from '../placement.ts'
import { LONGEST_TALE_MS } from '../schedule.ts'

export interface AgendaWorld {
  placement: Placement
  /** Indices are below this. */
  limit: number
  /** Calls back for all times between which something may happen to the conversation. */
  eachSpan(index: number, see: (fromMs: number, untilMs: number) => void): void
}

export class Agenda {
  private readonly world: AgendaWorld
  private readonly hours = new Map<number, number[]>()
  /** Indices that have been looked at: from the first up to the second. */
  private from = 0
  private until = 0

  constructor(world: AgendaWorld) {
    this.world = world
  }

  /** Conversations to which something may happen in the hour of that number since the epoch; each once. */
  inHour(hour: number): readonly number[] {
    this.lookAt(this.firstSince(hour * HOUR - LONGEST_TALE_MS), this.firstSince((hour + 1) * HOUR))
    return this.hours.get(hour) ?? []
  }

  private lookAt(from: number, until: number): void {
    if (from > this.until || until < this.from) this.forget(from)
    for (let index = from; index < this.from; index++) this.enter(index)
    for (let index = this.until; index < until; index++) this.enter(index)
    this.from = Math.min(this.from, from)
    this.until = Math.max(this.until, until)
  }

  private forget(at: number): void {
    this.hours.clear()
    this.from = at
    this.until = at
  }

  private enter(index: number): void {
    this.world.eachSpan(index, (fromMs, untilMs) => {
      for (let hour = Math.floor(fromMs / HOUR); hour * HOUR <= untilMs; hour++) {
        const list = this.hours.get(hour)
        if (list === undefined) this.hours.set(hour, [index])
        // Each is entered in one go: where it is in the list already, it is the last.
        else if (list.at(-1) !== index) list.push(index)
      }
    })
  }

  /** The first conversation that begins then or later, by bisection. */
  private firstSince(ms: number): number {
    let low = 0
    let high = this.world.limit
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.world.placement.createdMs(middle) < ms) low = middle + 1
      else high = middle
    }
    return low
  }
}
