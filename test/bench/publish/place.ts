// Builds the published warehouse: the real code loads a tenth of the conversations, and SQL copies them over 24 months.
import { DEFAULT_MEMORY_LIMITS } from '../../../src/config.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { multiply } from '../multiplied.ts'
import { contextOf, inWarehouse, loadSource, type Place } from '../place.ts'

export const MONTHS = 24

/** Default memory limit of the configuration. */
export const { memoryLimit: MEMORY_LIMIT } = DEFAULT_MEMORY_LIMITS

export interface PublishedPlace extends Place {
  copies: number
}

export const build = (place: PublishedPlace): Promise<void> =>
  inWarehouse(place.home, { memoryLimit: '2GB', bulk: true }, async warehouse => {
    const { source, copies } = place
    await loadSource(place, contextOf(warehouse, place))
    await multiply(warehouse.writer, { source: source.records, from: 1, to: copies - 1, months: MONTHS })
    await refreshMarts(warehouse.writer)
  })
