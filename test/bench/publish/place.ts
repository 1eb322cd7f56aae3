// The warehouse that is published: the real code loads a tenth of the conversations, SQL copies them over 24 months.
import { DEFAULT_MEMORY_LIMITS } from '../../../src/config.ts'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import { loadPages } from '../../../src/warehouse/load/load.ts'
import type { LoadablePage, LoadContext } from '../../../src/warehouse/load/load-input.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { openWarehouse, type Warehouse } from '../../../src/warehouse/open.ts'
import { temporaryFolder } from '../../../src/warehouse/temporary-files.ts'
import type { LandedExport } from '../landed-export.ts'
import { multiply } from '../multiplied.ts'

export const MONTHS = 24

/** Defaults of the configuration, on two cores. */
export const WAREHOUSE = { memoryLimit: DEFAULT_MEMORY_LIMITS.memoryLimit, threads: 2 }

export interface Place {
  home: string
  source: LandedExport
  copies: number
}

export const contextOf = ({ writer }: Warehouse, { home, source: { workspaceId } }: Place): LoadContext => {
  const landing = openLanding(home).workspace(workspaceId)
  return {
    ...{ writer, workspaceId, timeZone: 'UTC', mirrorLagMs: 0, temporaryFolder: temporaryFolder(home) },
    ...{ readBody: landing.body, pageFiles: landing.files, verifyChecksums: landing.verifyChecksums, now: Date.now },
  }
}

export async function inWarehouse<T>(
  home: string,
  settings: { memoryLimit: string; bulk: boolean },
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const warehouse = await openWarehouse({ home, ...WAREHOUSE, ...settings })
  return work(warehouse).finally(() => warehouse.close())
}

export const build = (place: Place): Promise<void> =>
  inWarehouse(place.home, { memoryLimit: '2GB', bulk: true }, async warehouse => {
    const { source, home, copies } = place
    const landing = openLanding(home).workspace(source.workspaceId)
    const pages: LoadablePage[] = []
    for (const { address } of await landing.list()) pages.push({ address, head: await landing.head(address) })
    await loadPages(contextOf(warehouse, place), pages)
    await multiply(warehouse.writer, { source: source.records, from: 1, to: copies - 1, months: MONTHS })
    await refreshMarts(warehouse.writer)
  })
