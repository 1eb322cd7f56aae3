// The filters of the page, in the address, and which of them a metric can apply.
import { computed, signal } from '@preact/signals'
import type { DimensionName } from '../../../metrics/dimensions.ts'
import type { ListedMetric } from '../../declared-metrics.ts'
import type { MetricsQuestion } from '../api/metrics.ts'
import { addressOf, decoded, query } from './location.ts'

const FILTERED = ['workspace', 'organization', 'agent', 'channel'] as const

export type FilterName = (typeof FILTERED)[number]

export type Filters = Partial<Record<DimensionName, (string | null)[]>>

const parse = (text: string): string[] => text.split(',').map(one => decoded(one))

export const filterText = (values: readonly string[]): string | null =>
  values.length === 0 ? null : values.map(encodeURIComponent).join(',')

/** The values that are chosen, by filter; one without a choice is missing. */
export const chosen = computed(() => {
  const found: Partial<Record<FilterName, string[]>> = {}
  for (const name of FILTERED) {
    const text = query.value.get(name)
    if (text) found[name] = parse(text)
  }
  return found
})

/** Agents by organization, as `WORKSPACE/AGENT`. The answer of the server sets them. */
export const agentsOf = signal<ReadonlyMap<string, readonly string[]>>(new Map())

/** The values to keep, by dimension: an organization stands for its agents. */
export const filters = computed(() => {
  const { organization, agent, ...rest } = chosen.value
  if (!organization) return chosen.value
  const agents = organization.flatMap(one => agentsOf.value.get(one) ?? [])
  const both = agent ? agents.filter(one => agent.includes(one)) : agents
  // An organization without agents has no conversations, which no id equals.
  return { ...rest, agent: both.length > 0 ? both : [''] }
})

export interface Applied {
  filters: Filters
  /** Filters of the page that the metrics do not have. */
  ignored: FilterName[]
}

/** Returns the filters for metrics: those of the page that each of them has, and the tile's own. */
export function filtersFor(metrics: readonly (ListedMetric | undefined)[], own: Filters = {}): Applied {
  const has = (name: string) => metrics.every(metric => metric?.dimensions.some(one => one.name === name))
  const kept = Object.entries(filters.value) as [FilterName, string[]][]
  return {
    filters: { ...Object.fromEntries(kept.filter(([name]) => has(name))), ...own },
    ignored: kept.filter(([name]) => !has(name)).map(([name]) => name),
  }
}

/** Returns the address of the list of conversations behind a value. */
export const addressBehind = ({ metrics, period, grain, filters: chosen, bucket }: MetricsQuestion): string =>
  addressOf('conversations', { behind: JSON.stringify({ metrics, period, grain, filters: chosen, bucket }) })
