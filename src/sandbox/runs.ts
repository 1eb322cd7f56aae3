// Runs of conversations that share one `ts`, longer than any page: what an import, or a campaign that goes out, leaves behind.
import type { ResolvedOptions } from './options.ts'

/** The one run of a sandbox that was told nothing of bursts, in the first agent when that is large enough. */
const RUN_LENGTH = 150
const RUN_NEEDS = 2_000

export interface Runs {
  /** Index of the first conversation of the run that this one is in; undefined where it is in none. */
  startOf(index: number): number | undefined
  /** Agent of the run that begins there. */
  agentOf(start: number): number
}

/** `firstShare`: the first agent's share of the conversations. Runs begin at multiples of `align`. */
export function createRuns(
  options: ResolvedOptions,
  { firstShare, align }: { firstShare: number; align: number },
): Runs {
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

/** One in every so many conversations, past and to come, for one agent after the other. */
function bursts({ burstEvery, burstSize, conversations, agents }: ResolvedOptions, align: number): Runs {
  const every = Math.ceil(burstEvery / align) * align
  return {
    startOf(index) {
      const start = index - (index % every)
      // The past ends where arrivals begin: a run that lay across would bring some of them into the past.
      const straddles = start < conversations && start + burstSize > conversations
      return index - start < burstSize && !straddles ? start : undefined
    },
    agentOf: start => (start / every) % agents,
  }
}
