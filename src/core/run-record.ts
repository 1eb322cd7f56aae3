// The record of a run: one for each requested sync, however it ended. `_runs` and the landing hold the same.
import { ConvohouseError, type ErrorCode } from './errors.ts'

/** A person (`sync`), a round of `sync --watch` or of `up` without Temporal, a tick of a schedule, or `schedule backfill`. */
export type Origin = 'sync' | 'watch' | 'schedule' | 'backfill'

/** A run of the embedded host dies with its process; on Temporal the next worker continues it. */
export type HostName = 'embedded' | 'temporal'

/**
 * How a run ended: as in its report, or `declined` where a person did not confirm its price. A run whose process died is `killed`; the
 * next writer of the warehouse records that.
 */
export interface RunEnd {
  outcome: string
  /** The sync did what was requested. History may still wait, because sessions are reserved for new conversations. */
  success: boolean
  /** Why it did not finish; `UNEXPECTED` for an error that is none of ours. */
  errorCode?: ErrorCode | 'UNEXPECTED'
  error?: string
  hint?: string
  requests?: number
  sessions?: number
  pages?: number
  conversations?: number
  /** Records and events that were quarantined since the previous run. */
  quarantined?: number
  /** Webhook events that receivers had refused by its end, in total. */
  webhooksRefused?: number
}

const OUTCOME_TEXTS: Partial<Record<string, string>> = {
  'hour-spent': 'stopped at the hourly rate limit',
  'period-spent': 'stopped, the quota is used up',
  'limit-reached': 'stopped at the given limit',
  preempted: 'stopped for now, to fetch new conversations',
  interrupted: 'stopped on request',
  declined: 'declined, nothing was exported',
}

/** The outcome of a run for people; one without a text, such as `done`, stays as it is. */
export const outcomeText = (outcome: string): string => OUTCOME_TEXTS[outcome] ?? outcome

/** Times are ms since the epoch, UTC. */
export interface RunRecord extends Partial<RunEnd> {
  run: string
  startedMs: number
  endedMs?: number
  origin?: Origin
  host?: HostName
  /** The process that held the warehouse. */
  pid?: number
}

const failure = (
  code: RunEnd['errorCode'],
  error: string,
  hint?: string | null,
): Omit<RunEnd, 'outcome' | 'success'> => ({
  ...(code && { errorCode: code }),
  error,
  ...(hint && { hint }),
})

/** The end of a run by an error. The text of an error that is none of ours may quote data, and is not kept. */
export function endBy(error: unknown): RunEnd {
  if (!(error instanceof ConvohouseError))
    return {
      outcome: 'failed',
      success: false,
      ...failure('UNEXPECTED', 'An unexpected error ended the run; the message is in its log.'),
    }
  const { code, message, hint } = error
  if (code === 'INTERRUPTED') return { outcome: 'interrupted', success: false }
  const outcome = code === 'CONFIRMATION_NEEDED' ? 'declined' : 'failed'
  return { outcome, success: false, ...failure(code, message, hint) }
}

/** Why history waits although sessions are left. */
export interface Reserve {
  /** Sessions left in the period. */
  sessions: number
  /** The configured `headReserve`. */
  share: number
  /** New conversations are expected to use them, at their known rate: a smaller share would change nothing. */
  expected: boolean
}

interface Ended extends Required<Pick<RunEnd, 'outcome' | 'requests' | 'sessions' | 'pages' | 'conversations'>> {
  failures: readonly { code: ErrorCode; what: string; hint: string | null }[]
  /** History was left, with these sessions. */
  reserve?: Reserve
  /** The vendor's last failure, after which it did not answer. */
  unanswered?: Ended['failures'][number]
  /** New conversations were left, too. */
  newLeft?: true
}

/** Why history is not read although sessions are left: the setting that reserves them, or the rate of new conversations. */
export const reserveText = ({ sessions, share, expected }: Reserve): string =>
  `the ${sessions.toLocaleString('en')} sessions left in the period are reserved for new conversations (${
    expected
      ? `which are expected to need them all; headReserve: ${share} alone would reserve fewer`
      : `headReserve: ${share}`
  })`

const BEYOND = '`convohouse sync --allow-overage-packs N` allows overage.'

export const reserveHint = ({ expected }: Reserve): string =>
  expected
    ? `The reserve shrinks as the period passes, and history continues; ${BEYOND}`
    : `The reserve shrinks as the period passes, and history continues; a smaller headReserve lets history use more now, and ${BEYOND}`

const SPENT: Partial<Record<string, Omit<RunEnd, 'outcome' | 'success'>>> = {
  'hour-spent': failure(
    'HOUR_SPENT',
    "This hour's requests are spent.",
    'The next sync continues where this one stopped, once the hour has passed.',
  ),
  'period-spent': failure(
    'PERIOD_SPENT',
    'The sessions of the period are spent.',
    'The next sync continues where this one stopped, once a new period has begun; `convohouse sync --allow-overage-packs N` allows overage.',
  ),
}

const SUCCESSES = new Set(['done', 'limit-reached', 'preempted'])

/** Whether it succeeded, also for a record of an earlier version; null: it has not ended. */
export const succeeded = ({ outcome, success }: RunRecord): boolean | null =>
  outcome === undefined ? null : (success ?? SUCCESSES.has(outcome))

/** A success if only history was left. */
const HISTORY_LEFT = new Set(['preempted', 'hour-spent'])

function isSuccess({ outcome, failures, reserve, unanswered, newLeft }: Ended): boolean {
  if (failures.length > 0 || unanswered) return false
  if (HISTORY_LEFT.has(outcome)) return newLeft !== true
  return outcome === 'period-spent' ? reserve !== undefined : SUCCESSES.has(outcome)
}

/** Why a run with a report did not finish or, if it did, why history waits. */
function reasonOf(report: Ended): Omit<RunEnd, 'outcome' | 'success'> | undefined {
  const { outcome, failures, unanswered, reserve } = report
  const [first = unanswered] = failures
  if (first) return failure(first.code, first.what, first.hint)
  if (outcome === 'period-spent' && reserve)
    return failure(undefined, `History waits: ${reserveText(reserve)}.`, reserveHint(reserve))
  const { errorCode: _code, ...waits } = SPENT[outcome] ?? {}
  return isSuccess(report) ? waits : SPENT[outcome]
}

/** The end of a run with a report. */
export function endOf(report: Ended): RunEnd {
  const { outcome, requests, sessions, pages, conversations } = report
  return { outcome, success: isSuccess(report), requests, sessions, pages, conversations, ...reasonOf(report) }
}
