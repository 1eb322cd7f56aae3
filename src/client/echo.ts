// Compares the query with the vendor's echo of it (section 2.11). If they differ, the vendor answered another query,
// and a record that is missing from the answer may still exist.
import { readTime } from '../core/time.ts'
import type { ExportQuery } from './address.ts'

/** The echo: `sort`, `fromTs` and `toTs` as received. */
export type EchoedQuery = Readonly<Record<string, unknown>>

/** Converts a time in any unit or spelling to whole seconds; 0 for no time, null if it is unreadable. */
function secondOf(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  const ms = typeof number === 'number' ? (number <= 0 ? 0 : readTime(number).ms) : null
  const read = ms ?? (typeof value === 'string' ? Date.parse(value) : Number.NaN)
  return Number.isNaN(read) ? null : Math.floor(read / 1_000)
}

/** True for the same second. `later`: maximum number of seconds by which the echo may be later, because the vendor may round up. */
function isSameTime(asked: number | undefined, echoed: unknown, later = 0): boolean {
  if (echoed == null || (asked !== undefined && Number(echoed) === asked)) return true
  const second = secondOf(echoed)
  const difference = second === null ? 0 : second - Math.floor((asked ?? 0) / 1_000)
  return difference >= 0 && difference <= later
}

function isSameSort(asked: string | undefined, echoed: unknown): boolean {
  const [direction] = typeof echoed === 'string' ? (/^\s*(asc|desc)/i.exec(echoed)?.slice(1) ?? []) : []
  return direction === undefined || asked === undefined || direction.toLowerCase() === asked
}

/** Returns the first field whose echo differs from the query; null if no field differs or there is no echo. */
export function misread(asked: ExportQuery, echoed: EchoedQuery | null): 'sort' | 'fromTs' | 'toTs' | null {
  if (echoed === null) return null
  if (!isSameSort(asked.sort, echoed.sort)) return 'sort'
  if (!isSameTime(asked.fromTs, echoed.fromTs)) return 'fromTs'
  return isSameTime(asked.toTs, echoed.toTs, 1) ? null : 'toTs'
}
