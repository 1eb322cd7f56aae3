// A vendor that gives each day its own period key, although a billing period may last several days; and the usage reports of its
// answers.
import fc from 'fast-check'
import { DAY, MINUTE } from '../../../src/core/time.ts'

export interface KeyedAnswer {
  sentAtMs: number
  receivedAtMs: number
  billed: number
  key: string
  used: number
}

export interface KeyedRun {
  /** Length of a period in days. */
  periodDays: number
  /** Usage reports omit this many of the newest requests. */
  lag: number
  days: { groups: Group[]; size: number }[]
}

/** Concurrent requests (`pages`: the sessions of each), and the sessions billed to other users just before. */
interface Group {
  pages: number[]
  others: number
  /** Whether the answers arrive in the reverse order of the requests. */
  reversed: boolean
}

const group: fc.Arbitrary<Group> = fc.record({
  pages: fc.array(fc.integer({ min: 20, max: 30 }), { minLength: 1, maxLength: 3 }),
  others: fc.integer({ min: 0, max: 3 }),
  reversed: fc.boolean(),
})

/** On some days pages are larger (`size`): a few of our own answers then bill more than the whole day before. */
const day = fc.record({
  groups: fc.array(group, { minLength: 45, maxLength: 50 }),
  size: fc.constantFrom(1, 6),
})

/** Each day uses enough that no report can be confused with one of the day before, even with requests in flight. */
export const keyedRuns: fc.Arbitrary<KeyedRun> = fc.record({
  periodDays: fc.constantFrom(1, 2, 5, 9),
  lag: fc.constantFrom(0, 0, 1, 2, 5),
  days: fc.array(day, { minLength: 3, maxLength: 12 }),
})

const START_MS = Date.UTC(2026, 0, 1)

/** Polls that bill nothing, enough of them that late reports catch up with the count. */
const quiet = (lag: number): Group[] =>
  Array.from({ length: lag + 1 }, () => ({ pages: [0], others: 0, reversed: false }))

/** The answers of a run in order of arrival, and the time of the first request in each billing period. */
export function answersOf({ periodDays, lag, days }: KeyedRun): { answers: KeyedAnswer[]; sinceMs: number[] } {
  const answers: KeyedAnswer[] = []
  const sinceMs: number[] = []
  let counts: number[] = []
  for (const [day, { groups, size }] of days.entries()) {
    let nowMs = START_MS + day * DAY
    if (day % periodDays === 0) {
      counts = [0]
      sinceMs.push(nowMs)
    }
    for (const { pages, others, reversed } of [...quiet(lag), ...groups, ...quiet(lag)]) {
      counts[counts.length - 1]! += others
      const received = pages.map((page, index) => {
        // Pages are larger only if reports are not late, so that late reports never omit more than a day uses.
        const billed = lag === 0 ? page * size : page
        counts.push(counts.at(-1)! + billed)
        const used = counts.at(-1 - lag) ?? 0
        const receivedAtMs = nowMs + 500 + (reversed ? pages.length - index : index)
        return { sentAtMs: nowMs + index, receivedAtMs, billed, key: `day-${day}`, used }
      })
      answers.push(...received.sort((a, b) => a.receivedAtMs - b.receivedAtMs))
      nowMs += MINUTE
    }
  }
  return { answers, sinceMs }
}
