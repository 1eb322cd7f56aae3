// What the owner of a lake writes into it and into its catalog, and erasures: nothing of the owner's is lost, and nothing erased stays in it.
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, it } from 'vitest'
import { HOUR } from '../../src/core/time.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { lakeWriter } from './lake-packages.ts'
import { describeWithLake, type FileLake, filesOfLakeWith, newLake, readingLake } from './lake-scene.ts'
import { failureOf } from './postgres-scene.ts'

const app = temporaryWarehouse()

const PERSON = 'AAA-person@example.com'

/** As an owner who attaches the lake with DuckLake's own settings: small changes are stored in the catalog. */
const asOwner = (target: FileLake, sql: string): Promise<unknown> =>
  readingLake(target, rows => rows(sql), { writes: true })

/** Runs SQL on a catalog in a DuckDB file, which is the default database. */
async function inCatalog({ catalog }: FileLake, sql: string): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(catalog.path)
  const connection = await instance.connect()
  try {
    return (await connection.runAndReadAll(sql)).getRowsJson()
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

const NAMES = 'SELECT id::INT, name FROM people ORDER BY id'

describeWithLake('what the owner of a lake writes', () => {
  const written = {
    'a deletion': { sql: 'DELETE FROM people WHERE id = 2', left: [[1, 'Ann']] },
    'a row': { sql: `INSERT INTO people (id, name) VALUES (2, '${PERSON}')`, left: [[1, 'Ann']] },
    'an update': { sql: `UPDATE people SET name = name || '!'`, left: [[1, 'Ann!']] },
  }
  const cases = Object.entries(written).flatMap(([name, { sql, left }]) =>
    (['sqlite', 'duckdb'] as const).map(type => ({ name, sql, left, type })),
  )

  it.each(cases)('$name in the catalog ($type) does not keep what is erased', async ({ sql, left, type }) => {
    const target = newLake(app.home, {}, type)
    const { opened, publish } = await lakeWriter(app.home, target)
    await publish([{ id: 1, name: 'Ann' }], { refill: true, erases: false })
    await publish([{ id: 2, name: PERSON }])
    await asOwner(target, sql)
    await publish([], { deletes: [2], erases: true })
    expect(await filesOfLakeWith(target, PERSON)).toEqual([])
    expect(await readingLake(target, rows => rows(NAMES))).toEqual(left)
    await asOwner(target, `UPDATE people SET name = '${PERSON}'`)
    await publish([{ id: 3, name: 'Cyd' }], { refill: true, erases: true })
    expect(await opened.maintain!()).toBeNull()
    expect(await filesOfLakeWith(target, PERSON)).toEqual([])
    expect(await readingLake(target, rows => rows(NAMES))).toEqual([[3, 'Cyd']])
  })

  it.each(['sqlite', 'duckdb'] as const)('a column that is gone does not keep what is erased (%s)', async type => {
    const target = newLake(app.home, {}, type)
    let sqlType = 'VARCHAR'
    const { publish } = await lakeWriter(app.home, target, () => [
      ['email', sqlType, sqlType === 'BIGINT' ? '1' : `'AAA-' || name`],
    ])
    await publish([{ id: 1, name: 'Ann' }], { refill: true, erases: false })
    await publish([{ id: 2, name: PERSON }])
    sqlType = 'BIGINT'
    await publish([{ id: 1, name: 'Ann' }], { refill: true, erases: false })
    await asOwner(target, 'ALTER TABLE people DROP COLUMN extra')
    await publish([{ id: 1, name: 'Ann' }], { refill: true, erases: true })
    expect(await filesOfLakeWith(target, PERSON)).toEqual([])
    expect(await readingLake(target, rows => rows('SELECT id::INT, email::INT FROM people'))).toEqual([[1, 1]])
  })

  it('a dropped column makes deltas fail with what to do, and a refill brings columns and comments up to date', async () => {
    const target = newLake(app.home)
    const { publish } = await lakeWriter(app.home, target)
    await publish([{ id: 1, name: 'Ann' }], { refill: true })
    await asOwner(target, `ALTER TABLE people DROP COLUMN name; COMMENT ON COLUMN people.id IS 'mine'`)
    expect(await failureOf(publish([{ id: 2, name: 'Bob' }]))).toMatchObject({
      code: 'TARGET_UNUSABLE',
      hint: expect.stringContaining(`publish ${target.name} --refill`),
    })
    await publish([{ id: 1, name: 'Ann' }], { refill: true })
    await readingLake(target, async rows => {
      expect(await rows(NAMES)).toEqual([[1, 'Ann']])
      const comments = `SELECT comment FROM duckdb_columns() WHERE table_name = 'people' AND column_name IN ('id', 'name') ORDER BY 1`
      expect(await rows(comments)).toEqual([['Column id'], ['Column name']])
    })
  })

  it('data that are gone are named, with what to do', async () => {
    const target = newLake(app.home)
    const { publish } = await lakeWriter(app.home, target)
    await publish([{ id: 1, name: 'Ann' }], { refill: true })
    await rm(target.data, { recursive: true })
    expect(await failureOf(publish([{ id: 2, name: 'Bob' }]))).toMatchObject({
      code: 'TARGET_UNUSABLE',
      message: expect.stringContaining(`are not in ${target.data}`),
      hint: expect.stringContaining('remove the catalog too'),
    })
  })

  it('a version of the owner between an erasure and its completion does not end it', async () => {
    const target = newLake(app.home)
    const { database, opened, publish } = await lakeWriter(app.home, target)
    await publish([{ id: 1, name: 'Ann' }], { refill: true, erases: false })
    await publish([{ id: 2, name: PERSON }])
    const { run, rows } = database
    let isWritten = false
    database.rows = async <R>(sql: string) => {
      if (!isWritten && sql.includes('ORDER BY snapshot_id')) {
        isWritten = true
        await asOwner(target, 'CREATE TABLE owners AS SELECT 1 AS x')
      }
      return rows<R>(sql)
    }
    await readingLake(target, async reader => {
      database.run = async sql => {
        if (sql.startsWith('UPDATE catalog_file')) {
          await reader('BEGIN')
          await reader('SELECT count(*) FROM people')
        }
        return run(sql)
      }
      expect(await failureOf(publish([], { deletes: [2], erases: true }))).toMatchObject({ code: 'TARGET_LOCKED' })
    })
    Object.assign(database, { run, rows })
    expect(isWritten).toBe(true)
    expect(await opened.maintain!()).toBeNull()
    expect(await filesOfLakeWith(target, PERSON)).toEqual([])
    expect(await readingLake(target, reader => reader('SELECT x::INT FROM owners'))).toEqual([[1]])
  })

  it.each(['sqlite', 'duckdb'] as const)(
    'as a table of its own keeps its rows for queries with a filter (%s)',
    async type => {
      const target = newLake(app.home, {}, type)
      const { publish } = await lakeWriter(app.home, target)
      await publish([{ id: 1, name: 'Ann' }], { refill: true, erases: false })
      await asOwner(
        target,
        `CREATE TABLE rates AS FROM (VALUES (DATE 'infinity', TIMESTAMPTZ 'infinity', DATE '0044-03-15 (BC)'),
         (DATE '2026-01-01', TIMESTAMPTZ '2026-01-01 00:00:00Z', DATE '12000-01-01')) v(valid_to, ended, odd)`,
      )
      await publish([{ id: 2, name: PERSON }])
      const filters = [
        `valid_to = 'infinity'`,
        `ended > '9999-12-31 23:59:59.999999Z'`,
        `odd < '0001-01-01'`,
        `odd > '9999-12-31'`,
      ]
      const counts = () =>
        readingLake(target, async rows => {
          const found: unknown[] = []
          for (const filter of filters) found.push(await rows(`SELECT count(*)::INT FROM rates WHERE ${filter}`))
          return found
        })
      expect(await counts()).toEqual(filters.map(() => [[1]]))
      await publish([], { deletes: [2], erases: true })
      expect(await counts()).toEqual(filters.map(() => [[1]]))
      expect(await filesOfLakeWith(target, PERSON)).toEqual([])
    },
  )

  it('is a drop of a table that it no longer receives: one refill follows, and an erasure completes, also of what a killed publication left of it', async () => {
    const target = newLake(app.home)
    const { opened, publish } = await lakeWriter(app.home, target)
    await publish([{ id: 1, name: PERSON }], { refill: true, erases: false })
    // As of a publication with another selection.
    await asOwner(target, `INSERT INTO _publication_tables VALUES ('models.retired')`)
    expect(await opened.watermark()).toBeNull()
    // Of a publication that was killed before the drop.
    const folder = join(target.data, 'models', 'retired')
    const orphan = join(folder, 'ducklake-01234567-89ab-7def-8123-456789abcdef.parquet')
    await mkdir(folder, { recursive: true })
    await writeFile(orphan, PERSON)
    const killedMs = Date.now() - 2 * HOUR
    await utimes(orphan, killedMs / 1_000, killedMs / 1_000)
    await publish([{ id: 2, name: 'Ann' }], { refill: true, erases: true })
    expect(await opened.watermark()).toMatchObject({ publicationId: 'p2' })
    expect(await filesOfLakeWith(target, PERSON)).toEqual([])
  })

  it('into a catalog in a DuckDB file stays: tables with their keys, views, and other schemas', async () => {
    const target = newLake(app.home, {}, 'duckdb')
    const { publish } = await lakeWriter(app.home, target)
    await publish([{ id: 1, name: 'Ann' }], { refill: true, erases: false })
    await inCatalog(
      target,
      `CREATE TABLE notes (x INTEGER PRIMARY KEY); INSERT INTO notes VALUES (7); CREATE SCHEMA mine;
       CREATE TABLE mine.more AS SELECT 8 AS x; CREATE VIEW mine.both_of_them AS FROM main.notes UNION ALL FROM mine.more`,
    )
    await publish([], { deletes: [1], erases: true })
    expect(await inCatalog(target, 'FROM mine.both_of_them ORDER BY x')).toEqual([[7], [8]])
    await expect(inCatalog(target, 'INSERT INTO notes VALUES (7)')).rejects.toThrow('Duplicate key')
  })
})
