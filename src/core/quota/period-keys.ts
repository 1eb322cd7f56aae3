// Groups the keys that name one billing period. `periodKey` is opaque and may name only a part of a period, such as a day. The usage count
// decides: it starts at zero in a new period, and continues under another key of the same period.
//
// Our own sessions under the new key are no evidence, so they are subtracted. If the rest is at least the usage that the previous key had
// reported, the count continues. Others may have used as much in a new period, which looks the same. Therefore a key that lasted longer than
// eight days is a period of its own, and no period lasts longer than 31 days, which bounds a mistake (ADR 14).
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
  /** Usage in the first reports less what our own earlier answers under this key had billed; the highest of them. */
  carried: number | null
  /** Median of the sessions that our own answers had certainly billed and the first reports lacked: their lag. */
  behind: number
}

/** First reports under a key that are compared with the previous key: by then others have used little of a new period. */
export const FIRST_REPORTS = 20

/** Keys that name a part of a period: a day, or a week. */
const LONGEST_PART_MS = 8 * DAY

/** True where the count of the previous key continues, so both name one period. Null without usage, which decides nothing. */
export const countGoesOn = (mostUsed: number, carried: number): boolean | null =>
  mostUsed === 0 ? null : carried >= mostUsed

interface KeyedPeriod {
  sinceMs: number
  keys: readonly string[]
}

const isPart = ({ sinceMs, untilMs }: KeyReports): boolean => untilMs - sinceMs <= LONGEST_PART_MS

/** Whether the previous key names the same period, by the reports; null: they do not decide. */
function goesOn(before: KeyReports, { carried, behind }: KeyReports): boolean | null {
  if (before.mostUsed === null || carried === null || !isPart(before)) return false
  return countGoesOn(before.mostUsed, Math.max(0, carried) + behind)
}

/** The periods that these keys name, oldest first. Where the counts do not decide, the majority of the other keys does. */
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

/** Number of past periods that are averaged. */
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
