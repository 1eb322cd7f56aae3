// The target `ducklake` with its catalog in PostgreSQL: readers in other processes, and what happens when something fails.
import { spawnSync } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { placeFindings } from '../../src/cli/doctor/targets.ts'
import type { LakeTarget } from '../../src/config/targets.ts'
import type { Config } from '../../src/config.ts'
import { eraseRecords } from '../../src/warehouse/maintenance/erase-records.ts'
import { ENTRY, SETTINGS } from '../publish/published.ts'
import { until } from '../until.ts'
import { AGENT, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import type { Workspace } from '../warehouse/temporary-warehouse.ts'
import { lakeWriter } from './lake-packages.ts'
import { expectVersions, newLake, publishLake, readingLake, startReader } from './lake-scene.ts'
import { patchedTarget } from './patched-target.ts'
import { describeWithPostgres, failureOf, load, postgresScene } from './postgres-scene.ts'
import { clientOf } from './postgres-server.ts'

const scene = postgresScene()
const { app } = scene

type Connection = Extract<LakeTarget['catalog'], { type: 'postgres' }>['connection']

/** A lake in a schema of its own. */
function newTarget(settings: Partial<LakeTarget> = {}, connection: Partial<Connection> = {}): LakeTarget {
  const target = newLake(app.home)
  const { connection: place, passwordFile } = scene.newTarget({}, connection)
  return { ...target, catalog: { type: 'postgres', connection: place, passwordFile, schema: target.name }, ...settings }
}

const namesIn = (target: LakeTarget, { id }: Workspace) =>
  readingLake(
    target,
    async rows => (await rows(`SELECT user_name FROM conversations WHERE workspace_id = '${id}' ORDER BY 1`)).flat(),
    { password: scene.server.password },
  )

/** The text of a failure with its hint, which must not contain the password. */
async function failureText(target: LakeTarget, options = {}): Promise<string> {
  const { code, message, hint } = await failureOf(publishLake(app, target, options))
  const text = `${code} ${message} ${hint}`
  expect(text).not.toContain(scene.server.password)
  return text
}

/** A published lake whose warehouse has changed since. */
async function changedScene() {
  const place = app.workspace()
  const target = newTarget()
  await load(place, [{ ID: 'a', userName: 'Ann' }])
  await publishLake(app, target)
  await load(place, [{ ID: 'a', userName: 'Amy' }], 1)
  return { place, target }
}

describeWithPostgres('a lake with its catalog in PostgreSQL', () => {
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
    await publishLake(app, target)
    await load(place, [{ ID: 'a', userName: 'Amy' }], 1)
    await publishLake(app, target, { verify: true })
    const catalog = target.catalog as Extract<LakeTarget['catalog'], { type: 'postgres' }>
    const asReader = { ...target, catalog: { ...catalog, connection: { ...catalog.connection, user: reader } } }
    expect(await namesIn(asReader, place)).toEqual(['Amy'])
  })

  it('is read by other processes while it is published to: each sees one version in all tables', async () => {
    const place = app.workspace()
    const target = newTarget()
    await load(place, [
      { ID: 'a', userName: 'Ann 0' },
      { ID: 'b', userName: 'Bob 0' },
    ])
    await publishLake(app, target)
    const stop = join(app.home, 'stop')
    const { password } = scene.server
    const readers = [1, 2].map(() => startReader(target, place, { stop, password }))
    for (const reader of readers) await reader.ready()
    const expected = ['Ann 0,Bob 0']
    for (let round = 1; round <= 3; round++) {
      await load(
        place,
        [
          { ID: 'a', userName: `Ann ${round}` },
          { ID: 'b', userName: `Bob ${round}` },
        ],
        round,
      )
      await publishLake(app, target, { refill: round === 2 })
      expected.push(`Ann ${round},Bob ${round}`)
    }
    await writeFile(stop, '')
    for (const reader of readers) expectVersions(await reader.result(), expected)
    expect(await namesIn(target, place)).toEqual(['Ann 3', 'Bob 3'])
  })

  it('has no value of an erased person in its statistics', async () => {
    const place = app.workspace()
    const target = newTarget()
    const canary = 'AAA-postgres@example.com'
    await load(place, [{ ID: 'b', userName: 'Ben' }])
    await publishLake(app, target)
    // In a file of its own, which is removed and not rewritten.
    await load(place, [{ ID: 'a', userName: 'Ann', userEmail: canary }], 1)
    await publishLake(app, target)
    const found = async () => {
      const of = (table: string) =>
        `SELECT min_value AS least, max_value AS greatest FROM ${target.name}.ducklake_${table}_column_stats`
      return scene.admin.rows(
        `SELECT 1 FROM (${of('table')} UNION ALL ${of('file')}) s WHERE concat(least, greatest) LIKE '%${canary}%'`,
      )
    }
    expect(await found()).not.toEqual([])
    const records = [{ table: 'conversations', key: [AGENT, 'a'] }]
    await eraseRecords(app.warehouse.writer, { workspaceId: place.id, records, nowMs: SENT_AT_MS })
    await publishLake(app, target)
    expect(await found()).toEqual([])
    expect(await namesIn(target, place)).toEqual(['Ben'])
  })

  it('keeps no folder of an erased value when its process ends with the last commit of an erasure', async () => {
    const target = newTarget()
    const { database, opened, publish } = await lakeWriter(app.home, target)
    await publish([{ id: 1, name: 'Ann' }], { refill: true, erases: false })
    await readingLake(target, rows => rows('ALTER TABLE people SET PARTITIONED BY (name)'), {
      ...{ writes: true, password: scene.server.password },
    })
    await publish([{ id: 2, name: 'AAA-person' }])
    const { run } = database
    let isLast = false
    database.run = async sql => {
      isLast ||= sql.includes('ducklake_cleanup_old_files')
      await run(sql)
      if (isLast && sql === 'COMMIT') throw new Error('the process has ended')
    }
    await failureOf(publish([], { deletes: [2], erases: true }))
    expect(isLast).toBe(true)
    database.run = run
    expect(await opened.maintain!()).toBeNull()
    expect(await readdir(join(target.data, 'main', 'people'))).toEqual([
      expect.stringMatching(/^ducklake-.*\.parquet$/),
    ])
  })

  it('has all rows for queries with a filter, also where a column has no range in a file', async () => {
    const place = app.workspace()
    const target = newTarget()
    await load(place, [
      { ID: 'a', userName: 'é'.repeat(6_000) },
      { ID: 'b', userName: 'Bob' },
    ])
    await publishLake(app, target)
    await load(place, [{ ID: 'c', userName: 'Zoe' }], 1)
    await publishLake(app, target)
    const sql = `SELECT conversation_id FROM conversations WHERE user_name = 'Bob'`
    expect(await readingLake(target, rows => rows(sql), { password: scene.server.password })).toEqual([['b']])
  })

  it('is tested by doctor, and is refused to another target in the same place', async () => {
    const { home } = app
    const config = { home, threads: 1, publish: SETTINGS, extensions: scene.extensions } as unknown as Config
    const finding = async (target: LakeTarget) => {
      const found = await placeFindings({ config, target, offline: false, entry: ENTRY })
      expect(JSON.stringify(found)).not.toContain(scene.server.password)
      return found.at(-1)!
    }
    const target = newTarget()
    expect(await finding(target)).toMatchObject({ state: 'ok', found: expect.stringContaining('as admin') })
    await publishLake(app, target)
    expect(await finding(target)).toMatchObject({
      state: 'ok',
      found: expect.stringMatching(/\(\d+ versions?, the newest of \d+ files\)$/),
    })
    expect(await finding(newTarget({}, { port: 1 }))).toMatchObject({ code: 'TARGET_UNUSABLE' })
    const other = { ...target, name: 'other' }
    expect(await failureText(other)).toMatch(
      new RegExp(`TARGET_UNUSABLE .* is written by the target ${target.name}\\.`),
    )
    await scene.admin.execute('CREATE SCHEMA mine; CREATE TABLE mine.ducklake_metadata (a int)')
    const { catalog } = target
    const mine = { ...target, name: 'mine', catalog: { ...catalog, schema: 'mine' } } as LakeTarget
    expect(await failureText(mine)).toMatch(/TARGET_UNUSABLE/)
  })

  it.each([
    ['an unknown database', { database: 'nowhere' }, /TARGET_UNUSABLE .*"nowhere" does not exist.*CREATE DATABASE/],
    ['a port that nobody listens at', { port: 1 }, /TARGET_UNUSABLE .*Connection refused.*Check that PostgreSQL runs/],
    ['a server without TLS', { sslmode: 'require' }, /TARGET_UNUSABLE .*does not support SSL.*`sslmode` is require/],
    ['an unknown role', { user: 'nobody' }, /TARGET_UNUSABLE .*authentication failed.*Correct `user`/],
  ] as const)('that cannot be reached is reported: %s', async (_, connection, expected) => {
    expect(await failureText(newTarget({}, connection))).toMatch(expected)
  })

  it('needs no right but to its schema, and says which it lacks', async () => {
    const passwordFile = join(app.home, 'lake-password')
    await writeFile(passwordFile, 'lake-s3cret')
    const target = newTarget({}, { user: 'laker' })
    const { catalog } = target
    if (catalog.type !== 'postgres') throw new Error('no server')
    const own = { ...target, catalog: { ...catalog, passwordFile } }
    await scene.admin.execute(`CREATE ROLE laker LOGIN PASSWORD 'lake-s3cret'`)
    expect(await failureText(own)).toMatch(/permission denied for database.*Grant it to laker/)
    await scene.admin.execute(`CREATE SCHEMA ${catalog.schema} AUTHORIZATION laker`)
    expect(await publishLake(app, own)).toMatchObject({ kind: 'refill' })
    expect(await publishLake(app, own)).toMatchObject({ kind: 'current' })
  })

  it('never shows its password: not in the state of the process, the catalog or records of publications', async () => {
    const target = newTarget()
    const state = join(app.home, 'state')
    const entry = await patchedTarget(
      app.home,
      'spy',
      `if (!sql.startsWith('COMMIT')) return
      const databases = (await connection.runAndReadAll('FROM duckdb_databases()')).getRowsJson()
      const ofProcess = ['environ', 'cmdline'].map(name => readFileSync('/proc/self/' + name, 'latin1'))
      writeFileSync(${JSON.stringify(state)}, JSON.stringify([databases, ofProcess]))`,
    )
    await publishLake(app, target, { entry })
    const found = await readFile(state, 'latin1')
    expect(found).toContain("user='admin'")
    const metadata = JSON.stringify(await scene.admin.rows(`SELECT key, value FROM ${target.name}.ducklake_metadata`))
    expect(metadata).toContain('data_path')
    const records = JSON.stringify(await app.warehouse.writer.rows('FROM _publications'))
    for (const text of [found, metadata, records]) expect(text).not.toContain(scene.server.password)
  })
})

