// When each conversation begins, and with which agent: a function of its index. Later indices never begin earlier.
import { DAY, HOUR } from '../core/time.ts'
import type { ResolvedOptions } from './options.ts'
import { Draw, PURPOSE } from './random.ts'

/** How far the daily rhythm moves a conversation; below a day / 2π (3.8 h), or the order of the indices would break. */
const RHYTHM_MS = 2.5 * HOUR

/** Neighbours that may share one `ts`. */
const BLOCK = 4
const BLOCK_SHARE = 0.02

/** A long run of equal `ts`, longer than any page, in the first agent when that is large enough. */
const RUN_LENGTH = 150
const RUN_NEEDS = 2_000

export interface Placement {
  /** Agent of a conversation, counted from 0. */
  agentOf(index: number): number
  /** Time of its first message, in ms; grows with the index. */
  createdMs(index: number): number
  /** The conversation whose times this one shares; itself in most cases. */
  leaderOf(index: number): number
}

export function createPlacement(options: ResolvedOptions): Placement {
  const { seed, conversations } = options
  const cumulative = agentShares(options.agents)
  const runStart = runOfEqualTimes(options, cumulative[0]!)

  const inRun = (index: number) => index >= runStart && index < runStart + RUN_LENGTH
  const leaderOf = (index: number): number => {
    if (inRun(index)) return runStart
    const first = index - (index % BLOCK)
    const straddles = first < conversations && first + BLOCK > conversations
    if (straddles || inRun(first)) return index
    return new Draw(seed, first, PURPOSE.run).chance(BLOCK_SHARE) ? first : index
  }
  const agentOf = (index: number): number => {
    const leader = leaderOf(index)
    if (leader === runStart) return 0
    const unit = new Draw(seed, leader, PURPOSE.placement).unit()
    return cumulative.findIndex(share => unit < share)
  }
  return { leaderOf, agentOf, createdMs: index => begin(options, leaderOf(index)) }
}

function begin(options: ResolvedOptions, index: number): number {
  const { seed, conversations, startMs, historyDays, arrivalsPerDay } = options
  const jitter = new Draw(seed, index, PURPOSE.timing).unit()
  const evenly =
    index < conversations
      ? ((index + jitter) / conversations - 1) * historyDays * DAY
      : ((index - conversations + jitter) / arrivalsPerDay) * DAY
  // Around the start the sine is 0, so the rhythm carries nothing from one side of it to the other.
  return Math.floor(startMs + evenly + RHYTHM_MS * Math.sin((2 * Math.PI * evenly) / DAY))
}

/** Cumulative shares, falling with the agent's number: the last is exactly 1. */
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

function runOfEqualTimes({ conversations }: ResolvedOptions, firstShare: number): number {
  if (conversations * firstShare <= RUN_NEEDS) return Number.POSITIVE_INFINITY
  const middle = Math.floor(conversations * 0.4)
  return middle - (middle % BLOCK)
}
