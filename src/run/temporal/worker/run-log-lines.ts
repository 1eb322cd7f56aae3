// The worker's log lines about syncs: begin, end and result.
import type { Prepared, RunRef, SyncReport } from '../../../../workflows/steps.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { historyPrice } from '../../../core/planning/price.ts'
import { outcomeText } from '../../../core/run-record.ts'
import { counted } from '../../../core/words.ts'

export interface RunLines {
  /** Logs that the sync was planned, for the first time or after an interruption. */
  planned(run: RunRef, prepared: Prepared): void
  /** Logs that planning failed; Temporal retries transient errors. */
  notPlanned(run: RunRef, error: unknown): void
  ended(run: RunRef, report: SyncReport): void
  /** Logs that an error ended the sync without a report. */
  gaveUp(run: RunRef, error: unknown): void
}

/** Omits the message of an unexpected error, which may quote data. */
const reasonOf = (error: unknown): string =>
  error instanceof ConvohouseError ? `${error.code}: ${error.message}` : 'an unexpected error'

const countsOf = ({ conversations, pages, requests, sessions }: SyncReport): string =>
  `${counted(conversations, 'conversation')} in ${counted(pages, 'page')}, ${counted(requests, 'request')}, ${counted(sessions, 'session')} billed`

/** Returns the log lines about syncs. `price` receives the price of history before a sync reads it, `write` all others. */
export function runLines(write: (line: string) => void, price: (line: string) => void): RunLines {
  /** Runs that this worker has begun; if one of them is planned again, it continues. */
  const begun = new Set<string>()
  const line = ({ workspaceId, run }: RunRef, text: string) => write(`${workspaceId}: sync ${run} ${text}`)
  return {
    planned(of, prepared) {
      line(
        of,
        `${begun.has(of.run) ? 'goes on' : 'begins'}: ${counted(prepared.plan.windows.length, 'window')} to read`,
      )
      const history = historyPrice(prepared, Date.now())
      if (history) price(`${of.workspaceId}: ${history}`)
      begun.add(of.run)
    },
    notPlanned: (of, error) => line(of, `cannot begin: ${reasonOf(error)}`),
    ended(of, report) {
      begun.delete(of.run)
      const [failure] = report.failures
      const why = failure ? `; ${failure.code}: ${failure.what}` : ''
      const missing = report.gaps ? '; some ranges cannot be read: `convohouse status` names them' : ''
      line(
        of,
        `ended: ${outcomeText(report.outcome, report.reserve !== undefined)}; ${countsOf(report)}${why}${missing}`,
      )
    },
    gaveUp(of, error) {
      begun.delete(of.run)
      line(of, `ended without a report: ${reasonOf(error)}`)
    },
  }
}
