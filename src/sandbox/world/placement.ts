// When each conversation begins, and with which agent: a function of its index. Start times never decrease with the index.
import { DAY, HOUR } from '../../core/time.ts'
import type { ResolvedOptions } from '../options.ts'
import { Draw, PURPOSE } from './random.ts'

/** Amplitude of the daily rhythm; must be below a day / 2π (3.8 h) to keep start times in index order. */
const RHYTHM_MS = 2.5 * HOUR

/** Group size within which neighbours may share a `ts`. */
const BLOCK = 4
const BLOCK_SHARE = 0.02

export interface Placement {
  /** Agent of a conversation, counted from 0. */
  agentOf(index: number): number
  /** Time of its first message, in ms; grows with the index. */
  createdMs(index: number): number
  /** When the conversation reaches the mirror: for most at `createdMs`, for some later. */
  shownMs(index: number): number
  /** The conversation whose times this one shares; usually the conversation itself. */
  leaderOf(index: number): number
}

export function createPlacement(options: ResolvedOptions): Placement {
  const { seed, conversations } = options
  const cumulative = agentShares(options.agents)
  const runs = createRuns(options, { firstShare: cumulative[0]!, align: BLOCK })

  const leaderOf = (index: number): number => {
    const run = runs.startOf(index)
    if (run !== undefined) return run
    const first = index - (index % BLOCK)
    const straddles = first < conversations && first + BLOCK > conversations
    if (straddles || runs.startOf(first) !== undefined) return index
    return new Draw(seed, first, PURPOSE.run).chance(BLOCK_SHARE) ? first : index
  }
  const agentOf = (index: number): number => {
    const leader = leaderOf(index)
    if (runs.startOf(leader) === leader) return runs.agentOf(leader)
    const unit = new Draw(seed, leader, PURPOSE.placement).unit()
    return cumulative.findIndex(share => unit < share)
  }
  const createdMs = (index: number): number => begin(options, leaderOf(index))
  const shownMs = options.lateShare > 0 ? (index: number) => createdMs(index) + lateness(options, index) : createdMs
  return { leaderOf, agentOf, createdMs, shownMs }
}

function lateness({ seed, lateShare, lateMs }: ResolvedOptions, index: number): number {
  const draw = new Draw(seed, index, PURPOSE.late)
  return draw.chance(lateShare) ? draw.int(1, lateMs) : 0
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

/** Cumulative shares of the agents; a higher agent number has a smaller share. The last sum is exactly 1. */
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

// Runs: conversations with equal `ts`, more than fit on a page, as after an import or a campaign.

/** Without `burstEvery` there is a single run, of the first agent, if that agent has more than `RUN_NEEDS` conversations. */
const RUN_LENGTH = 150
const RUN_NEEDS = 2_000

interface Runs {
  /** First index of the run that contains this conversation; undefined outside of runs. */
  startOf(index: number): number | undefined
  /** Agent of the run that begins at that index. */
  agentOf(start: number): number
}

/** `firstShare`: the first agent's share of the conversations. Runs begin at multiples of `align`. */
function createRuns(options: ResolvedOptions, { firstShare, align }: { firstShare: number; align: number }): Runs {
  return options.burstEvery > 0 ? bursts(options, align) : oneRun(options.conversations, firstShare, align)
}

function oneRun(conversations: number, firstShare: number, align: number): Runs {
  const middle = Math.floor(conversations * 0.4)
  const start = conversations * firstShare > RUN_NEEDS ? middle - (middle % align) : Number.POSITIVE_INFINITY
  return {
    startOf: index => (index >= start && index < start + RUN_LENGTH ? start : undefined),
    agentOf: () => 0,
  }
}

/** One run every `burstEvery` conversations, past and future, rotating over the agents. */
function bursts({ burstEvery, burstSize, conversations, agents }: ResolvedOptions, align: number): Runs {
  const every = Math.ceil(burstEvery / align) * align
  return {
    startOf(index) {
      const start = index - (index % every)
      // A run that spans existing and arriving conversations would move some arrivals into the past.
      const straddles = start < conversations && start + burstSize > conversations
      return index - start < burstSize && !straddles ? start : undefined
    },
    agentOf: start => (start / every) % agents,
  }
}
