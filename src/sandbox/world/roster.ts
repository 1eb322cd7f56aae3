// Each agent's conversations and their order, extended as the clock advances.
import { DAY } from '../../core/time.ts'
import { MAX_CONVERSATIONS, type ResolvedOptions } from '../options.ts'
import { ConversationOrder, TIME_SPAN_MS } from './order.ts'
import type { Placement } from './placement.ts'
import { activityMoment, LONGEST_LIFE_MS, recordHasTs, type Schedule, type Scheduler } from './schedule.ts'

/** Arrivals are computed this far ahead of the clock, so that a running clock rarely costs a sort. */
const AHEAD_MS = 30 * DAY

export interface Roster {
  /** The latest possible time: later ones do not fit into the order's keys, and no conversation begins after it. */
  readonly lastMs: number
  orderOf(agent: number, nowMs: number): ConversationOrder
  /** Indices of the agent's conversations in the mirror, oldest first. */
  shown(agent: number, nowMs: number): Iterable<number>
  /** The number of conversations in the mirror. Costs O(log n), plus the conversations of the last `lateMs` if some are late. */
  countShown(agent: number, nowMs: number): number
}

export function createRoster(options: ResolvedOptions, placement: Placement, schedule: Scheduler): Roster {
  const baseMs = options.startMs - (options.historyDays + 1) * DAY
  const lastMs = Math.floor(baseMs + TIME_SPAN_MS - LONGEST_LIFE_MS)
  const agents = Array.from({ length: options.agents }, () => ({
    members: [] as number[],
    order: new ConversationOrder(Math.floor(baseMs), options.readings.ties === 'descending'),
  }))
  let next = 0
  let knownUntilMs = Number.NEGATIVE_INFINITY

  const add = (index: number): void => {
    const { members, order } = agents[placement.agentOf(index)]!
    members.push(index)
    if (!recordHasTs(options, index)) order.add({ ts: 0, index }, 0)
    else if (options.ts === 'created') order.add({ ts: placement.createdMs(index), index }, 0)
    else addActivity(order, schedule(index))
  }

  const ensure = (nowMs: number): void => {
    if (nowMs <= knownUntilMs) return
    while (next < options.conversations) add(next++)
    knownUntilMs = Math.max(nowMs, options.startMs) + AHEAD_MS
    if (options.arrivalsPerDay === 0) return
    const horizonMs = Math.min(knownUntilMs, lastMs)
    while (next < MAX_CONVERSATIONS && placement.createdMs(next) <= horizonMs) add(next++)
  }

  const countBegun = (agent: number, nowMs: number): number => {
    ensure(nowMs)
    const { members } = agents[agent]!
    let low = 0
    let high = members.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (placement.createdMs(members[middle]!) <= nowMs) low = middle + 1
      else high = middle
    }
    return low
  }

  function* shown(agent: number, nowMs: number, from = 0): Generator<number> {
    const count = countBegun(agent, nowMs)
    for (let position = from; position < count; position++) {
      const index = agents[agent]!.members[position]!
      if (placement.shownMs(index) <= nowMs) yield index
    }
  }

  const countShown = (agent: number, nowMs: number): number => {
    if (options.lateShare === 0) return countBegun(agent, nowMs)
    let count = countBegun(agent, nowMs - options.lateMs)
    for (const _ of shown(agent, nowMs, count)) count++
    return count
  }

  return {
    lastMs,
    countShown,
    shown,
    orderOf(agent, nowMs) {
      ensure(nowMs)
      return agents[agent]!.order
    },
  }
}

/** Runs for every conversation at the start. Hence a plain loop: iterators took a third of the start's time. */
function addActivity(order: ConversationOrder, { index, sessions }: Schedule): void {
  for (let moment = 0; moment < 2 * sessions.length; moment++) {
    order.add({ ts: activityMoment(sessions, moment), index }, moment)
  }
}
