// What a worker's log says of the syncs that it plans and finishes: when each begins and ends, and what it came to.
import type { RunRef, SyncReport } from '../../../../workflows/steps.ts'
import { ConvohouseError } from '../../../core/errors.ts'

export interface RunLines {
  /** It is planned, for the first time or to go on. */
  planned(run: RunRef, windows: number): void
  /** It could not be planned; another attempt is made where that is of use. */
  notPlanned(run: RunRef, error: unknown): void
  ended(run: RunRef, report: SyncReport): void
  /** An error ended it before it had a report. */
  gaveUp(run: RunRef, error: unknown): void
}

/** The text of an error that is none of ours may quote data, and is left out. */
const reasonOf = (error: unknown): string =>
  error instanceof ConvohouseError ? `${error.code}: ${error.message}` : 'an error that should not happen'

const count = (value: number, one: string): string => `${value.toLocaleString('en')} ${one}${value === 1 ? '' : 's'}`

const countsOf = ({ conversations, pages, requests, sessions }: SyncReport): string =>
  `${count(conversations, 'conversation')} in ${count(pages, 'page')}, ${count(requests, 'request')}, ${count(sessions, 'session')} billed`

/** `tell` is given one line at a time. */
export function runLines(tell: (line: string) => void): RunLines {
  /** Begun here and not ended: one that is planned again goes on. */
  const begun = new Set<string>()
  const line = ({ workspaceId, run }: RunRef, text: string) => tell(`${workspaceId}: sync ${run} ${text}`)
  return {
    planned(of, windows) {
      line(of, `${begun.has(of.run) ? 'goes on' : 'begins'}: ${count(windows, 'window')} to read`)
      begun.add(of.run)
    },
    notPlanned: (of, error) => line(of, `cannot begin: ${reasonOf(error)}`),
    ended(of, report) {
      begun.delete(of.run)
      const [failure] = report.failures
      const why = failure ? `; ${failure.code}: ${failure.what}` : ''
      line(of, `ended: ${report.outcome}, ${countsOf(report)}${why}`)
    },
    gaveUp(of, error) {
      begun.delete(of.run)
      line(of, `ended without a report: ${reasonOf(error)}`)
    },
  }
}
