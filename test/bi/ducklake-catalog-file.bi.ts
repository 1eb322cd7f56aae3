// The catalog of a lake in a file: what its readers wait for, and how an erasure writes it again.

import { execFile } from 'node:child_process'
import { lstat, readdir, readFile, readlink, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { eraseRecords } from '../../src/warehouse/maintenance/erase-records.ts'
import { AGENT, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { lakeWriter } from './lake-packages.ts'
import { describeWithLake, filesWith, newLake, publishLake, readingLake } from './lake-scene.ts'
import { patchedTarget } from './patched-target.ts'
import { failureOf, load } from './postgres-scene.ts'

const app = temporaryWarehouse()

const COUNT = 'SELECT count(*)::INT FROM conversations'

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
    const { run } = database
    const owners: Promise<unknown>[] = []
    const write = (name: string) =>
      readingLake(
        target,
        async owner => {
          await owner(`CREATE TABLE ${name} AS SELECT 1 AS x`)
          await owner(`USE memory; DETACH lake; ATTACH '${target.catalog.path}' AS direct (TYPE sqlite)`)
          await owner(`CREATE TABLE direct.${name}_notes AS SELECT '${name}' AS note`)
        },
        { writes: true },
      )
    await write('before')
    database.run = async sql => {
      if (sql.startsWith('UPDATE catalog_file')) owners.push(write('during'))
      return run(sql)
    }
    await publish([{ id: 2, name: 'Bob' }], { erases: true })
    const written = await Promise.allSettled(owners)
    expect(written).toHaveLength(1)
    // The owner may have waited for too long, and then knows it.
    const names = ['before', ...(written[0]!.status === 'fulfilled' ? ['during'] : [])]
    await readingLake(target, async owner => {
      for (const name of names) expect(await owner(`FROM ${name}`)).toEqual([[1]])
      await owner(`USE memory; DETACH lake; ATTACH '${target.catalog.path}' AS direct (TYPE sqlite, READ_ONLY)`)
      for (const name of names) expect(await owner(`FROM direct.${name}_notes`)).toEqual([[name]])
    })
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
    expect(found).toEqual(['DETACH next_lake', 'DETACH next'].map(() => expect.stringContaining('lock')))
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
      const names = ['.backup', '.next.txt', ...(type === 'duckdb' ? ['.next', '.next.wal'] : [])]
      for (const name of names) await writeFile(elsewhere + name, 'x')
      const { publish } = await lakeWriter(app.home, target)
      await publish([{ id: 2, name: 'Bob' }], { refill: true })
      expect(await readlink(target.catalog.path)).toBe(elsewhere)
      expect((await lstat(elsewhere)).isSymbolicLink()).toBe(false)
      const left = await readdir(app.home)
      expect(names.filter(name => left.includes(basename(elsewhere) + name))).toEqual(['.backup', '.next.txt'])
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
      const catalogs = async () =>
        (await readdir(app.home)).filter(name => name.startsWith(basename(target.catalog.path)))
      const withCanary = async () => {
        const found: string[] = []
        for (const name of await catalogs())
          if ((await readFile(join(app.home, name))).includes(canary)) found.push(name)
        return found
      }
      if (type === 'duckdb') expect(await catalogs()).toContain(`${basename(target.catalog.path)}.next`)
      expect(await publishLake(app, target)).toMatchObject({ kind: 'current' })
      expect(await withCanary()).toEqual([])
      expect(await filesWith(target.data, canary)).toEqual([])
      expect((await catalogs()).length).toBe(2)
    },
  )
})
