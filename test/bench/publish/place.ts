// Builds the published warehouse: the real code loads a tenth of the conversations, and SQL copies them over 24 months.
import { existsSync } from 'node:fs'
import { copyFile, mkdir, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DEFAULT_MEMORY_LIMITS } from '../../../src/config.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { warehouseFile } from '../../../src/warehouse/warehouse-file.ts'
import { landExport } from '../landed-export.ts'
import { type BenchOptions, rounded, seconds } from '../measure.ts'
import { multiply } from '../multiplied.ts'
import { contextOf, inWarehouse, loadSource, type Place } from '../place.ts'

export const MONTHS = 24

/** Default memory limit of the configuration. */
export const { memoryLimit: MEMORY_LIMIT } = DEFAULT_MEMORY_LIMITS

/** Defaults of the configuration, on two cores. */
export const SETTINGS = { everyMs: 900_000, memoryLimit: '512MB', threads: 2 }

/** Longer than the default, so that slow publications are also measured. */
export const LONGEST_MS = 3_600_000

export interface PublishedPlace extends Place {
  copies: number
}

const build = (place: PublishedPlace): Promise<void> =>
  inWarehouse(place.home, { memoryLimit: '2GB', bulk: true }, async warehouse => {
    const { source, copies } = place
    await loadSource(place, contextOf(warehouse, place))
    await multiply(warehouse.writer, { source: source.records, from: 1, to: copies - 1, months: MONTHS })
    await refreshMarts(warehouse.writer)
  })

/** Puts a file at `path`: a copy of the one that an earlier run has kept in the folder, else `make` makes it, and it is kept. */
export async function keptFile(path: string, kept: string | null, make: () => Promise<unknown>): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  if (kept !== null && existsSync(kept)) return copyFile(kept, path)
  const taken = await seconds(make)
  console.error(
    `${path} was built in ${rounded(taken, 0)} s and has ${rounded((await stat(path)).size / 2 ** 20, 0)} MB`,
  )
  if (kept === null) return
  await mkdir(dirname(kept), { recursive: true })
  await copyFile(path, `${kept}.next`)
  await rename(`${kept}.next`, kept)
}

/** Returns the number of conversations that the real code loads. */
const loaded = ({ records, rows }: BenchOptions): number => Math.min(records, Math.ceil(rows / 10))

/** Returns the path at which something that was built with these options is kept; null if it is not. */
export const keptAt = (options: BenchOptions, suffix: string): string | null =>
  options.home && join(options.home, `${options.rows}-${loaded(options)}-${options.agents}${suffix}`)

/** Builds the warehouse in `home`, or copies the one that an earlier run has kept. */
export async function provide(home: string, options: BenchOptions): Promise<PublishedPlace> {
  const source = await landExport(home, { records: loaded(options), agents: options.agents })
  const place = { home, source, copies: Math.round(options.rows / source.records) }
  await keptFile(warehouseFile(home), keptAt(options, '.duckdb'), () => build(place))
  return place
}
