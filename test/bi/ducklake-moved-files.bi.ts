// Files of a package that become those of a lake as they are.
import { chmod, chown, copyFile, mkdir, readdir, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, it } from 'vitest'
import type { LakeTarget } from '../../src/config/targets.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { extensionFolder } from './extensions.ts'
import { lakeWriter } from './lake-packages.ts'
import { describeWithLake, filesWith, newLake, publishLake, readingLake } from './lake-scene.ts'
import { load } from './postgres-scene.ts'

const app = temporaryWarehouse()

const ANN = { id: 1, name: 'Ann' }
const BOB = { id: 2, name: 'Bob' }
const FINAL = { isFinal: true }

/** What the owner of a lake does with it. */
const asOwner = (target: LakeTarget, sql: string) => readingLake(target, rows => rows(sql), { writes: true })

const rowsOf = (target: LakeTarget, sql = 'SELECT name FROM people ORDER BY id') =>
  readingLake(target, rows => rows(sql))

/** Files whose names are relative to the data's place, by whether DuckLake has written them itself: those have the ids of columns. */
const areMoved = (target: LakeTarget) =>
  rowsOf(
    target,
    `SELECT DISTINCT count(field_id) = 0 FROM parquet_schema('${target.data}/main/people/*.parquet')
     WHERE name IN ('id', 'name') GROUP BY file_name ORDER BY ALL`,
  )

