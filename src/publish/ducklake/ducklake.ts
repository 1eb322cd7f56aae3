// The target `ducklake`: a catalog in PostgreSQL, SQLite or a DuckDB file, and Parquet files. A package is applied in one transaction of the
// lake together with its watermark, which makes one version: readers see the version before it until the commit.
//
// A transaction compares the watermark before it changes anything, and replaces its row. If two transactions do so, the lake refuses the later one.

import { quoteName } from '../../catalog/layout.ts'
import { catalogText } from '../../config/lake-target.ts'
import type { LakeTarget } from '../../config/targets.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { attachedTable, deleteRows, insertRows, sumsOf } from '../attached.ts'
import type { Package, PackagedTable } from '../package.ts'
import { lockTarget, type TargetDatabase } from '../target-database.ts'
import type { ExtensionPlaces, OpenTarget } from '../target-port.ts'
import { isSame, type TargetWatermark } from '../watermark.ts'
import { atDestination, connectedLake, exclusively, type Lake, loadExtensions } from './lake.ts'
import { eraseEarlier, maintain } from './maintenance.ts'
import { type MovedFiles, moveFiles, removeUncommitted } from './moved-files.ts'
import { widenRanges } from './ranges.ts'
import {
  bringUpToDate,
  emptyRetired,
  insertInRowGroups,
  lakeType,
  prepareLake,
  recordCreated,
  type StoredTables,
  storedComments,
  storeLakeWatermark,
  withStoredTables,
} from './stored-tables.ts'
import { describePublication } from './versions.ts'

/** @throws TARGET_CHANGED */
function expectBase({ target }: Lake, { watermark }: StoredTables, base: TargetWatermark | null): void {
  if (isSame(watermark, base)) return
  throw new ConvohouseError('TARGET_CHANGED', {
    what: `${catalogText(target)} was written by something else while a publication to it was being prepared. The publication was discarded.`,
    hint: 'Nothing to do: the next publication starts from the present state of the lake.',
  })
}

/** `moved`: receives what the transaction has moved into the lake. */
async function writeVersion(
  lake: Lake,
  { kind, base, erases, tables, watermark }: Package,
  moved: MovedFiles,
): Promise<void> {
  const begunMs = Date.now()
  await widenRanges(lake)
  const comments = kind === 'refill' ? await storedComments(lake) : new Set<string>()
  await withStoredTables(lake, async stored => {
    expectBase(lake, stored, base)
    if (kind === 'refill') await prepareLake(lake, stored)
    const written = new Set<string>()
    for await (const table of tables) {
      if (kind === 'refill') await bringUpToDate(lake, { ...stored, comments }, table)
      await deleteRows(lake.database, { into: attachedTable(table), typeOf: lakeType }, table)
      written.add(table.name)
      if (await moveFiles(lake, { stored, moved }, table)) continue
      if (kind === 'refill') await insertInRowGroups(lake, table)
      else await insertRows(lake.database, attachedTable(table), table)
    }
    if (kind === 'refill') {
      await recordCreated(lake, stored, written)
      await emptyRetired(lake, stored, written)
    }
    await storeLakeWatermark(lake, watermark)
    await describePublication(lake, { kind, erases, asOf: watermark.asOf })
    await lake.data.sync(begunMs)
    moved.isCommitting = true
  })
}

async function arrived(tables: Package['tables']): Promise<PackagedTable[]> {
  const all: PackagedTable[] = []
  for await (const table of tables) all.push(table)
  return all
}

/** @throws EXTENSION_UNAVAILABLE, TARGET_LOCKED, TARGET_UNUSABLE */
export async function openDuckLake(
  database: TargetDatabase,
  given: LakeTarget,
  extensions: ExtensionPlaces,
): Promise<OpenTarget> {
  const target = await atDestination(given)
  const { catalog } = target
  await loadExtensions(database, target, extensions)
  if (catalog.type !== 'postgres') await lockTarget(database, catalog.path)
  return {
    watermark: () =>
      connectedLake(database, { target, creates: false }, lake =>
        withStoredTables(lake, async ({ watermark }) => watermark),
      ),
    async apply({ tables, ...head }) {
      // While a DuckDB file is attached, no reader can open it.
      const contents = { ...head, tables: catalog.type === 'duckdb' ? await arrived(tables) : tables }
      const moved: MovedFiles = { names: [], isCommitting: false }
      await connectedLake(database, { target, creates: true }, lake => writeVersion(lake, contents, moved)).catch(
        async error => {
          await removeUncommitted(database, target, moved).catch(() => {})
          throw error
        },
      )
      if (head.erases) await eraseEarlier(database, target)
    },
    async sums(tables) {
      const sums = await connectedLake(database, { target, creates: false }, lake =>
        exclusively(lake, () =>
          sumsOf(lake.database, tables, { rowsFrom: attachedTable, stored: ({ name }) => quoteName(name) }),
        ),
      )
      return sums ?? {}
    },
    maintain: () => maintain(database, target),
  }
}
