// The period of a page: relative or fixed, and the grain that suits it.
import { computed } from '@preact/signals'
import { isDay } from '../../../core/time.ts'
import { daysIn, type Grain, isRelative, type Period, relativePeriod } from '../../../metrics/periods.ts'
import { dayRange } from '../format/dates.ts'
import { query } from './location.ts'

export const DEFAULT_PERIOD = 'last-4-weeks'

/** Relative periods of whole units, and the current unit, which is unfinished. */
export const PERIODS: readonly { name: string; title: string }[] = [
  { name: 'last-7-days', title: 'Last 7 days' },
  { name: 'last-1-weeks', title: 'Last week' },
  { name: 'last-4-weeks', title: 'Last 4 weeks' },
  { name: 'last-13-weeks', title: 'Last 13 weeks' },
  { name: 'last-12-months', title: 'Last 12 months' },
  { name: 'this-week', title: 'This week' },
  { name: 'this-month', title: 'This month' },
]

const FIXED = /^(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)$/

/** False for what no server would answer, such as the 31st of February. */
function isPeriod(text: string): boolean {
  const [, from, to] = FIXED.exec(text) ?? []
  return from && to ? isDay(from) && isDay(to) && from <= to : isRelative(text)
}

/** As the API takes it: a name, or two days. */
export type Asked = string | Period

export function parsePeriod(text: string): Asked {
  const [, from, to] = FIXED.exec(text) ?? []
  return from && to ? { from, to } : text
}

export const periodText = ({ from, to }: Period): string => `${from}..${to}`

export const periodName = computed(() => {
  const asked = query.value.get('period') ?? ''
  return isPeriod(asked) ? asked : DEFAULT_PERIOD
})

export const period = computed(() => parsePeriod(periodName.value))

export function periodTitle(name: string): string {
  const asked = parsePeriod(name)
  if (typeof asked !== 'string') return dayRange(asked)
  const known = PERIODS.find(one => one.name === name)
  return known?.title ?? name.replaceAll('-', ' ').replace(/^./, first => first.toUpperCase())
}

/** Returns the grain with which a line has ten to sixty points. */
export function grainFor(asked: Asked): Grain {
  // For the length, any day may be today.
  const days = daysIn(typeof asked === 'string' ? relativePeriod(asked, '2024-01-01') : asked)
  if (days <= 2) return 'hour'
  if (days <= 45) return 'day'
  return days <= 230 ? 'week' : 'month'
}
