// Notes that several commands print: sessions that may be billed, exports that wait or are saved, ranges that could not
// be read, missing workers, refused webhooks.
import { type Gap, MAX_GAPS_REPORTED } from '../../core/planning/gaps.ts'
import { DECIDING, type MeasuredRefreshes } from '../../core/planning/refresh-rule.ts'
import type { ReadRange } from '../../core/planning/rereads.ts'
import { formatDuration, MINUTE } from '../../core/time.ts'
import { ago, count, counted, utc } from '../../core/words.ts'
import { REFUSALS, type Refusal } from '../../receiver/refusals.ts'
import type { Absence } from '../../run/temporal/client/await-worker.ts'
import type { Refused } from '../../spool/refusal-record.ts'
import { visible } from './controls.ts'
import { linesIf } from './print.ts'

/** Returns `; up to 1,201 may have been billed by unanswered requests; the vendor has charged 3 overage packs`, or nothing. */
export function quotaNotes(quota: { unansweredSessions: number; overagePacks: number }): string {
  const { unansweredSessions, overagePacks } = quota
  const unanswered = `; up to ${count(unansweredSessions)} may have been billed by unanswered requests`
  const packs = `; the vendor has charged ${counted(overagePacks, 'overage pack')}`
  return `${unansweredSessions > 0 ? unanswered : ''}${overagePacks > 0 ? packs : ''}`
}

/** Returns `refreshes without a new message changed 3 of 412 conversations; skipping them saves about 880 sessions a month`. */
function measuredText({ measured, changed, skips, savedSessions }: MeasuredRefreshes): string {
  const saves = `skipping them saves about ${counted(savedSessions, 'session')} a month`
  const until = `they are skipped once at most one of the last ${DECIDING} finds a change`
  return `refreshes without a new message changed ${count(changed)} of ${counted(measured, 'conversation')}; ${skips ? saves : until}`
}

const waitingText = (n: number): string => counted(n, 'new conversation waits', 'new conversations wait')

/** Describes how many conversations wait for their first export, and what refreshes have found. */
export const economyTexts = (of: { active?: number; measured?: MeasuredRefreshes | null }): string[] => [
  ...linesIf(Boolean(of.active), `${waitingText(of.active ?? 0)} until quiet for an hour, six hours at most`),
  ...(of.measured ? [measuredText(of.measured)] : []),
]

const minute = (ms: number): string => utc(ms).slice(0, 16)

function rangeText({ fromSec, toSec }: Pick<Gap, 'fromSec' | 'toSec'>): string {
  const from = fromSec === null ? 'the beginning' : minute(fromSec * 1_000)
  const to = minute(toSec * 1_000)
  return `${from} to ${to.startsWith(from.slice(0, 10)) ? to.slice(11) : to}`
}

/** Returns `agent_7: 2026-11-03 10:02 to 10:05 cannot be read since 2026-11-20 (API_NOT_JSON: …); tried again after 2026-11-21 04:00` in UTC. */
export const gapText = (gap: Gap): string =>
  visible(
    `${gap.agentId}: ${rangeText(gap)} cannot be read since ${utc(gap.sinceMs).slice(0, 10)} (${gap.code}: ${gap.what.replace(/\.$/, '')}); tried again after ${minute(gap.retryAtMs)}`,
  )

/** Returns `agent_7: 2026-11-03 10:02 to 10:05 is not verified since 2026-11-20: …`; times are UTC. */
export const unverifiedText = ({ readAtMs, ...range }: ReadRange): string =>
  visible(
    `${range.agentId}: ${rangeText(range)} is not verified since ${utc(readAtMs).slice(0, 10)}: conversations left while it was read, so the vendor may have passed over others (\`convohouse ledger\`)`,
  )

/** Returns a line for each gap of a plan or a report. */
export const gapLines = (gaps: readonly Gap[] = [], unverified: readonly ReadRange[] = []): string[] => [
  ...gaps.map(gapText),
  ...unverified.map(unverifiedText),
  ...(gaps.length < MAX_GAPS_REPORTED ? [] : ['there may be more: `convohouse status` names all']),
]

const START = 'start one with `convohouse worker` or `convohouse up`'

/** Beginnings of the message of a command that waits for a Temporal worker. */
const HEADS: Record<Absence, (queue: string) => string> = {
  none: queue => `No worker has answered yet, and none polls the queue ${queue}: ${START}.`,
  silent: queue => `No worker has answered yet on the queue ${queue}; if none runs, ${START}.`,
}

/** Returns the message in one line; `then` says what happens to the request until a worker runs. */
export const noWorkerText = (absence: Absence, queue: string, then = 'Still waiting.'): string =>
  `${HEADS[absence](queue)} ${then}`

interface Reason {
  what: string
  hint: string
}

const NOT_OURS = 'Ignore it, unless you operate the sender.'

const REASONS: Record<Refusal, Reason> = {
  'not-json': { what: 'the body is not JSON', hint: NOT_OURS },
  'too-deep': { what: 'the body is nested deeper than 500 levels', hint: NOT_OURS },
  'wrong-secret': {
    what: 'the secret matches none of the configured ones',
    hint: "Compare the workspace secret in the vendor's settings with the one that `webhooks` names, and replace it as docs/webhooks.md describes. Refused events are not resent.",
  },
  'not-found': {
    what: 'the address is not /webhooks',
    hint: "Set the webhook address in the vendor's settings to one that ends in /webhooks.",
  },
  'wrong-method': {
    what: 'the method is not POST',
    hint: "Correct the webhook address in the vendor's settings, or in the proxy.",
  },
  'too-slow': { what: 'the sender was too slow and was disconnected in favour of others', hint: NOT_OURS },
  'too-large': { what: 'the body is larger than maxBody', hint: 'Raise `webhooks.maxBody`, up to 12MB.' },
  'disk-refuses': { what: 'the disk refuses writes', hint: 'Free disk space or make the data folder writable.' },
  'too-busy': {
    what: 'more concurrent events than the receiver can hold',
    hint: 'Check the load of the machine and its disk.',
  },
}

const isKnown = (reason: string): reason is Refusal => Object.hasOwn(REASONS, reason)

const reasonOf = (reason: string): Reason =>
  isKnown(reason)
    ? { ...REASONS[reason], what: `${REASONS[reason].what} (${REFUSALS[reason]})` }
    : { what: reason, hint: NOT_OURS }

export const hintOf = ({ reason }: Pick<Refused, 'reason'>): string => reasonOf(reason).hint

/** Returns `174 requests refused within 2 h, the last 3 min ago: the secret matches none of the configured ones (401)`. */
export function refusedText({ reason, count, firstMs, lastMs }: Omit<Refused, 'workspaceId'>, nowMs: number): string {
  const within = lastMs - firstMs < MINUTE ? '' : ` within ${formatDuration(lastMs - firstMs)}`
  return `${counted(count, 'request')} refused${within}, the last ${ago(lastMs, nowMs)}: ${reasonOf(reason).what}`
}

/** Returns a refusal as a line of the receiver's log. */
export function refusedLine({ workspaceId, reason, count, firstMs }: Refused): string {
  const whose = workspaceId === null ? 'of an unknown workspace' : `of ${workspaceId}`
  const since = count === 1 ? '' : ` since ${utc(firstMs)} UTC`
  const { what, hint } = reasonOf(reason)
  return `refused ${counted(count, 'webhook')} ${whose}${since}: ${what}. ${hint}`
}
