// The query as the vendor says that it read it (section 2.11). Where that is another than was asked, the answer is one to another
// question: what it does not hold says nothing.
import { readTime } from '../core/time.ts'
import type { ExportQuery } from './address.ts'

/** `sort`, `fromTs` and `toTs` as they came. */
export type EchoedQuery = Readonly<Record<string, unknown>>

/** The second of a time in whichever unit and spelling; 0 for none at all, null where it cannot be read. */
function secondOf(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  const ms = typeof number === 'number' ? (number <= 0 ? 0 : readTime(number).ms) : null
  const read = ms ?? (typeof value === 'string' ? Date.parse(value) : Number.NaN)
  return Number.isNaN(read) ? null : Math.floor(read / 1_000)
}

/** `later`: so many seconds more are the same, as of a vendor that rounds the end of a second up. */
function isSameTime(asked: number | undefined, told: unknown, later = 0): boolean {
  if (told == null || (asked !== undefined && Number(told) === asked)) return true
  const second = secondOf(told)
  const difference = second === null ? 0 : second - Math.floor((asked ?? 0) / 1_000)
  return difference >= 0 && difference <= later
}

function isSameSort(asked: string | undefined, told: unknown): boolean {
  const [direction] = typeof told === 'string' ? (/^\s*(asc|desc)/i.exec(told)?.slice(1) ?? []) : []
  return direction === undefined || asked === undefined || direction.toLowerCase() === asked
}

/** The first field of the query that was read as another than was asked; null where none was, or none is told. */
export function misread(asked: ExportQuery, told: EchoedQuery | null): 'sort' | 'fromTs' | 'toTs' | null {
  if (told === null) return null
  if (!isSameSort(asked.sort, told.sort)) return 'sort'
  if (!isSameTime(asked.fromTs, told.fromTs)) return 'fromTs'
  return isSameTime(asked.toTs, told.toTs, 1) ? null : 'toTs'
}
