// Values with their units, as a reader's language writes them.
import type { Metric, MetricUnit } from '../../../metrics/declaration.ts'

const number = (options: Intl.NumberFormatOptions) => new Intl.NumberFormat(undefined, options)

const WHOLE = number({ maximumFractionDigits: 0 })
const DECIMALS = number({ maximumFractionDigits: 2, minimumFractionDigits: 2 })
const ONE = number({ maximumFractionDigits: 1 })
const COMPACT = number({ notation: 'compact', maximumSignificantDigits: 3 })
const PERCENT = number({ style: 'percent', maximumFractionDigits: 0 })
const PRECISE = number({ style: 'percent', maximumFractionDigits: 1, minimumFractionDigits: 1 })

/** Observations from which a share has a decimal. */
const MANY = 1_000

export const countText = (value: number): string => WHOLE.format(value)

export const shareText = (value: number, n: number): string => (n < MANY ? PERCENT : PRECISE).format(value)

/** Cents from one dollar on; two significant digits below ten cents. */
function usdText(value: number): string {
  const size = Math.abs(value)
  const digits = size >= 1_000 ? 0 : 2
  return number({
    style: 'currency',
    currency: 'USD',
    ...(size > 0 && size < 0.1
      ? { maximumSignificantDigits: 2, minimumSignificantDigits: 2 }
      : { minimumFractionDigits: digits, maximumFractionDigits: digits }),
  }).format(value)
}

/** `42 s`, `3 min 50 s`, `12 min`, `2 h 10 min`, `3 days 4 h`. */
export function durationText(seconds: number): string {
  if (seconds < 0) return `−${durationText(-seconds)}`
  if (seconds < 10 && !Number.isInteger(seconds)) return `${ONE.format(seconds)} s`
  if (seconds < 90) return `${WHOLE.format(seconds)} s`
  const whole = Math.round(seconds)
  if (whole < 600 && whole % 60 > 0) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60]
  if (hours < 48) return rest ? `${hours} h ${rest} min` : `${hours} h`
  const [days, left] = [Math.floor(hours / 24), hours % 24]
  return left ? `${days} days ${left} h` : `${days} days`
}

/** Returns a value with its unit. `n`: the observations that it rests on. */
export function valueText(value: number, unit: MetricUnit, n = 0): string {
  switch (unit) {
    case 'count':
      return Number.isInteger(value) ? WHOLE.format(value) : ONE.format(value)
    case 'share':
      return shareText(value, n)
    case 'seconds':
      return durationText(value)
    case 'usd':
      return usdText(value)
    case 'score':
      return DECIMALS.format(value)
    case 'tokens':
      return `${Math.abs(value) < 10_000 ? WHOLE.format(value) : COMPACT.format(value)} tokens`
    case 'money':
      return DECIMALS.format(value)
    default:
      return `${Math.abs(value) >= 100 ? WHOLE.format(value) : DECIMALS.format(value)} units`
  }
}

/** Returns a value for the tick of an axis, whose unit the subtitle names. */
export function tickText(value: number, unit: MetricUnit): string {
  switch (unit) {
    case 'share':
      return number({ style: 'percent', maximumFractionDigits: 1 }).format(value)
    case 'seconds':
      return durationText(value)
    case 'usd':
      return number({ style: 'currency', currency: 'USD', maximumFractionDigits: 2, minimumFractionDigits: 0 }).format(
        value,
      )
    default:
      return Math.abs(value) >= 10_000 ? COMPACT.format(value) : number({ maximumFractionDigits: 2 }).format(value)
  }
}

/** What stands in a subtitle for the unit. */
export const UNITS: Readonly<Record<MetricUnit, string>> = {
  count: 'count',
  share: 'share',
  seconds: 'time',
  usd: 'US dollars',
  score: 'points (scale not stated)',
  tokens: 'tokens',
  money: 'in the lead’s currency',
  unstated: 'unit not stated by the vendor',
}

/** Returns the difference of two values: points of a share, else the percentage. Null without a base. */
export function changeText(value: number, before: number, unit: MetricUnit): string | null {
  if (unit === 'share') {
    const points = (value - before) * 100
    return `${points > 0 ? '+' : ''}${ONE.format(points)} points`
  }
  if (before === 0) return null
  const change = value / before - 1
  return number({
    style: 'percent',
    maximumFractionDigits: Math.abs(change) < 0.1 ? 1 : 0,
    signDisplay: 'exceptZero',
  }).format(change)
}

/** Returns how good a change is, of metrics that declare which direction is better. */
export const toneOf = (change: number, better: Metric['better']): 'good' | 'bad' | '' =>
  change === 0 || better === null ? '' : change > 0 === (better === 'higher') ? 'good' : 'bad'

export const tooFewText = (n: number): string => `too few (n = ${WHOLE.format(n)})`
