// Which keys name one billing period. `periodKey` is opaque, and may name less than a period: the day, say, though sessions are
// counted by the month. What tells is the count: with a new period it begins anew, with a mere name it goes on.
//
// What our own answers billed under the new key says nothing of that, and may be more than the period before had used. So it is taken
// off: what is left was used by others since, or before the key came. As much as the key before had reported is taken to be
// the same count. Others may have used that much in a new period meanwhile, which nobody can tell apart; so a key that named more than
// eight days is no part of a period, and no period lasts longer than 31 days: a mistake ends there at the latest.
import { PERIOD_DAYS } from './estimate.ts'
import { DAY } from './time.ts'

/** What was reported under one key. */
export interface KeyReports {
  key: string
  /** When its first and its last report were asked for, ms. */
  sinceMs: number
  untilMs: number
  /** The most that was reported to be used; null where no use was reported. */
  mostUsed: number | null
  /** Of what the first reports say was used, what our own answers under this key had not billed that came before: the most of any. */
  carried: number | null
  /** Sessions that our own answers had certainly billed and the first reports lacked, by their median: they are late by so much. */
  behind: number
}

/** Reports under a key that tell what was used when it came: by then others have used little of a new period. */
export const FIRST_REPORTS = 20

/** Keys that name a part of a period: a day, or a week. */
const LONGEST_PART_MS = 8 * DAY

/** True where what was used under the key before is used still: both name one period. Null where nothing was used: nothing tells. */
export const countGoesOn = (mostUsed: number, carried: number): boolean | null =>
  mostUsed === 0 ? null : carried >= mostUsed

export interface KeyedPeriod {
  sinceMs: number
  keys: readonly string[]
}

const isPart = ({ sinceMs, untilMs }: KeyReports): boolean => untilMs - sinceMs <= LONGEST_PART_MS

/** Whether the key before names the same period, by what was reported; null: it does not tell. */
function goesOn(before: KeyReports, { carried, behind }: KeyReports): boolean | null {
  if (before.mostUsed === null || carried === null || !isPart(before)) return false
  return countGoesOn(before.mostUsed, Math.max(0, carried) + behind)
}

/** The periods that these keys name, oldest first. Where a count does not tell, a key is what most others of this vendor are. */
export function periodsOf(reports: readonly KeyReports[]): KeyedPeriod[] {
  const keys = [...reports].sort((a, b) => a.sinceMs - b.sinceMs)
  const told = keys.slice(1).map((one, index) => goesOn(keys[index]!, one))
  const areParts = told.filter(goes => goes === true).length > told.filter(goes => goes === false).length
  const periods: KeyedPeriod[] = []
  for (const [index, { key, sinceMs }] of keys.entries()) {
    const last = periods.at(-1)
    const isSame = last !== undefined && sinceMs - last.sinceMs < PERIOD_DAYS * DAY && (told[index - 1] ?? areParts)
    if (isSame) periods[periods.length - 1] = { ...last, keys: [...last.keys, key] }
    else periods.push({ sinceMs, keys: [key] })
  }
  return periods
}

/** Periods that are over are looked at so many back. */
const LAST_PERIODS = 6

/**
 * The median length of the last periods of which beginning and end were seen, ms; null where there is none. Of the very first nobody
 * saw the beginning.
 */
export function lengthOf(periods: readonly KeyedPeriod[]): number | null {
  const since = periods.slice(1).map(({ sinceMs }) => sinceMs)
  const lengths = since.slice(1).map((sinceMs, index) => sinceMs - since[index]!)
  const sorted = lengths.slice(-LAST_PERIODS).sort((a, b) => a - b)
  if (sorted.length === 0) return null
  const middle = (sorted.length - 1) / 2
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2
}
