// Numbers, sizes and times as text, for people and in the configuration.
import { rangeText } from './planning/estimate.ts'
import { DAY, formatDuration, HOUR, momentText } from './time.ts'

/** Returns text such as `12,345`. */
export const count = (value: number): string => Math.round(value).toLocaleString('en-US')

/** Returns the words that agree with a count: `is` or `are`, `it` or `them`. */
export const agreeing = (value: number, one: string, many: string): string => (Math.round(value) === 1 ? one : many)

/** Returns a count with its noun: `1 page`, `12 pages`. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${agreeing(value, one, many)}`

/** Returns `1,200 to 1,900`, or one number if both ends are the same. */
export const range = rangeText

const SIZES = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

/** Returns `12 bytes`, `3.4 MB`; a kilobyte has 1,000. */
export function bytes(size: number): string {
  const power = Math.min(SIZES.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, size)) / 3)))
  const scaled = size / 1_000 ** power
  return `${power === 0 || scaled >= 100 ? count(scaled) : scaled.toFixed(1)} ${SIZES[power]}`
}

/** Returns `2026-11-20 20:49:46`, UTC, as in the warehouse. */
export const utc = (ms: number): string => momentText(ms).slice(0, 19).replace('T', ' ')

/** Returns `14:32 UTC`, for logs and `status`; with the date if it is not today. */
export function clockTime(ms: number, nowMs: number): string {
  if (Number.isNaN(new Date(ms).getTime())) return momentText(ms)
  const [then, now] = [utc(ms), utc(nowMs)]
  return `${then.slice(0, 10) === now.slice(0, 10) ? then.slice(11, 16) : then.slice(0, 16)} UTC`
}

/** Returns `3 min ago`, `just now`, or for a later time `in 2 h by this machine's clock`. */
export function ago(ms: number, nowMs: number): string {
  const since = nowMs - ms
  if (since <= -2_000) return `in ${formatDuration(-since)} by this machine's clock`
  return since < 2_000 ? 'just now' : `${formatDuration(since)} ago`
}

/** Returns hours as text: `now`, `about 3 h`, `2 to 5 h`; many hours are also shown in days. */
export function hours({ low, high }: { low: number; high: number }): string {
  if (high === 0) return 'now'
  const text = low === high ? `about ${count(high)} h` : `${range({ low, high })} h`
  return high * HOUR > 2 * DAY ? `${text} (${Math.ceil(high / 24)} days)` : text
}

const UNITS: Record<string, number> = {
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}

/** Returns the number of bytes in `1GB` or `512 MiB`, the syntax of DuckDB and the configuration. */
export function sizeOf(text: string): number {
  const [, number = '0', unit = ''] = /^([\d.]+)\s*([a-z]+)$/i.exec(text.trim()) ?? []
  return Number(number) * (UNITS[unit.toLowerCase()] ?? 1)
}
