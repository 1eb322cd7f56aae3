// Groups the keys that name one billing period. `periodKey` is opaque and may name only a part of a period, such as a day. The usage count
// decides: it starts at zero in a new period, and continues under another key of the same period.
//
// Our own sessions under the new key are no evidence, so they are subtracted. If the rest is at least the usage reported under the previous
// key, the count continues. In a new period where others have used as much already, it looks the same. Two rules bound this mistake: a key
// that lasted longer than eight days is a period of its own, and no period lasts longer than 31 days (ADR 12).
import { PERIOD_DAYS } from '../planning/estimate.ts'
import { DAY } from '../time.ts'

/** The reports under one key. */
export interface KeyReports {
  key: string
  /** When its first and its last report were requested, ms. */
  sinceMs: number
  untilMs: number
  /** Highest reported usage; null where none was reported. */
  mostUsed: number | null
  /** The highest of the first reports, after subtracting from each what our own earlier answers under this key had billed. */
  carried: number | null
  /** Lag of the first reports: the median number of sessions that our own answers had certainly billed and a report lacked. */
  behind: number
}

/** How many reports under a new key are compared with the previous key: during these, others use little of a new period. */
export const FIRST_REPORTS = 20

/** Longest use of a key that names only a part of a period, such as a day or a week. */
const LONGEST_PART_MS = 8 * DAY

/** True where the count of the previous key continues, so both name one period. Null if the previous key had no usage: undecided. */
export const countGoesOn = (mostUsed: number, carried: number): boolean | null =>
  mostUsed === 0 ? null : carried >= mostUsed

interface KeyedPeriod {
  sinceMs: number
  keys: readonly string[]
}

const isPart = ({ sinceMs, untilMs }: KeyReports): boolean => untilMs - sinceMs <= LONGEST_PART_MS

/** Whether the reports show that both keys name the same period; null: undecided. */
function goesOn(before: KeyReports, { carried, behind }: KeyReports): boolean | null {
  if (before.mostUsed === null || carried === null || !isPart(before)) return false
  return countGoesOn(before.mostUsed, Math.max(0, carried) + behind)
}

/** The periods that these keys name, oldest first. For a key whose counts leave it undecided, the majority of the other keys decides. */
export function periodsOf(reports: readonly KeyReports[]): KeyedPeriod[] {
  const keys = [...reports].sort((a, b) => a.sinceMs - b.sinceMs)
  const continues = keys.slice(1).map((one, index) => goesOn(keys[index]!, one))
  const areParts = continues.filter(goes => goes === true).length > continues.filter(goes => goes === false).length
  const periods: KeyedPeriod[] = []
  for (const [index, { key, sinceMs }] of keys.entries()) {
    const last = periods.at(-1)
    const isSame =
      last !== undefined && sinceMs - last.sinceMs < PERIOD_DAYS * DAY && (continues[index - 1] ?? areParts)
    if (isSame) periods[periods.length - 1] = { ...last, keys: [...last.keys, key] }
    else periods.push({ sinceMs, keys: [key] })
  }
  return periods
}

/** Number of past periods from which the median is taken. */
const LAST_PERIODS = 6

/**
 * Median length of the last periods with an observed beginning and end, ms; null where there is none. The beginning of the very first
 * period was not observed.
 */
export function lengthOf(periods: readonly KeyedPeriod[]): number | null {
  const since = periods.slice(1).map(({ sinceMs }) => sinceMs)
  const lengths = since.slice(1).map((sinceMs, index) => sinceMs - since[index]!)
  const sorted = lengths.slice(-LAST_PERIODS).sort((a, b) => a - b)
  if (sorted.length === 0) return null
  const middle = (sorted.length - 1) / 2
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2
}
