// Ranges that could not be read, as text.
import { type Gap, MAX_GAPS_REPORTED } from '../../core/planning/gaps.ts'
import type { ReadRange } from '../../core/planning/rereads.ts'
import { utc } from '../../core/words.ts'
import { visible } from './columns.ts'

const minute = (ms: number): string => utc(ms).slice(0, 16)

function rangeText({ fromSec, toSec }: Pick<Gap, 'fromSec' | 'toSec'>): string {
  const from = fromSec === null ? 'the beginning' : minute(fromSec * 1_000)
  const to = minute(toSec * 1_000)
  return `${from} to ${to.startsWith(from.slice(0, 10)) ? to.slice(11) : to}`
}

/** `agent_7: 2026-11-03 10:02 to 10:05 cannot be read since 2026-11-20 (API_NOT_JSON: …); tried again after 2026-11-21 04:00`; times are UTC. */
export const gapText = (gap: Gap): string =>
  visible(
    `${gap.agentId}: ${rangeText(gap)} cannot be read since ${utc(gap.sinceMs).slice(0, 10)} (${gap.code}: ${gap.what.replace(/\.$/, '')}); tried again after ${minute(gap.retryAtMs)}`,
  )

/** `agent_7: 2026-11-03 10:02 to 10:05 is not verified since 2026-11-20: …`; times are UTC. */
export const unverifiedText = ({ readAtMs, ...range }: ReadRange): string =>
  visible(
    `${range.agentId}: ${rangeText(range)} is not verified since ${utc(readAtMs).slice(0, 10)}: conversations left while it was read, so the vendor may have passed over others (\`convohouse ledger\`)`,
  )

/** A line for each gap of a plan or a report. */
export const gapLines = (gaps: readonly Gap[] = [], unverified: readonly ReadRange[] = []): string[] => [
  ...gaps.map(gapText),
  ...unverified.map(unverifiedText),
  ...(gaps.length < MAX_GAPS_REPORTED ? [] : ['there may be more: `convohouse status` names all']),
]