describeWithPostgres('a publication to a lake that is interrupted', () => {
  it('by SIGKILL at any step leaves the old or the new version, and the next one completes it', async () => {
    const { place, target } = await changedScene()
    let minute = 1
    const points = [
      ['before its first row', "CALL ducklake_add_data_files('target', 'conversations'", 1, false],
      ['before its commit', 'INSERT INTO target.main._publication VALUES', 1, false],
      // After those that read the watermark and apply the package.
      ['during maintenance', "ATTACH 'ducklake", 3, true],
    ] as const
    for (const [what, step, count, isNew] of points) {
      const entry = await patchedTarget(
        app.home,
        `kill-${what.replaceAll(' ', '-')}`,
        `if (!sql.trimStart().startsWith(${JSON.stringify(step)})) return
        globalThis.reached = (globalThis.reached ?? 0) + 1
        if (globalThis.reached < ${count}) return
        process.kill(process.pid, 'SIGKILL'); await sleep(10_000)`,
      )
      const error = await failureOf(
        publishLake(app, target, { entry }).then(() => Promise.reject(new Error(`${what}: not killed`))),
      )
      expect([what, error.code, error.message]).toEqual([
        what,
        'PUBLICATION_FAILED',
        expect.stringContaining('SIGKILL'),
      ])
      expect(await namesIn(target, place), what).toEqual([isNew ? 'Amy' : 'Ann'])
      // The server may not have noticed yet that the killed process has gone.
      const report = await until(() => publishLake(app, target).catch(error => error.code !== 'TARGET_LOCKED'))
      expect(report, what).toMatchObject({ kind: isNew ? 'current' : 'delta' })
      expect(await namesIn(target, place)).toEqual(['Amy'])
      await load(place, [{ ID: 'a', userName: 'Ann' }], ++minute)
      await publishLake(app, target)
      await load(place, [{ ID: 'a', userName: 'Amy' }], ++minute)
    }
  })

  it('by another publisher is refused, and one that comes late changes nothing', async () => {
    const { place, target } = await changedScene()
    const [reached, released] = ['reached-lake', 'released-lake'].map(name => join(app.home, name))
    const entry = await patchedTarget(
      app.home,
      'slow-lake',
      `if (!sql.startsWith('INSERT INTO target.main._publication VALUES')) return
      writeFileSync(${JSON.stringify(reached)}, '')
      while (!existsSync(${JSON.stringify(released)})) await sleep(20)`,
    )
    const slow = publishLake(app, target, { entry })
    await until(() => readFile(reached!).catch(() => null))
    expect(await failureText(target)).toMatch(/TARGET_LOCKED .*Another publication/)
    await writeFile(released!, '')
    expect(await slow).toMatchObject({ kind: 'delta' })
    expect(await namesIn(target, place)).toEqual(['Amy'])
  })

  it('by a crash of the server leaves the old version, and is repeated', async () => {
    const { place, target } = await changedScene()
    const [reached, restarted] = ['reached-crash', 'restarted'].map(name => join(app.home, name))
    const entry = await patchedTarget(
      app.home,
      'crash-lake',
      `if (!sql.startsWith('COMMIT') || !globalThis.isSecond) { globalThis.isSecond ||= sql.startsWith('COMMIT'); return }
      writeFileSync(${JSON.stringify(reached)}, '')
      while (!existsSync(${JSON.stringify(restarted)})) await sleep(20)`,
    )
    const failing = failureOf(publishLake(app, target, { entry }))
    await until(() => readFile(reached!).catch(() => null))
    scene.admin.close()
    await scene.server.stop()
    await scene.server.start()
    await writeFile(restarted!, '')
    const { code, message, hint } = await failing
    expect([code, `${message} ${hint}`]).toEqual([
      'TARGET_UNUSABLE',
      expect.stringContaining('next publication tries again'),
    ])
    scene.admin = await clientOf(scene.server, scene.server)
    expect(await namesIn(target, place)).toEqual(['Ann'])
    expect(await publishLake(app, target)).toMatchObject({ kind: 'delta' })
    expect(await namesIn(target, place)).toEqual(['Amy'])
  })

  it('by a full disk leaves the old version, and is repeated when there is space', async ({ skip }) => {
    const data = join(app.home, 'small')
    await mkdir(data)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'none', data])
    skip(mounted.status !== 0, 'mount is not allowed here: it needs root')
    try {
      const place = app.workspace()
      const target = newTarget({ data })
      await load(place, [{ ID: 'a', userName: 'Ann' }])
      await publishLake(app, target)
      await load(place, [{ ID: 'a', userName: 'Amy' }], 1)
      await writeFile(join(data, 'filler'), Buffer.alloc(2 ** 21)).catch(() => {})
      expect(await failureText(target)).toMatch(/TARGET_UNUSABLE .*the disk is full.*Free disk space/)
      expect(await namesIn(target, place)).toEqual(['Ann'])
      await writeFile(join(data, 'filler'), '')
      expect(await publishLake(app, target)).toMatchObject({ kind: 'delta' })
      expect(await namesIn(target, place)).toEqual(['Amy'])
    } finally {
      spawnSync('umount', [data])
    }
  })
})
