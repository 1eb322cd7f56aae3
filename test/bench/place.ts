// A data folder with a landed export and a warehouse that the real code loads from it.
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { Landing } from '../../src/landing/landing.ts'
import { loadPages } from '../../src/warehouse/load/load.ts'
import type { LoadablePage, LoadContext } from '../../src/warehouse/load/load-input.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/open.ts'
import { temporaryFolder } from '../../src/warehouse/temporary-files.ts'
import type { LandedExport } from './landed-export.ts'

export interface Place {
  home: string
  source: LandedExport
}

export const landingOf = ({ home, source }: Place): Landing => openLanding(home).workspace(source.workspaceId)

export function contextOf({ writer }: Warehouse, place: Place): LoadContext {
  const { home, source } = place
  const { body: readBody, files: pageFiles, verifyChecksums } = landingOf(place)
  const { workspaceId } = source
  return {
    ...{ writer, workspaceId, timeZone: 'UTC', mirrorLagMs: 0, temporaryFolder: temporaryFolder(home) },
    ...{ readBody, pageFiles, verifyChecksums, now: Date.now },
  }
}

/** Opens the warehouse of `home` for the duration of `work`. */
export async function inWarehouse<T>(
  home: string,
  settings: { memoryLimit?: string; bulk: boolean },
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 2, ...settings })
  return work(warehouse).finally(() => warehouse.close())
}

/** Loads everything that has landed. */
export async function loadSource(place: Place, context: LoadContext): Promise<void> {
  const landing = landingOf(place)
  const pages: LoadablePage[] = []
  for (const { address } of await landing.list()) pages.push({ address, head: await landing.head(address) })
  const { records } = await loadPages(context, pages)
  if (records !== place.source.records)
    throw new Error(`${records} of ${place.source.records} conversations were loaded`)
}