describeWithLake('files that a lake takes over', () => {
  it('have the rows of each version, and expire like others', async () => {
    const target = newLake(app.home)
    const writer = await lakeWriter(app.home, target)
    await writer.publish([ANN, BOB], { refill: true, ...FINAL })
    await writer.publish([{ id: 1, name: 'Ann B' }], FINAL)
    expect(await areMoved(target)).toEqual([[true]])
    expect(await rowsOf(target)).toEqual([['Ann B'], ['Bob']])
    expect(await rowsOf(target, 'SELECT name, "at", extra, tags FROM people AT (VERSION => 1) WHERE id = 1')).toEqual([
      ['Ann', '2026-11-20 12:00:01+00', '{"name":"Ann"}', ['x', null]],
    ])
    await writer.publish([], { deletes: [1], erases: true })
    expect(await filesWith(target.data, 'Ann')).toEqual([])
    expect(await rowsOf(target)).toEqual([['Bob']])
  })

  it('are those of records; the other tables are written by DuckLake, and named in one file', async () => {
    const place = app.workspace()
    const target = newLake(app.home)
    await load(place, [{ ID: 'a', userName: 'Ann', tags: ['x', 'y'] }])
    await publishLake(app, target)
    await load(place, [{ ID: 'b', userName: 'Bob', tags: ['x'] }], 1)
    await publishLake(app, target, { verify: true })
    const moved = await rowsOf(
      target,
      `SELECT DISTINCT regexp_extract(file_name, '([^/]+)/[^/]+$', 1) FROM parquet_schema('${target.data}/**/*.parquet')
       GROUP BY file_name HAVING count(field_id) = 0`,
    )
    expect(moved).toEqual([['conversations']])
    expect(await readdir(join(target.data, 'main', '_publication_tables'))).toHaveLength(1)
    expect(await rowsOf(target, `SELECT DISTINCT tag FROM conversation_tags ORDER BY ALL`)).toEqual([['x'], ['y']])
  })

  it('are written again where the owner has added a column, since what they lack would not count as NULL', async () => {
    const target = newLake(app.home)
    const writer = await lakeWriter(app.home, target)
    await writer.publish([ANN, BOB], { refill: true, ...FINAL })
    await asOwner(target, 'ALTER TABLE lake.people ADD COLUMN note BIGINT; UPDATE lake.people SET note = id')
    await writer.publish([{ id: 3, name: 'Cid' }], FINAL)
    expect(await rowsOf(target, 'SELECT count(*)::INT, count(note)::INT, max(note)::INT FROM people')).toEqual([
      [3, 2, 2],
    ])
    await writer.publish([ANN], { refill: true, ...FINAL })
    expect(await rowsOf(target, 'SELECT count(*)::INT, count(note)::INT FROM people')).toEqual([[1, 0]])
  })

  it('are written again where the owner has changed the type of a column', async () => {
    const target = newLake(app.home)
    const writer = await lakeWriter(app.home, target, () => [['score', 'INTEGER', 'id::INTEGER']])
    await writer.publish([ANN], { refill: true, ...FINAL })
    await asOwner(target, 'ALTER TABLE lake.people ALTER COLUMN score TYPE BIGINT')
    await writer.publish([BOB], FINAL)
    expect(await areMoved(target)).toEqual([[false], [true]])
    expect(await rowsOf(target, 'SELECT name FROM people WHERE score = 2')).toEqual([['Bob']])
  })

  it.each([
    ['partitioned', 'SET PARTITIONED BY (name)'],
    ['sorted', 'SET SORTED BY (name)'],
  ])('are written again where the owner has %s the table', async (_, change) => {
    const target = newLake(app.home)
    const writer = await lakeWriter(app.home, target)
    await writer.publish([ANN], { refill: true, ...FINAL })
    await asOwner(target, `ALTER TABLE lake.people ${change}`)
    await writer.publish([BOB], FINAL)
    expect(await rowsOf(target)).toEqual([['Ann'], ['Bob']])
    await writer.publish([BOB, ANN], { refill: true, erases: false, ...FINAL })
    expect(await rowsOf(target, `SELECT name FROM people WHERE name >= 'B'`)).toEqual([['Bob']])
  })

  it('keep their values where a folder above has the name of a column', async () => {
    const target = newLake(app.home, { data: join(app.home, 'name=Zoe', 'id=9') })
    const writer = await lakeWriter(app.home, target)
    await writer.publish([ANN, BOB], { refill: true, ...FINAL })
    expect(await areMoved(target)).toEqual([[true]])
    expect(await rowsOf(target, 'SELECT id::INT, name FROM people ORDER BY id')).toEqual([
      [1, 'Ann'],
      [2, 'Bob'],
    ])
  })

  it.skipIf(process.getuid?.() !== 0)('have the group of a folder that gives its own', async () => {
    const target = newLake(app.home)
    await mkdir(target.data)
    await chown(target.data, 0, 1234)
    await chmod(target.data, 0o2750)
    const writer = await lakeWriter(app.home, target)
    await writer.publish([ANN], { refill: true, ...FINAL })
    for (const name of await readdir(join(target.data, 'main', 'people'))) {
      const { gid, mode } = await stat(join(target.data, 'main', 'people', name))
      expect([gid, (mode & 0o777).toString(8)]).toEqual([1234, '640'])
    }
  })

  it('in partitions of its owner are removed by an erasure, with those of a killed publication and their folders', async () => {
    const target = newLake(app.home)
    const writer = await lakeWriter(app.home, target)
    await writer.publish([BOB], { refill: true, erases: false })
    await asOwner(target, 'ALTER TABLE lake.people SET PARTITIONED BY (name)')
    await writer.publish([ANN])
    const people = join(target.data, 'main/people')
    const [own] = await readdir(join(people, 'name=Ann'))
    const left = join(people, 'name=Ann', own!.replace(/[0-9a-f]{12}/, '0123456789ab'))
    await copyFile(join(people, 'name=Ann', own!), left)
    const yesterday = new Date(Date.now() - 26 * 3_600_000)
    await utimes(left, yesterday, yesterday)
    await writer.publish([], { deletes: [ANN.id], erases: true })
    expect(await readdir(people, { recursive: true })).not.toContainEqual(expect.stringContaining('Ann'))
    expect(await rowsOf(target)).toEqual([['Bob']])
  })

  it('leave a lake to which its owner can write with the settings of DuckDB', async () => {
    const target = newLake(app.home)
    const writer = await lakeWriter(app.home, target)
    await writer.publish([ANN], { refill: true, ...FINAL })
    const instance = await DuckDBInstance.create(':memory:')
    const connection = await instance.connect()
    for (const name of ['ducklake', 'sqlite_scanner'])
      await connection.run(`LOAD '${extensionFolder()}/${name}.duckdb_extension'`)
    await connection.run(`ATTACH 'ducklake:sqlite:${target.catalog.path}' AS lake`)
    await connection.run(`CREATE TABLE lake.mine AS SELECT name FROM lake.people`)
    await connection.run(`INSERT INTO lake.mine VALUES ('Eve'); CALL ducklake_merge_adjacent_files('lake')`)
    connection.closeSync()
    instance.closeSync()
    await writer.publish([BOB], FINAL)
    expect(await rowsOf(target, 'SELECT name FROM mine ORDER BY name')).toEqual([['Ann'], ['Eve']])
  })

  it('are removed if the transaction fails, at whatever statement', async () => {
    const target = newLake(app.home)
    const writer = await lakeWriter(app.home, target)
    await writer.publish([ANN], { refill: true, ...FINAL })
    const { run } = writer.database
    for (const begin of ['COMMIT', 'INSERT INTO target.main._publication', 'CALL ducklake_add_data_files']) {
      // The reading of the watermark commits first.
      let commits = 0
      writer.database.run = async (sql, params) => {
        if (sql === 'COMMIT' && ++commits === 1) return run(sql, params)
        if (sql.startsWith(begin)) {
          writer.database.run = run
          throw new Error('No space left on device')
        }
        return run(sql, params)
      }
      await expect(writer.publish([{ id: 5, name: 'Unpublished' }], FINAL)).rejects.toMatchObject({
        code: 'TARGET_UNUSABLE',
      })
      writer.database.run = run
      expect(await filesWith(target.data, 'Unpublished')).toEqual([])
      expect(await rowsOf(target)).toEqual([['Ann']])
    }
    await writer.publish([BOB], FINAL)
    expect(await rowsOf(target)).toEqual([['Ann'], ['Bob']])
  })

  it('stay where the transaction was committed although its answer was lost', async () => {
    const target = newLake(app.home)
    const writer = await lakeWriter(app.home, target)
    await writer.publish([ANN], { refill: true, ...FINAL })
    const { run } = writer.database
    let commits = 0
    writer.database.run = async (sql, params) => {
      await run(sql, params)
      if (sql === 'COMMIT' && ++commits === 2) {
        writer.database.run = run
        throw new Error('connection lost')
      }
    }
    await expect(writer.publish([BOB], FINAL)).rejects.toThrow()
    writer.database.run = run
    expect(await rowsOf(target)).toEqual([['Ann'], ['Bob']])
  })
})
