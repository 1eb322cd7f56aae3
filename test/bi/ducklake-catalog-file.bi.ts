// The catalog of a lake in a file: what its readers wait for, and how an erasure writes it again.

import { execFile } from 'node:child_process'
import { lstat, readdir, readlink, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, it } from 'vitest'
import { rewriteCatalog } from '../../src/publish/ducklake/catalog-file.ts'
import { eraseRecords } from '../../src/warehouse/maintenance/erase-records.ts'
import { AGENT, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { extensionFolder } from './extensions.ts'
import { lakeWriter } from './lake-packages.ts'
import {
  catalogFiles,
  describeWithLake,
  type FileLake,
  filesOfLakeWith,
  newLake,
  publishLake,
  readingLake,
} from './lake-scene.ts'
import { patchedTarget } from './patched-target.ts'
import { failureOf, load } from './postgres-scene.ts'

const app = temporaryWarehouse()

const COUNT = 'SELECT count(*)::INT FROM conversations'

/** What the owner of a lake does with its catalog in SQLite, which is attached as `catalog`. */
async function asOwner({ catalog }: FileLake, sql: string, options = ''): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  try {
    await connection.run(`LOAD '${extensionFolder()}/sqlite_scanner.duckdb_extension'`)
    await connection.run(`ATTACH '${catalog.path}' AS catalog (TYPE sqlite${options})`)
    return (await connection.runAndReadAll(sql)).getRowsJson()
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** Opens a DuckDB file for writing in a process of its own. @returns what came of it */
async function openedElsewhere(path: string): Promise<string> {
  const program = `const { DuckDBInstance } = await import(${JSON.stringify(import.meta.resolve('@duckdb/node-api'))})
    console.log(await DuckDBInstance.create(${JSON.stringify(path)}).then(() => 'opened', error => error.message))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  return stdout.trim()
}

describeWithLake('the catalog of a lake in a file', () => {
  it('of SQLite: a query that takes long makes a publication fail, but no other reader, and the next one succeeds', async () => {
    const place = app.workspace()
    const target = newLake(app.home)
    await load(place, [{ ID: 'a' }])
    await publishLake(app, target)
    await load(place, [{ ID: 'b' }], 1)
    await readingLake(target, async rows => {
      await rows('BEGIN')
      const [[before]] = (await rows(COUNT)) as [[number]]
      const others: unknown[] = []
      const failed = failureOf(publishLake(app, target))
      let isOver = false
      void failed.then(() => {
        isOver = true
      })
      while (!isOver) others.push(await readingLake(target, other => other(COUNT)))
      expect((await failed).code).toBe('TARGET_LOCKED')
      expect(new Set(others.map(count => JSON.stringify(count)))).toEqual(new Set([JSON.stringify([[before]])]))
      expect(await rows(COUNT)).toEqual([[before]])
    })
    expect(await publishLake(app, target)).toMatchObject({ kind: 'delta' })
  })

  it('of SQLite: an erasure waits for a query, and writes the file that readers have opened', async () => {
    const target = newLake(app.home)
    const { database, opened, publish } = await lakeWriter(app.home, target)
    await publish(
      [1, 2, 3].map(id => ({ id, name: 'first' })),
      { refill: true },
    )
    const inode = async () => (await stat(target.catalog.path)).ino
    const before = await inode()
    // More than SQLite's cache has by default.
    await asOwner(
      target,
      `INSERT INTO catalog.ducklake_file_column_stats BY NAME
       SELECT 99999 AS data_file_id, 99999 AS table_id, i AS column_id, repeat('x', 100) AS min_value FROM range(30_000) t(i)`,
    )
    await readingLake(target, async rows => {
      const state = `SELECT count(*)::INT, (SELECT count(*)::INT FROM marts.fct_people) FROM people`
      const { run } = database
      database.run = async sql => {
        if (sql.startsWith('UPDATE catalog_file')) {
          await rows('BEGIN')
          expect(await rows(state)).toEqual([[2, 2]])
        }
        return run(sql)
      }
      expect(await failureOf(publish([], { deletes: [3], erases: true }))).toMatchObject({ code: 'TARGET_LOCKED' })
      database.run = run
      expect(await rows(state)).toEqual([[2, 2]])
      await rows('COMMIT')
      expect(await opened.maintain!()).toBeNull()
      await publish([], { deletes: [2], erases: true })
      expect(await rows(state)).toEqual([[1, 1]])
    })
    expect(await inode()).toBe(before)
  })

  it('of SQLite: what its owner commits during an erasure stays, and so do tables of the owner', async () => {
    const target = newLake(app.home)
    const { database, publish } = await lakeWriter(app.home, target)
    await publish([{ id: 1, name: 'Ann' }], { refill: true, erases: false })
    await asOwner(
      target,
      `CREATE TABLE catalog.ducklake_notes (note VARCHAR, noted TIMESTAMP DEFAULT '2026-11-26 10:00:00')`,
    )
    await asOwner(target, `INSERT INTO catalog.ducklake_notes (note) VALUES ('before')`)
    const { run } = database
    const owners: Promise<unknown>[] = []
    database.run = async sql => {
      if (sql.startsWith('UPDATE catalog_file'))
        owners.push(
          readingLake(target, owner => owner('CREATE TABLE during AS SELECT 1 AS x'), { writes: true }),
          asOwner(target, `INSERT INTO catalog.ducklake_notes (note) VALUES ('during')`),
        )
      return run(sql)
    }
    await publish([{ id: 2, name: 'Bob' }], { erases: true })
    // An owner may have waited for too long, and then knows it.
    const [table, note] = (await Promise.allSettled(owners)).map(({ status }) => status === 'fulfilled')
    await readingLake(target, async rows => {
      const found = await rows(`SELECT count(*)::INT FROM duckdb_tables() WHERE table_name = 'during'`)
      expect(found).toEqual([[table ? 1 : 0]])
    })
    expect(await asOwner(target, 'SELECT note FROM catalog.ducklake_notes ORDER BY note')).toEqual([
      ['before'],
      ...(note ? [['during']] : []),
    ])
  })

  it('of SQLite has the same tables, keys and rows after it is written again', async () => {
    const target = newLake(app.home)
    const { database, publish } = await lakeWriter(app.home, target)
    await publish([{ id: 1, name: '' }], { refill: true })
    await publish([{ id: 5_000_000_000, name: `é "'\u0001` }])
    const master = (columns: string) =>
      asOwner(
        target,
        `FROM sqlite_query('catalog', 'SELECT ${columns} FROM sqlite_master WHERE type = ''table''') ORDER BY name`,
      )
    const contents = async () => {
      const tables: Record<string, unknown> = {}
      for (const [name] of await master('name'))
        tables[String(name)] = await asOwner(target, `FROM catalog."${name}" ORDER BY ALL`)
      return { schema: await master('name, sql'), tables }
    }
    const before = await contents()
    expect(Object.keys(before.tables)).toContain('ducklake_file_column_stats')
    await rewriteCatalog(database, { type: 'sqlite', path: target.catalog.path })
    expect(await contents()).toEqual(before)
  })

  it('of SQLite does not grow by erasures, and leaves nothing beside it', async () => {
    const target = newLake(app.home)
    const { publish } = await lakeWriter(app.home, target)
    await publish([{ id: 0, name: 'Ann' }], { refill: true })
    await writeFile(`${target.catalog.path}.convohouse-next`, 'of a killed publication')
    const sizes: number[] = []
    for (let id = 1; id <= 8; id++) {
      await publish([{ id, name: 'x'.repeat(3_000) }], { deletes: [id - 1], erases: true })
      sizes.push((await stat(target.catalog.path)).size)
    }
    expect(Math.max(...sizes.slice(-4))).toBeLessThanOrEqual(Math.max(...sizes.slice(0, 4)))
    expect(await catalogFiles(target)).toEqual([basename(target.catalog.path), `${basename(target.catalog.path)}.lock`])
  })

  it('of SQLite with a write-ahead log is written without it, when no query reads it', async () => {
    const target = newLake(app.home)
    const { publish } = await lakeWriter(app.home, target)
    await publish([{ id: 1, name: 'Ann' }], { refill: true })
    const mode = () => asOwner(target, `FROM sqlite_query('catalog', 'PRAGMA journal_mode')`)
    await asOwner(target, 'CREATE TABLE catalog.notes (x INTEGER)', `, JOURNAL_MODE 'WAL'`)
    expect(await mode()).toEqual([['wal']])
    await readingLake(target, async rows => {
      await rows('BEGIN')
      expect(await rows('SELECT name FROM people')).toEqual([['Ann']])
      expect(await failureOf(publish([{ id: 2, name: 'Bob' }]))).toMatchObject({ code: 'TARGET_LOCKED' })
    })
    await publish([{ id: 2, name: 'Bob' }])
    expect(await mode()).toEqual([['delete']])
  })

  it('of DuckDB: its owner cannot write it between its copy and its replacement, which would be lost', async () => {
    const target = newLake(app.home, {}, 'duckdb')
    const { database, publish } = await lakeWriter(app.home, target)
    await publish([{ id: 1, name: 'Ann' }], { refill: true, erases: false })
    const { run } = database
    const found: string[] = []
    database.run = async sql => {
      if (sql.startsWith('DETACH next')) found.push(await openedElsewhere(target.catalog.path))
      return run(sql)
    }
    await publish([{ id: 2, name: 'Bob' }], { erases: true })
    expect(found).toEqual([expect.stringContaining('lock')])
    expect(await openedElsewhere(target.catalog.path)).toBe('opened')
  })

  it.each(['sqlite', 'duckdb'] as const)('of %s: two targets with different links to it have one lock', async type => {
    const target = newLake(app.home, {}, type)
    const link = `${target.catalog.path}.link`
    await symlink(target.catalog.path, link)
    const linked = { ...target, name: `${target.name}-linked`, catalog: { ...target.catalog, path: link } }
    await lakeWriter(app.home, target)
    expect(await failureOf(publishLake(app, linked))).toMatchObject({ code: 'TARGET_LOCKED' })
  })

  it.each(['sqlite', 'duckdb'] as const)(
    'of %s is written again where a link of its owner leads, and nothing else is removed',
    async type => {
      const target = newLake(app.home, {}, type)
      const first = await lakeWriter(app.home, target)
      await first.publish([{ id: 1, name: 'Ann' }], { refill: true, erases: false })
      const elsewhere = join(app.home, `elsewhere.${type}`)
      await rename(target.catalog.path, elsewhere)
      await symlink(elsewhere, target.catalog.path)
      const [others, own] = [
        ['.backup', '.next'],
        ['.convohouse-next', '.convohouse-next.wal'],
      ]
      const names = [...others, ...own]
      for (const name of names) await writeFile(elsewhere + name, 'x')
      const { publish } = await lakeWriter(app.home, target)
      await publish([{ id: 2, name: 'Bob' }], { refill: true })
      expect(await readlink(target.catalog.path)).toBe(elsewhere)
      expect((await lstat(elsewhere)).isSymbolicLink()).toBe(false)
      const left = await readdir(app.home)
      expect(names.filter(name => left.includes(basename(elsewhere) + name))).toEqual(others)
      await readingLake(target, async rows => expect(await rows('SELECT name FROM people')).toEqual([['Bob']]))
    },
  )

  it.each(['sqlite', 'duckdb'] as const)(
    'of %s has no byte of an erased person after the erasure, also if its process is killed while it writes the catalog again',
    async type => {
      const place = app.workspace()
      const target = newLake(app.home, {}, type)
      const canary = `AAA-${type}@example.com`
      await load(place, [{ ID: 'b' }])
      await publishLake(app, target)
      // In a file of its own, which is removed and not rewritten.
      await load(place, [{ ID: 'a', userEmail: canary }], 1)
      await publishLake(app, target)
      const records = [{ table: 'conversations', key: [AGENT, 'a'] }]
      await eraseRecords(app.warehouse.writer, { workspaceId: place.id, records, nowMs: SENT_AT_MS })
      const entry = await patchedTarget(
        app.home,
        `kill-catalog-${type}`,
        `if (!/^UPDATE (next|catalog_file).main./.test(sql)) return
      process.kill(process.pid, 'SIGKILL'); await sleep(10_000)`,
      )
      expect((await failureOf(publishLake(app, target, { entry }))).code).toBe('PUBLICATION_FAILED')
      if (type === 'duckdb')
        expect(await catalogFiles(target)).toContainEqual(expect.stringContaining('.convohouse-next'))
      expect(await publishLake(app, target)).toMatchObject({ kind: 'current' })
      expect(await filesOfLakeWith(target, canary)).toEqual([])
      expect((await catalogFiles(target)).length).toBe(2)
    },
  )
})
