// An index of conversations by the hours in which something happens to them.
import { HOUR } from '../../core/time.ts'
import { LONGEST_LIFETIME_MS } from '../world/schedule.ts'

interface AgendaWorld {
  /** The index of every conversation is below this. */
  limit: number
  /** Start times never decrease with the index. */
  createdMs(index: number): number
  /** Returns a time in each hour in which something happens to the conversation. */
  coarseMoments(index: number): number[]
}

/** Indexes only the conversations that began at most `LONGEST_LIFETIME_MS` before the hours that were asked for. */
export class Agenda {
  private readonly world: AgendaWorld
  private readonly hours = new Map<number, Set<number>>()
  /** Conversations with an index from `from` up to, but not including, `until` have been entered into `hours`. */
  private from = 0
  private until = 0

  constructor(world: AgendaWorld) {
    this.world = world
  }

  /** Returns the indices of the conversations in which something happens during that hour, which counts from the epoch. */
  inHour(hour: number): number[] {
    this.cover(this.firstSince(hour * HOUR - LONGEST_LIFETIME_MS), this.firstSince((hour + 1) * HOUR))
    return [...(this.hours.get(hour) ?? [])].sort((a, b) => a - b)
  }

  private cover(from: number, until: number): void {
    if (from > this.until || until < this.from) {
      this.hours.clear()
      this.from = from
      this.until = from
    }
    for (let index = from; index < this.from; index++) this.enter(index)
    for (let index = this.until; index < until; index++) this.enter(index)
    this.from = Math.min(this.from, from)
    this.until = Math.max(this.until, until)
  }

  private enter(index: number): void {
    for (const ms of this.world.coarseMoments(index)) {
      const hour = Math.floor(ms / HOUR)
      const indices = this.hours.get(hour) ?? new Set()
      this.hours.set(hour, indices.add(index))
    }
  }

  /** Finds the first conversation that begins at or after that time, by bisection. */
  private firstSince(ms: number): number {
    let low = 0
    let high = this.world.limit
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.world.createdMs(middle) < ms) low = middle + 1
      else high = middle
    }
    return low
  }
}
