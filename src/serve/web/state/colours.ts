// Colours stay with their thing: an agent or a channel has the same on every page and under every filter.
import { computed, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { SplitValue } from '../../../metrics/answer-format.ts'
import type { DimensionName } from '../../../metrics/dimensions.ts'
import { useMetrics } from '../api/metrics.ts'

/** True if the reader's system is dark; paper is light. */
const dark = matchMedia('screen and (prefers-color-scheme: dark)')
export const isDark = signal(dark.matches)
dark.addEventListener('change', () => {
  isDark.value = dark.matches
})

/** Eight colours which differ for people who see two of the three primary colours, each at least 3 : 1 on its ground. */
const LIGHT = ['#2b59d1', '#d0580a', '#0b7f76', '#8e44ad', '#a8831a', '#c23a6b', '#4a7d1c', '#5f6b7a']
const DARK = ['#7ba4ff', '#ff9a52', '#3cc7b5', '#cf9bf0', '#e3c04b', '#ff8fb3', '#9bd05f', '#a9b6c6']

export const palette = computed(() => (isDark.value ? DARK : LIGHT))

const probe = document.createElement('i')
probe.hidden = true
document.documentElement.append(probe)

/** Returns a colour of the style sheet in the present theme, for what is drawn on a canvas. */
export function cssColour(name: string): string {
  void isDark.value
  probe.style.color = `var(--${name})`
  return getComputedStyle(probe).color
}

const OTHER = { light: '#9aa5b4', dark: '#6d7a8b' }

/** The outcomes have meanings, so they have fixed places in the palette. */
const FIXED: Readonly<Record<string, number>> = {
  resolved_by_agent: 2,
  resolved_by_person: 0,
  resolved_unattributed: 3,
  reopened: 4,
  abandoned: 5,
  ended_unresolved: 1,
  open: 7,
}

/** Places in the palette by dimension, in the order of the number of conversations in a year, then of appearance. */
const places = signal(new Map<string, readonly string[]>())

function placeOf(dimension: DimensionName, key: string): number {
  const known = places.value.get(dimension) ?? []
  const place = known.indexOf(key)
  if (place >= 0) return place
  // The map stays the same object, so that drawing does not cause more drawing.
  places.peek().set(dimension, [...known, key])
  return known.length
}

function rank(dimension: DimensionName, keys: readonly string[]): void {
  const known = places.peek().get(dimension) ?? []
  if (keys.every((key, at) => known[at] === key)) return
  places.value = new Map(places.peek()).set(dimension, keys)
}

export const valueKey = ({ workspaceId, value }: Pick<SplitValue, 'workspaceId' | 'value'>): string =>
  workspaceId === null ? (value ?? '') : `${workspaceId}/${value ?? ''}`

/** Returns a value as filters take it; null is that of conversations without one. */
export const filterValue = (split: Pick<SplitValue, 'workspaceId' | 'value'>): string | null =>
  split.workspaceId === null ? split.value : valueKey(split)

/** A value without a name. */
export const unnamed = (value: string | null): SplitValue => ({ workspaceId: null, value, label: null, isOther: false })

/** Returns series in the order of the outcomes, from the best to those that are not over; those of other dimensions as they are. */
export const inOrder = <T extends { split: SplitValue | null }>(
  dimension: DimensionName,
  series: readonly T[],
): readonly T[] => (dimension === 'outcome' ? [...series].sort((a, b) => rankOf(a.split) - rankOf(b.split)) : series)

const rankOf = (split: SplitValue | null): number => {
  const rank = Object.keys(FIXED).indexOf(split?.value ?? '')
  return rank < 0 ? Object.keys(FIXED).length : rank
}

/** Returns the colour of a value of a dimension. */
export function colourOf(dimension: DimensionName, value: SplitValue): string {
  if (value.isOther) return isDark.value ? OTHER.dark : OTHER.light
  const place = (dimension === 'outcome' ? FIXED[value.value ?? ''] : undefined) ?? placeOf(dimension, valueKey(value))
  return palette.value[place % palette.value.length]!
}

/** Dimensions whose values are words of the product. */
const WORDS: readonly DimensionName[] = [
  'outcome',
  'wait',
  'state',
  'end_reason',
  'channel',
  'temperature',
  'funnel_step',
  'lead_stage',
]

/** The snapshot's policy may hash names. */
const HASH = /^[0-9a-f]{32,}$/

/** Returns the name of a value as readers see it. */
export function labelOf(dimension: DimensionName, { value, label, isOther }: SplitValue): string {
  if (isOther) return 'Other'
  const text = (label ?? value ?? 'none').replace(HASH, start => `${start.slice(0, 8)}…`)
  return WORDS.includes(dimension)
    ? text
        .replace(/[_-]/g, ' ')
        .replace(/^(ai\b|.)/, first => first.toUpperCase())
        .replace('Whatsapp', 'WhatsApp')
    : text
}

/** The same of a value without a name. */
export const wordOf = (dimension: DimensionName, value: string | number | boolean | null | undefined): string =>
  labelOf(dimension, unnamed(value == null ? null : String(value)))

/** All values of a dimension of conversations in a year, the most frequent first, whatever the filters are. */
export function useValues(dimension: 'workspace' | 'agent' | 'channel') {
  const { data } = useMetrics({ metrics: ['conversations'], period: 'last-12-months', split: dimension, top: 1_000 })
  const series = data?.[0]?.series ?? []
  const values = series.flatMap(({ split, total }) =>
    split === null || split.isOther
      ? []
      : [{ key: valueKey(split), label: labelOf(dimension, split), n: total?.n ?? 0 }],
  )
  useEffect(
    () =>
      rank(
        dimension,
        values.map(({ key }) => key),
      ),
    [data],
  )
  return values
}
