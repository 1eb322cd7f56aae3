// Determines when each conversation begins, and with which agent, from its index. Start times never decrease with the index.
import { DAY } from '../../core/time.ts'
import type { ResolvedOptions } from '../options.ts'
import { Draw, PURPOSE } from './random.ts'
import { createWorkingHours, type Rhythm } from './working-hours.ts'

/** Group size within which neighbours may share a `ts`. */
const BLOCK = 4
const BLOCK_SHARE = 0.02

export type Placement = ReturnType<typeof createPlacement>

export function createPlacement(options: ResolvedOptions) {
  const { seed, conversations } = options
  const hours = createWorkingHours(options)
  const begin = createBegin(options, hours.contacts)
  const cumulative = agentShares(options.agents)
  /** Returns the conversation whose times this one shares; usually the conversation itself. */
  const leaderOf = (index: number): number => {
    const first = index - (index % BLOCK)
    // A block that spans existing and arriving conversations would move some arrivals into the past.
    if (first < conversations && first + BLOCK > conversations) return index
    return new Draw(seed, first, PURPOSE.run).chance(BLOCK_SHARE) ? first : index
  }
  /** Returns the agent of a conversation, counted from 0. */
  const agentOf = (index: number): number => {
    const unit = new Draw(seed, leaderOf(index), PURPOSE.placement).unit()
    return cumulative.findIndex(share => unit < share)
  }
  /** Returns the time of its first message, in ms; grows with the index. */
  const createdMs = (index: number): number => begin(leaderOf(index))
  return { hours, leaderOf, agentOf, createdMs }
}

/** Spreads conversations evenly over the activity of contacts. */
function createBegin(options: ResolvedOptions, contacts: Rhythm): (index: number) => number {
  const { seed, conversations, startMs, historyDays, arrivalsPerDay } = options
  const historyMs = contacts.level(startMs) - contacts.level(startMs - historyDays * DAY)
  return index => {
    const place = index - conversations + new Draw(seed, index, PURPOSE.timing).unit()
    // Rounding must not move a conversation across the start.
    if (index < conversations) return Math.min(startMs, contacts.after(startMs, (place / conversations) * historyMs))
    return Math.max(startMs, contacts.after(startMs, (place / arrivalsPerDay) * DAY))
  }
}

/** Returns the cumulative shares of the agents; a higher agent number has a smaller share. The last sum is exactly 1. */
function agentShares(agents: number): number[] {
  const weights = Array.from({ length: agents }, (_, agent) => (agent + 1) ** -0.7)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let sum = 0
  const shares = weights.map(weight => {
    sum += weight
    return sum / total
  })
  shares[agents - 1] = 1
  return shares
}
