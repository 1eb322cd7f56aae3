// The record of a run, one for each requested sync, however it ended. It is stored both in `_runs` and in the landing.
import { ConvohouseError, ERRORS, type ErrorCode, type ErrorKind } from './errors.ts'

/** Origin of the run: a person (`sync`), a round of `sync --watch` or of `up` without Temporal, a schedule, or `schedule backfill`. */
export type Origin = 'sync' | 'watch' | 'schedule' | 'backfill'

/** Host of the run. An embedded run dies with its process; on Temporal, the next worker continues it. */
export type HostName = 'embedded' | 'temporal'

/**
 * The end of a run. `outcome` is that of its report, or `declined` if a person did not confirm the price. A run whose
 * process died is `killed`; the next writer of the warehouse records that.
 */
export interface RunEnd {
  outcome: string
  /** True if the sync did what was requested. History may still wait, because sessions are reserved for new conversations. */
  success: boolean
  /** Reason why the run did not finish; `UNEXPECTED` for an error that is not a ConvohouseError. */
  errorCode?: ErrorCode | 'UNEXPECTED'
  error?: string
  hint?: string
  requests?: number
  sessions?: number
  pages?: number
  conversations?: number
  /** Number of records and events that were quarantined since the previous run. */
  quarantined?: number
  /** Total number of webhook events that receivers had refused when the run ended. */
  webhooksRefused?: number
  /** Agents that the run left to a later one, because their requests failed while others succeeded. */
  agentsLeft?: { agentId: string; code: ErrorCode; what: string }[]
}

const OUTCOME_TEXTS: Partial<Record<string, string>> = {
  'hour-spent': 'stopped at the hourly rate limit',
  'period-spent': 'stopped, the quota is used up',
  'limit-reached': 'stopped at the given limit',
  preempted: 'stopped for now, the next round continues',
  interrupted: 'stopped on request',
  declined: 'declined, nothing was exported',
}

/**
 * Returns the outcome of a run as text for people; an outcome without a text, such as `done`, is returned unchanged. `isReserved`:
 * only history waits, because the sessions left are reserved.
 */
export const outcomeText = (outcome: string, isReserved = false): string =>
  outcome === 'period-spent' && isReserved
    ? 'history waits, the sessions left are reserved for new conversations'
    : (OUTCOME_TEXTS[outcome] ?? outcome)

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

/** Returns the end of a run that failed with an error. Only the text of a ConvohouseError is kept: any other may quote data. */
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

/** Reason why history waits although sessions are left. */
export interface Reserve {
  /** Sessions left in the period. */
  sessions: number
  /** The configured `headReserve`; null reserves as many as new conversations are expected to need. */
  share: number | null
}

interface Ended extends Required<Pick<RunEnd, 'outcome' | 'requests' | 'sessions' | 'pages' | 'conversations'>> {
  failures: readonly { code: ErrorCode; what: string; hint: string | null; agentId?: string | null }[]
  /** Set if history was left unread although these sessions were left. */
  reserve?: Reserve
  /** The vendor's last failure, if no answer followed it. */
  unanswered?: Ended['failures'][number]
  /** Set if new conversations were also left unread. */
  newLeft?: true
}

/** Explains why history is not read although sessions are left: the setting that reserves them, or the rate of new conversations. */
export const reserveText = ({ sessions, share }: Reserve): string =>
  `the ${sessions.toLocaleString('en')} sessions left in the period are reserved for new conversations (${
    share === null ? 'which are expected to need them until it ends' : `headReserve: ${share}`
  })`

export const reserveHint = ({ share }: Reserve): string =>
  `The reserve shrinks as the period passes, and history continues; ${
    share === null ? '`headReserve: 0`' : 'a smaller headReserve'
  } lets history use more now, and \`convohouse sync --allow-overage-packs N\` allows overage.`

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

/** Outcomes that are a success if only history was left unread. */
const HISTORY_LEFT = new Set(['preempted', 'hour-spent'])

function isSuccess({ outcome, failures, reserve, unanswered, newLeft }: Ended): boolean {
  if (failures.length > 0 || unanswered) return false
  if (HISTORY_LEFT.has(outcome)) return newLeft !== true
  return outcome === 'period-spent' ? reserve !== undefined : SUCCESSES.has(outcome)
}

/** Returns why a run with a report did not finish or, if it did finish, why history waits. */
function reasonOf(report: Ended): Omit<RunEnd, 'outcome' | 'success'> | undefined {
  const { outcome, failures, unanswered, reserve } = report
  const [first = unanswered] = failures
  if (first) return failure(first.code, first.what, first.hint)
  if (outcome === 'period-spent' && reserve)
    return failure(undefined, `History is not exported for now: ${reserveText(reserve)}.`, reserveHint(reserve))
  const { errorCode: _code, ...waits } = SPENT[outcome] ?? {}
  return isSuccess(report) ? waits : SPENT[outcome]
}

/** Kinds of failures after which a run leaves an agent to a later one. */
const LEAVES_AGENT: ReadonlySet<ErrorKind> = new Set(['access', 'transient'])

/** Returns the end of a run with a report. */
export function endOf(report: Ended): RunEnd {
  const { outcome, requests, sessions, pages, conversations } = report
  const agentsLeft = report.failures.flatMap(({ agentId, code, what }) =>
    agentId && LEAVES_AGENT.has(ERRORS[code].kind) ? [{ agentId, code, what }] : [],
  )
  const left = agentsLeft.length > 0 && { agentsLeft }
  return { outcome, success: isSuccess(report), requests, sessions, pages, conversations, ...left, ...reasonOf(report) }
}
