// Versions of a lake: their changes, compaction, expiry, and what an erasure leaves.
import { existsSync } from 'node:fs'
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { maintain } from '../../src/publish/ducklake/maintenance.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { lakeWriter } from './lake-packages.ts'
import { describeWithLake, filesWith, newLake, readingLake } from './lake-scene.ts'

const app = temporaryWarehouse()

const people = (from: number, to: number, name = 'name') =>
  Array.from({ length: to - from }, (_, at) => ({ id: from + at, name: `${name} ${from + at}` }))

const FILES = `SELECT sum(file_count + delete_file_count)::INT FROM ducklake_table_info('lake')`

describeWithLake('the versions of a lake', () => {
  it('can be read by number and time, and their changes are those of the publications', async () => {
    const target = newLake(app.home)
    const writer = await lakeWriter(app.home, target)
    await writer.publish(people(0, 100), { refill: true })
    await writer.publish([
      { id: 7, name: 'Ann' },
      { id: 100, name: 'Bob' },
    ])
    await writer.publish([], { deletes: [8] })
    expect(await maintain(writer.database, target, { mostFiles: 1 })).toBeNull()
    await readingLake(target, async rows => {
      const versions = await rows(`SELECT snapshot_id, commit_message, author FROM lake.snapshots() ORDER BY 1`)
      const published = versions.filter(([, message]) => message !== 'maintenance')
      expect(published.map(([, message, author]) => [message, author])).toEqual([
        ['refill', 'convohouse'],
        ['delta', 'convohouse'],
        ['delta', 'convohouse'],
      ])
      expect(versions.length).toBeGreaterThan(published.length)
      const [refill, delta] = published.map(([id]) => id)
      const named = (version: unknown) =>
        rows(`SELECT name FROM people AT (VERSION => ${version}) WHERE id IN (7, 8) ORDER BY id`)
      expect(await named(refill)).toEqual([['name 7'], ['name 8']])
      expect(await named(delta)).toEqual([['Ann'], ['name 8']])
      expect(await rows('SELECT name FROM people WHERE id IN (7, 8)')).toEqual([['Ann']])
      const changes = `SELECT change_type, id, name FROM lake.table_changes('people', ${Number(refill) + 1}, ${versions.at(-1)![0]})
        WHERE snapshot_id NOT IN (SELECT snapshot_id FROM lake.snapshots() WHERE commit_message = 'maintenance') ORDER BY ALL`
      expect(await rows(changes)).toEqual([
        ['delete', '7', 'name 7'],
        ['delete', '8', 'name 8'],
        ['insert', '7', 'Ann'],
        ['insert', '100', 'Bob'],
      ])
    })
  })

  it('have all rows for queries with a filter, also where a column has no range in one of their files', async () => {
    const target = newLake(app.home)
    const writer = await lakeWriter(app.home, target)
    await writer.publish([...people(0, 2), { id: 2, name: 'é'.repeat(6_000) }], { refill: true })
    for (const mostFiles of [300, 1]) {
      await writer.publish([{ id: 3, name: `Zoe ${mostFiles}` }])
      expect(await maintain(writer.database, target, { mostFiles })).toBeNull()
      await readingLake(target, async rows => {
        expect(await rows(`SELECT id FROM people WHERE name = 'name 1'`)).toEqual([['1']])
        expect(await rows(`SELECT id FROM people WHERE name > 'é'`)).toEqual([['2']])
        expect(await rows('SELECT id FROM people ORDER BY name')).toEqual([['3'], ['0'], ['1'], ['2']])
      })
    }
  })

  it('have the smallest and largest values of their rows, which DuckLake may answer from its ranges', async () => {
    const target = newLake(app.home)
    // Row groups of NULL and files with NaN have no range.
    const writer = await lakeWriter(app.home, target, () => [
      ['n', 'BIGINT', 'CASE WHEN id >= 9000 THEN id::BIGINT END'],
      ['x', 'DOUBLE', `CASE WHEN id = 1 THEN 'nan'::DOUBLE ELSE id END`],
      ['day', 'DATE', `DATE '2026-01-01' + id::INTEGER`],
    ])
    const expectEqual = async (what: string) =>
      readingLake(target, async rows => {
        for (const column of ['id', 'n', 'x', 'day', '"at"'])
          expect(await rows(`SELECT min(${column}), max(${column}) FROM people`), `${column} ${what}`).toEqual(
            // Of a subquery with a limit they are computed.
            await rows(`SELECT min(${column}), max(${column}) FROM (FROM people LIMIT 1000000)`),
          )
      })
    await writer.publish(people(0, 9_003), { refill: true })
    await expectEqual('of a new lake')
    await writer.publish(people(9_003, 9_004))
    await expectEqual('after new rows')
    expect(await maintain(writer.database, target)).toBeNull()
    await expectEqual('after maintenance')
    await writer.publish(people(9_004, 9_005), { erases: true })
    await expectEqual('after an erasure of other rows')
    await writer.publish([], { deletes: [0, 9_004], erases: true })
    await expectEqual('after an erasure')
    expect(await maintain(writer.database, target, { mostFiles: 1 })).toBeNull()
    await expectEqual('after compaction')
    await writer.publish(people(9_005, 9_006))
    await expectEqual('after compaction and new rows')
  })

  it('have few files after many publications, and the rows of each', async () => {
    const target = newLake(app.home)
    const writer = await lakeWriter(app.home, target)
    await writer.publish(people(0, 200), { refill: true })
    for (let round = 1; round <= 30; round++) {
      await writer.publish([...people(round, round + 3, `round ${round}`), { id: 200 + round, name: 'new' }])
      expect(await maintain(writer.database, target, { mostFiles: 16 })).toBeNull()
    }
    await readingLake(target, async rows => {
      const [[files]] = (await rows(FILES)) as [[number]]
      expect(files).toBeLessThanOrEqual(16)
      expect(await rows('SELECT count(*)::INT, count(DISTINCT id)::INT, max(id)::INT FROM people')).toEqual([
        [230, 230, 230],
      ])
      expect(await rows('SELECT name FROM marts.fct_people WHERE id IN (10, 32) ORDER BY id')).toEqual([
        ['round 10 10'],
        ['round 30 32'],
      ])
      // Written before the last merges and rewrites.
      const [, , tenth] = (await rows(
        `SELECT snapshot_id FROM lake.snapshots() WHERE commit_message = 'delta' ORDER BY 1`,
      )) as [number][]
      expect(await rows(`SELECT count(*)::INT, max(name) FROM people AT (VERSION => ${tenth![0]})`)).toEqual([
        [203, 'round 3 5'],
      ])
    })
  })

  it('expire, and their files stay for readers that have begun; what killed publications left goes, and nothing else', async () => {
    const target = newLake(app.home)
    const writer = await lakeWriter(app.home, target)
    await writer.publish(people(0, 10, 'first'), { refill: true, erases: false })
    await writer.publish(people(0, 10, 'second'), { refill: true, erases: false })
    const count = async (sql: string) => readingLake(target, async rows => Number((await rows(sql))[0]![0]))
    const versions = `SELECT count(*) FROM ducklake_snapshots('lake')`
    expect(await count(versions)).toBe(3)
    const day = new Date(Date.now() - 2 * 86_400_000)
    const left = 'ducklake-01a20c2f-871b-70f7-9fc4-172adcd94eb6.parquet'
    await mkdir(join(target.data, 'mine'))
    const others = [
      join(target.data, 'main', 'people', left),
      join(target.data, 'mine', left),
      join(target.data, 'mine.parquet'),
    ]
    for (const path of others) {
      await writeFile(path, 'x')
      await utimes(path, day, day)
    }
    const soon = { ...target, keepVersionsMs: 0 }
    expect(await maintain(writer.database, soon, { mostFiles: 0 })).toBeNull()
    expect(await count(`${versions} WHERE snapshot_id <= 1`)).toBe(0)
    expect(others.map(existsSync)).toEqual([false, true, true])
    expect(await filesWith(join(target.data, 'main'), 'first 3')).not.toEqual([])
    expect(await maintain(writer.database, { ...soon, keepFilesMs: 0 }, { mostFiles: 100 })).toBeNull()
    expect(await filesWith(join(target.data, 'main'), 'first 3')).toEqual([])
    expect(await count(`SELECT count(*) FROM people WHERE name LIKE 'second%'`)).toBe(10)
    for (const path of others) await rm(path, { force: true })
  })

  it.each(['sqlite', 'duckdb'] as const)(
    'that have an erased person are removed at once, with every byte in files, also of killed publications, and the %s catalog',
    async type => {
      const target = newLake(app.home, {}, type)
      const writer = await lakeWriter(app.home, target)
      const canary = 'AAA-canary@example.com'
      await writer.publish([...people(0, 50), { id: 50, name: canary }], { refill: true })
      await writer.publish([
        { id: 50, name: `${canary} again` },
        { id: 51, name: 'other' },
      ])
      expect(await filesWith(target.data, canary)).not.toEqual([])
      const twoHoursAgo = new Date(Date.now() - 2 * 3_600_000)
      const left = join(target.data, 'main', 'people', 'ducklake-01a20c2f-871b-70f7-9fc4-172adcd94eb6.parquet')
      await writeFile(left, canary)
      await utimes(left, twoHoursAgo, twoHoursAgo)
      await writer.publish([], { deletes: [50], erases: true })
      expect(
        await filesWith(app.home, canary).then(found => found.filter(path => !path.includes('packages-'))),
      ).toEqual([])
      await readingLake(target, async rows => {
        expect(await rows(`SELECT count(*)::INT FROM people`)).toEqual([[51]])
        // No range is that of the erased row, and none is taken for the values.
        const bounds =
          'min(id)::INT, max(id)::INT, min(name), max(name), min(people.at)::VARCHAR, max(people.at)::VARCHAR'
        expect(await rows(`SELECT ${bounds} FROM people`)).toEqual([
          [0, 51, 'name 0', 'other', '2026-11-20 12:00:00+00', '2026-11-20 12:00:51+00'],
        ])
        expect(await rows('SELECT min(id)::INT, max(id)::INT, count(*)::INT FROM people')).toEqual([[0, 51, 51]])
        expect(await rows(`SELECT id::INT FROM people WHERE id > 48 AND name > 'n' ORDER BY id`)).toEqual([[49], [51]])
        expect(await rows(`SELECT comment FROM duckdb_tables() WHERE table_name = 'people'`)).toEqual([
          ['Table people'],
        ])
      })
      // The rewritten catalog is a whole one.
      await writer.publish([{ id: 52, name: 'later' }])
      expect(await maintain(writer.database, target, { mostFiles: 1 })).toBeNull()
      await readingLake(target, async rows => expect(await rows('SELECT count(*)::INT FROM people')).toEqual([[52]]))
    },
  )
})
