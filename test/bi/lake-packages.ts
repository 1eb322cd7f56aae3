// Builds packages of a small table and applies them with the target in this process: many publications in little time.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { quoteText } from '../../src/catalog/layout.ts'
import type { LakeTarget } from '../../src/config/targets/ducklake.ts'
import type { PackagedTable } from '../../src/publish/package.ts'
import { openTargetDatabase, type TargetDatabase } from '../../src/publish/target-database.ts'
import type { OpenTarget } from '../../src/publish/target-port.ts'
import { openDuckLake } from '../../src/publish/targets/ducklake/ducklake.ts'
import type { TargetWatermark } from '../../src/publish/watermark.ts'
import { extensionFolder } from './extensions.ts'

const COLUMNS = [
  ['id', 'BIGINT'],
  ['name', 'VARCHAR'],
  ['at', 'TIMESTAMPTZ'],
  ['extra', 'JSON'],
  ['tags', 'VARCHAR[]'],
] as const

export interface Row {
  id: number
  name: string
}

export interface LakeWriter {
  database: TargetDatabase
  opened: OpenTarget
  /** Replaces the rows with these ids; `deletes`: ids of rows to delete. */
  publish(
    rows: readonly Row[],
    options?: { refill?: boolean; deletes?: readonly number[]; erases?: boolean },
  ): Promise<void>
}

/** Opens the lake as the process of a target does. `more`: further columns, with SQL that computes them from `id` and `name`. */
export async function lakeWriter(
  home: string,
  target: LakeTarget,
  more: () => readonly (readonly [name: string, sqlType: string, sql: string])[] = () => [],
): Promise<LakeWriter> {
  const folder = join(home, `packages-${target.name}`)
  await mkdir(folder, { recursive: true })
  const database = await openTargetDatabase({ memoryLimit: '512MB', threads: 1, spillFolder: join(folder, 'spill') })
  const opened = await openDuckLake(database, target, { folder: extensionFolder(), cache: folder })
  let seq = 0
  return {
    database,
    opened,
    async publish(rows, { refill = false, deletes = [], erases = refill } = {}) {
      const base = await opened.watermark()
      const number = ++seq
      const file = (name: string) => join(folder, `${number}-${name}.parquet`)
      const values = rows.map(({ id, name }) => `(${id}, ${quoteText(name)})`)
      const source =
        values.length > 0 ? `(VALUES ${values.join(', ')}) v(id, name)` : `(SELECT 0 AS id, '' AS name WHERE false) v`
      const names = ['people', 'marts.fct_people']
      for (const name of names)
        await database.run(`COPY (SELECT id::BIGINT AS id, name, TIMESTAMPTZ '2026-11-20 12:00:00Z' + to_seconds(id) AS at,
          '{"name":"' || name || '"}' AS extra, ['x', NULL] AS tags ${more()
            .map(([column, , sql]) => `, ${sql} AS ${column}`)
            .join('')} FROM ${source}) TO '${file(name)}' (FORMAT parquet)`)
      const ids = [...rows.map(({ id }) => id), ...deletes]
      await database.run(
        `COPY (SELECT unnest([${ids.join(', ')}]::BIGINT[]) AS id) TO '${file('deletes')}' (FORMAT parquet)`,
      )
      const table = (name: string): PackagedTable => ({
        ...{ name, about: `Table ${name}`, key: ['id'], isKeyUnique: true, isChild: false, timeColumn: null },
        columns: [...COLUMNS, ...more()].map(([column, sqlType]) => ({
          name: column,
          sqlType,
          about: `Column ${column}`,
        })),
        ...{
          isWhole: refill,
          deletes: refill ? null : file('deletes'),
          rows: [file(name)],
          rowCount: rows.length,
        },
        partitions: null,
      })
      const watermark: TargetWatermark = {
        ...{ owner: 'a/b', epoch: 'e', seq: number, publicationId: `p${number}`, policy: 'p' },
        asOf: '2026-11-24T00:00:00.000Z',
      }
      const tables = names.map(table)
      await opened.apply({ kind: refill ? 'refill' : 'delta', base, watermark, erases, tables })
    },
  }
}
