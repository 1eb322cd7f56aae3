// The target `ducklake`: its readers, versions, maintenance and erasures, and what it refuses.
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { placeFindings } from '../../src/cli/doctor/targets.ts'
import type { LakeTarget } from '../../src/config/targets/ducklake.ts'
import type { Config } from '../../src/config.ts'
import { maintain } from '../../src/publish/targets/ducklake/maintenance.ts'
import { eraseRecords } from '../../src/warehouse/maintenance/erase-records.ts'
import { killedBefore, patchedTarget } from '../publish/patched-target.ts'
import { ENTRY, SETTINGS } from '../publish/published.ts'
import { describeTarget } from '../publish/target-contract.ts'
import { AGENT, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { lakeWriter } from './lake-packages.ts'
import { filesWith, newLake, publishLake, readingLake } from './lake-scene.ts'
import { describeWithPostgres, failureOf, load, postgresScene } from './postgres-scene.ts'
import { python } from './python.ts'

const scene = postgresScene()
const { app } = scene

const newTarget = (...settings: [Partial<LakeTarget>?, Partial<LakeTarget['catalog']['connection']>?]) =>
  newLake(scene, ...settings)

const publish = (target: LakeTarget, options = {}) => publishLake(app, target, options)

const reading = <T>(target: LakeTarget, work: (rows: (sql: string) => Promise<unknown[][]>) => Promise<T>) =>
  readingLake(target, { password: scene.server.password }, work)

const asOwner = (target: LakeTarget, ...statements: string[]) =>
  readingLake(target, { password: scene.server.password, writes: true }, async rows => {
    for (const statement of statements) await rows(statement)
  })

/** Returns the text of a failure with its hint; it must not contain the password. */
async function failureText(target: LakeTarget): Promise<string> {
  const { code, message, hint } = await failureOf(publish(target))
  const text = `${code} ${message} ${hint}`
  expect(text).not.toContain(scene.server.password)
  return text
}

/** Returns the values of the catalog's statistics that contain the text. */
const statisticsWith = ({ catalog: { schema } }: LakeTarget, text: string) => {
  const of = (table: string) =>
    `SELECT min_value AS least, max_value AS greatest FROM ${schema}.ducklake_${table}_column_stats`
  return scene.admin.rows(
    `SELECT 1 FROM (${of('table')} UNION ALL ${of('file')}) s WHERE concat(least, greatest) LIKE '%${text}%'`,
  )
}

const people = (from: number, to: number, name = 'name') =>
  Array.from({ length: to - from }, (_, at) => ({ id: from + at, name: `${name} ${from + at}` }))

describeWithPostgres('a lake', () => {
  describeTarget<LakeTarget>({
    app,
    newTarget,
    extensions: () => scene.extensions,
    rows: (target, table, { what, where }) =>
      reading(target, rows => rows(`SELECT ${what} FROM ${table} WHERE ${where}`)),
    hasText: async (target, text) =>
      (await filesWith(target.data, text)).length + (await statisticsWith(target, text)).length > 0,
    async occupy(target) {
      await mkdir(target.data)
      await asOwner(target, `CREATE TABLE precious AS SELECT 1 AS x`)
      return () => reading(target, rows => rows('FROM precious'))
    },
    erases: 'refill',
    isLocked: false,
    kills: [
      { step: /^DELETE FROM target.main._publication/, state: 'old' },
      { step: /^COMMIT/, count: 2, state: 'old' },
      { step: /^ATTACH 'ducklake/, count: 3, state: 'new' },
    ],
  })

  it('is written and read by roles with the rights that its page gives them', async () => {
    const place = app.workspace()
    const [writer, reader] = ['lake_writer', 'lake_reader']
    const target = newTarget({}, { user: writer })
    const page = await readFile(join(import.meta.dirname, '../../docs/targets/ducklake.md'), 'utf8')
    const [, statements] = /```sql\n(CREATE ROLE [^`]+CREATE SCHEMA convohouse_lake[^`]+)```/.exec(page)!
    await scene.admin.execute(`CREATE ROLE ${reader} LOGIN PASSWORD '${scene.server.password}'`)
    await scene.admin.execute(
      statements!
        .replaceAll('convohouse_lake', target.name)
        .replaceAll(/\bconvohouse\b/g, writer)
        .replaceAll('analysts', reader)
        .replace('…', scene.server.password),
    )
    await load(place, [{ ID: 'a', userName: 'Ann' }])
    await publish(target, { verify: true })
    const { connection } = target.catalog
    const asReader = { ...target, catalog: { ...target.catalog, connection: { ...connection, user: reader } } }
    const sql = `SELECT user_name FROM conversations WHERE workspace_id = '${place.id}'`
    expect(await reading(asReader, rows => rows(sql))).toEqual([['Ann']])
  })

  it('is read as its page says: versions, their tables and their changes', async () => {
    const place = app.workspace()
    const target = newTarget()
    for (let round = 0; round < 5; round++) {
      await load(place, [{ ID: 'a', userName: `Ann ${round}` }], round)
      await publish(target)
    }
    const page = await readFile(join(import.meta.dirname, '../../docs/bi/ducklake.md'), 'utf8')
    const blocks = (language: string) =>
      [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^\`]+)\`\`\``, 'g'))].map(([, code]) => code!)
    const statements = blocks('sql')
      .flatMap(text => text.split(';').filter(one => one.trim() !== ''))
      .map(text => text.replace('INTERVAL 1 DAY', 'INTERVAL 1 SECOND'))
    expect(statements.length).toBe(4)
    await reading(target, async rows => {
      const answers: unknown[][][] = []
      for (const statement of statements) answers.push(await rows(statement))
      const [versions, byNumber, byTime, changes] = answers
      expect(versions!.map(([, , message]) => message)).toEqual(['refill', ...Array(4).fill('delta')])
      expect(versions!.at(-1)!.at(-1)).toMatch(/^"?20\d\d-/)
      expect([byNumber, byTime].map(found => Number(found![0]![0]))).toEqual([expect.any(Number), expect.any(Number)])
      // Version 3 is the third publication.
      const names = changes!
        .filter(([, , , name]) => String(name).startsWith('Ann '))
        .map(([version, type, , name]) => [Number(version), type, name])
      expect(names).toEqual(
        [3, 4, 5].flatMap(version => [
          [version, 'delete', `Ann ${version - 2}`],
          [version, 'insert', `Ann ${version - 1}`],
        ]),
      )
    })
    const [program] = blocks('python')
    const loads = ['ducklake', 'postgres_scanner'].map(name => `LOAD '${scene.extensions}/${name}.duckdb_extension'`)
    const { connection, schema } = target.catalog
    const address = `host=${connection.host} port=${connection.port} dbname=${connection.database} user=${connection.user}`
    const code = program!
      .replace('INSTALL ducklake; INSTALL postgres', loads.join('; '))
      .replace('host=db.example.com dbname=lake user=analyst', `${address} password=${scene.server.password}`)
      .replace('convohouse_lake', schema)
    expect(await python('lake', ['-c', code])).toMatch(/conversations/)
  })

  it('is refused if something else has written it, or if its data is elsewhere or belongs to another lake', async () => {
    const target = newTarget()
    await publish(target)
    expect(await failureText({ ...target, data: join(app.home, 'moved') })).toMatch(
      /TARGET_UNUSABLE .* keeps its data elsewhere/,
    )
    expect(await failureText(newTarget({ data: target.data }))).toMatch(
      /TARGET_UNUSABLE .*\/main has the data of another lake/,
    )
    await asOwner(target, `UPDATE agents SET title = 'mine'`, 'CREATE VIEW mine AS FROM agents')
    expect(await failureText(target)).toMatch(
      /TARGET_UNUSABLE .*version \d+ was made by something else.*drop the schema/,
    )
    await scene.admin.execute(`DROP SCHEMA ${target.catalog.schema} CASCADE`)
    await rm(target.data, { recursive: true })
    expect(await publish(target)).toMatchObject({ kind: 'refill', reason: 'no watermark' })
  })

  it('is tested by doctor, and never shows its password', async () => {
    const config = { home: app.home, threads: 1, publish: SETTINGS, extensions: scene.extensions } as unknown as Config
    const finding = async (target: LakeTarget) => {
      const found = await placeFindings({ config, target, offline: false, entry: ENTRY })
      expect(JSON.stringify(found)).not.toContain(scene.server.password)
      return found.at(-1)!
    }
    const target = newTarget()
    expect(await finding(target)).toMatchObject({ state: 'ok', found: expect.stringContaining('first publication') })
    const state = join(app.home, 'state')
    const spy = `if (!step.startsWith('COMMIT')) return
      const databases = (await connection.runAndReadAll('FROM duckdb_databases()')).getRowsJson()
      const ofProcess = ['environ', 'cmdline'].map(name => readFileSync('/proc/self/' + name, 'latin1'))
      writeFileSync(${JSON.stringify(state)}, JSON.stringify([databases, ofProcess]))`
    await publish(target, { entry: await patchedTarget(app.home, 'spy', spy) })
    expect(await finding(target)).toMatchObject({
      state: 'ok',
      found: expect.stringMatching(/\(\d+ versions?, the newest of \d+ files\)$/),
    })
    const found = await readFile(state, 'latin1')
    const metadata = JSON.stringify(
      await scene.admin.rows(`SELECT key, value FROM ${target.catalog.schema}.ducklake_metadata`),
    )
    expect([found, metadata]).toEqual([expect.stringContaining("user='admin'"), expect.stringContaining('data_path')])
    for (const text of [found, metadata]) expect(text).not.toContain(scene.server.password)
  })

  it('has no value of an erased person once the next publication completes an erasure that was killed', async () => {
    const place = app.workspace()
    const target = newTarget()
    const canary = 'AAA-canary@example.com'
    await load(place, [{ ID: 'a', userEmail: canary }, { ID: 'b' }])
    await publish(target)
    const records = [{ table: 'conversations', key: [AGENT, 'a'] }]
    await eraseRecords(app.warehouse.writer, { workspaceId: place.id, records, nowMs: SENT_AT_MS })
    const entry = await killedBefore(app.home, { step: /^CALL ducklake_cleanup_old_files/ })
    expect((await failureOf(publish(target, { entry }))).code).toBe('PUBLICATION_FAILED')
    expect(await filesWith(target.data, canary)).not.toEqual([])
    expect(await publish(target)).toMatchObject({ kind: 'current' })
    expect([await filesWith(target.data, canary), await statisticsWith(target, canary)]).toEqual([[], []])
    await reading(target, async rows =>
      expect(await rows(`SELECT DISTINCT commit_message FROM lake.snapshots()`)).toEqual([['refill']]),
    )
  })
})

describeWithPostgres('the versions of a lake', () => {
  it('have few files after many publications, and the rows of each', async () => {
    const target = newTarget()
    const writer = await lakeWriter(app.home, target)
    await writer.publish(people(0, 200), { refill: true })
    for (let round = 1; round <= 20; round++) {
      await writer.publish([...people(round, round + 3, `round ${round}`), { id: 200 + round, name: 'new' }])
      expect(await maintain(writer.database, target, { mostFiles: 16 })).toBeNull()
    }
    await reading(target, async rows => {
      const [[files]] = (await rows(
        `SELECT sum(file_count + delete_file_count)::INT FROM ducklake_table_info('lake')`,
      )) as [[number]]
      expect(files).toBeLessThanOrEqual(16)
      expect(await rows('SELECT count(*)::INT, count(DISTINCT id)::INT, max(id)::INT FROM people')).toEqual([
        [220, 220, 220],
      ])
      expect(await rows('SELECT name FROM marts.fct_people WHERE id IN (10, 22) ORDER BY id')).toEqual([
        ['round 10 10'],
        ['round 20 22'],
      ])
      // These files were written before the last merges and rewrites.
      const [, , third] = (await rows(
        `SELECT snapshot_id FROM lake.snapshots() WHERE commit_message = 'delta' ORDER BY 1`,
      )) as [number][]
      expect(await rows(`SELECT count(*)::INT, max(name) FROM people AT (VERSION => ${third![0]})`)).toEqual([
        [203, 'round 3 5'],
      ])
    })
  })

  it('expire, and their files stay for readers that have begun; only leftovers of killed publications are removed', async () => {
    const target = newTarget()
    const writer = await lakeWriter(app.home, target)
    await writer.publish(people(0, 10, 'first'), { refill: true, erases: false })
    await writer.publish(people(0, 10, 'second'), { refill: true, erases: false })
    const count = async (sql: string) => reading(target, async rows => Number((await rows(sql))[0]![0]))
    const versions = `SELECT count(*) FROM ducklake_snapshots('lake')`
    expect(await count(versions)).toBe(3)
    const left = 'ducklake-01a20c2f-871b-70f7-9fc4-172adcd94eb6.parquet'
    await mkdir(join(target.data, 'mine'))
    const others = [['main', 'people', left], ['mine', left], ['mine.parquet']].map(names =>
      join(target.data, ...names),
    )
    for (const path of others) await writeFile(path, 'x')
    const soon = { ...target, keepVersionsMs: 0 }
    expect(await maintain(writer.database, soon, { mostFiles: 0 })).toBeNull()
    expect(await count(`${versions} WHERE snapshot_id <= 1`)).toBe(0)
    expect(others.map(existsSync)).toEqual([false, true, true])
    expect(await filesWith(join(target.data, 'main'), 'first 3')).not.toEqual([])
    for (const path of others) await rm(path, { force: true })
    expect(await maintain(writer.database, { ...soon, keepFilesMs: 0 }, { mostFiles: 100 })).toBeNull()
    expect(await filesWith(join(target.data, 'main'), 'first 3')).toEqual([])
    expect(await count(`SELECT count(*) FROM people WHERE name LIKE 'second%'`)).toBe(10)
  })

  describe('if a column has no range in one of their files', () => {
    const long = 'é'.repeat(6_000)

    it('lose rows for queries with a filter if DuckLake alone writes them: else `widenRanges` can be deleted', async () => {
      const target = newTarget()
      await mkdir(target.data)
      const attach = `ATTACH 'ducklake:postgres:host=127.0.0.1 port=${scene.server.port} dbname=postgres user=admin password=${scene.server.password}'
        AS made (METADATA_SCHEMA '${target.name}', DATA_PATH '${target.data}/', DATA_INLINING_ROW_LIMIT 0)`
      const { database } = await lakeWriter(app.home, newTarget())
      for (const statement of [attach, 'CREATE TABLE made.people (id BIGINT, name VARCHAR)'])
        await database.run(statement)
      await database.run(`INSERT INTO made.people VALUES (1, 'name 1'), (2, '${long}')`)
      await database.run(`INSERT INTO made.people VALUES (3, 'Zoe')`)
      await database.run('DETACH made')
      await reading(target, async rows => expect(await rows(`FROM people WHERE name = 'name 1'`)).toEqual([]))
    })

    it('have all rows, and the smallest and largest values, as convohouse writes them', async () => {
      const target = newTarget()
      const writer = await lakeWriter(app.home, target, () => [
        ['n', 'BIGINT', 'CASE WHEN id >= 9000 THEN id::BIGINT END'],
        ['x', 'DOUBLE', `CASE WHEN id = 1 THEN 'nan'::DOUBLE ELSE id END`],
      ])
      await writer.publish([...people(0, 2), { id: 2, name: long }, ...people(9_000, 9_003)], { refill: true })
      for (const mostFiles of [300, 1]) {
        await writer.publish([{ id: 3, name: `Zoe ${mostFiles}` }])
        expect(await maintain(writer.database, target, { mostFiles })).toBeNull()
        await reading(target, async rows => {
          expect(await rows(`SELECT id FROM people WHERE name = 'name 1'`)).toEqual([['1']])
          expect(await rows(`SELECT id FROM people WHERE name > 'é'`)).toEqual([['2']])
          for (const column of ['id', 'n', 'x', 'name', '"at"'])
            expect(await rows(`SELECT min(${column}), max(${column}) FROM people`), column).toEqual(
              // DuckDB computes the bounds of a subquery with a limit.
              await rows(`SELECT min(${column}), max(${column}) FROM (FROM people LIMIT 1000000)`),
            )
        })
      }
    })
  })
})

describeWithPostgres('a lake whose owner has changed a data file', () => {
  it.each([
    ['truncated', (path: string) => truncate(path, 100)],
    ['removed', (path: string) => rm(path)],
  ])('(%s) is not continued, and a refill replaces it', async (_, change) => {
    const place = app.workspace()
    const target = newTarget()
    await load(place, [{ ID: 'a', userName: 'Ann' }])
    await publish(target)
    const folder = join(target.data, 'main', 'conversations')
    for (const name of await readdir(folder)) await change(join(folder, name))
    await load(place, [{ ID: 'a', userName: 'Amy' }], 1)
    expect(await failureText(target)).toMatch(/^TARGET_CHANGED A data file .* is gone or damaged\. .*--refill/)
    expect(await publish(target, { refill: true })).toMatchObject({ kind: 'refill' })
  })
})
