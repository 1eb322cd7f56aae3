// Each agent's conversations and their order, extended as the clock advances.
import { DAY } from '../../core/time.ts'
import { MAX_CONVERSATIONS, type ResolvedOptions } from '../options.ts'
import type { Placement } from './placement.ts'
import { activityMoment, recordHasTs, type Scheduler } from './schedule.ts'

/** Time ahead of the clock for which arrivals are computed, so that a running clock rarely costs a sort. */
const AHEAD_MS = 30 * DAY

export class Roster {
  private readonly options: ResolvedOptions
  private readonly placement: Placement
  private readonly schedule: Scheduler
  private readonly agents: { members: number[]; order: ConversationOrder }[]
  private next = 0
  private knownUntilMs = Number.NEGATIVE_INFINITY

  constructor(options: ResolvedOptions, placement: Placement, schedule: Scheduler) {
    this.options = options
    this.placement = placement
    this.schedule = schedule
    this.agents = Array.from({ length: options.agents }, () => ({ members: [], order: new ConversationOrder() }))
  }

  orderOf(agent: number, nowMs: number): ConversationOrder {
    this.ensure(nowMs)
    return this.agents[agent]!.order
  }

  /** Yields the indices of the agent's conversations in the mirror, oldest first. */
  *shown(agent: number, nowMs: number): Generator<number> {
    this.ensure(nowMs)
    for (const index of this.agents[agent]!.members) {
      if (this.placement.createdMs(index) > nowMs) return
      yield index
    }
  }

  private ensure(nowMs: number): void {
    if (nowMs <= this.knownUntilMs) return
    const { conversations, startMs, arrivalsPerDay } = this.options
    while (this.next < conversations) this.add(this.next++)
    this.knownUntilMs = Math.max(nowMs, startMs) + AHEAD_MS
    if (arrivalsPerDay === 0) return
    while (this.next < MAX_CONVERSATIONS && this.placement.createdMs(this.next) <= this.knownUntilMs)
      this.add(this.next++)
  }

  private add(index: number): void {
    const { members, order } = this.agents[this.placement.agentOf(index)]!
    members.push(index)
    if (!recordHasTs(this.options, index)) order.add({ ts: 0, index, moment: 0 })
    else if (this.options.ts === 'created') order.add({ ts: this.placement.createdMs(index), index, moment: 0 })
    else {
      const { sessions } = this.schedule(index)
      for (let moment = 0; moment < 2 * sessions.length; moment++)
        order.add({ ts: activityMoment(sessions, moment), index, moment })
    }
  }
}

// The order in which an agent's conversations are paged, at any time of the clock.
//
// A conversation's position is its creation or, with `ts: 'activity'`, the last start or end of a session. One sorted
// array contains all these moments, including future ones. At time T an entry counts if it has happened and the
// conversation's next moment has not, so the array never changes as the clock advances.

export interface Place {
  /** `ts` that orders the conversation, in ms; 0 if the record has none. */
  ts: number
  index: number
}

interface Entry extends Place {
  /** Number of the moment in the conversation's life, from 0. */
  moment: number
}

export interface Walk {
  sort: 'asc' | 'desc'
  /** Inclusive bounds on `ts`, in ms. */
  fromMs: number
  toMs: number
  /** The position at which the previous walk stopped; this walk starts after it. */
  after: Place | undefined
}

/** True if that moment is the conversation's current position. */
export type IsCurrent = (index: number, moment: number) => boolean

class ConversationOrder {
  private readonly entries: Entry[] = []
  private sorted = true

  add(entry: Entry): void {
    this.entries.push(entry)
    this.sorted = false
  }

  /** Yields the conversations of the range in order, at their current position. */
  *walk({ sort, fromMs, toMs, after }: Walk, isCurrent: IsCurrent): Generator<Place> {
    if (!this.sorted) this.entries.sort(compare)
    this.sorted = true
    const isAscending = sort === 'asc'
    // Ascending: entries up to `after` and below the bound are skipped; descending: those above both are.
    let at = isAscending
      ? Math.max(this.countBelow({ ts: fromMs, index: -1 }), after ? this.countBelow(next(after)) : 0)
      : Math.min(this.countBelow({ ts: toMs + 1, index: -1 }), after ? this.countBelow(after) : this.entries.length) - 1
    for (; at >= 0 && at < this.entries.length; at += isAscending ? 1 : -1) {
      const { ts, index, moment } = this.entries[at]!
      if (isAscending ? ts > toMs : ts < fromMs) return
      if (isCurrent(index, moment)) yield { ts, index }
    }
  }

  /** Counts the entries before that place, by bisection. */
  private countBelow(place: Place): number {
    let low = 0
    let high = this.entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compare(this.entries[middle]!, place) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

const compare = (a: Place, b: Place): number => a.ts - b.ts || a.index - b.index

const next = ({ ts, index }: Place): Place => ({ ts, index: index + 1 })
