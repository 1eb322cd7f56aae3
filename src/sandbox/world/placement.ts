// Determines when each conversation begins, and with which agent, from its index. Start times never decrease with the index.
import { DAY, HOUR } from '../../core/time.ts'
import type { ResolvedOptions } from '../options.ts'
import { Draw, PURPOSE } from './random.ts'

/** Amplitude of the daily rhythm; must be below a day / 2π (3.8 h) to keep start times in index order. */
const RHYTHM_MS = 2.5 * HOUR

/** Group size within which neighbours may share a `ts`. */
const BLOCK = 4
const BLOCK_SHARE = 0.02

export type Placement = ReturnType<typeof createPlacement>

export function createPlacement(options: ResolvedOptions) {
  const { seed, conversations } = options
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
  const createdMs = (index: number): number => begin(options, leaderOf(index))
  return { leaderOf, agentOf, createdMs }
}

function begin(options: ResolvedOptions, index: number): number {
  const { seed, conversations, startMs, historyDays, arrivalsPerDay } = options
  const jitter = new Draw(seed, index, PURPOSE.timing).unit()
  const evenly =
    index < conversations
      ? ((index + jitter) / conversations - 1) * historyDays * DAY
      : ((index - conversations + jitter) / arrivalsPerDay) * DAY
  // The sine is 0 at the start, so the rhythm moves nothing across it.
  return Math.floor(startMs + evenly + RHYTHM_MS * Math.sin((2 * Math.PI * evenly) / DAY))
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
