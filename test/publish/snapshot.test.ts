// The target `snapshot`: the contents of a file after each publication, when it is written from empty, and what is refused.
import { readdirSync, symlinkSync } from 'node:fs'
import { chmod, copyFile, readdir, readFile, readlink, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeAll, describe, expect, it } from 'vitest'
import type { SnapshotTarget } from '../../src/config/targets/snapshot.ts'
import type { ConvohouseError } from '../../src/core/errors.ts'
import { registerConsumer } from '../../src/warehouse/changes/consumers.ts'
import { beginEpoch } from '../../src/warehouse/changes/log-changes.ts'
import { isDeep } from '../tier.ts'
import { AGENT, freshWindow, landAgents, landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../warehouse/temporary-warehouse.ts'
import { newTarget, publishTo, rowsIn, SETTINGS } from './published.ts'

const app = temporaryWarehouse()

const failureOf = (work: Promise<unknown>): Promise<ConvohouseError> =>
  work.then(
    () => {
      throw new Error('it did not fail')
    },
    error => error,
  )

/** One snapshot, published before the tests. Most tests change records and publish to a copy of it. */
let first: { place: Workspace; target: SnapshotTarget }

let minute = 0

/** Loads records; each call answers a minute after the previous one. */
async function load(place: Workspace, ...records: object[]): Promise<void> {
  minute += 1
  await place.load(await landConversations(place.landing, { records, sentAtMs: SENT_AT_MS + minute * 60_000 }))
}

beforeAll(async () => {
  const place = app.workspace()
  const target = newTarget(app.home)
  // The log is kept for the slowest consumer.
  await registerConsumer(app.warehouse.writer, 'slow')
  await load(
    place,
    { ID: 'a', userName: 'Ann', tags: ['x', 'y'] },
    { ID: 'b', userName: 'Bob' },
    { ID: 'kept', userName: 'Kim' },
  )
  first = { place, target }
  await publishTo(app, target)
})

async function copyOfFirst(): Promise<SnapshotTarget> {
  const target = { ...first.target, path: newTarget(app.home).path }
  await copyFile(first.target.path, target.path)
  return target
}

const contactOf = async (path: string, id: string) =>
  (await rowsIn(path, `SELECT user_name FROM conversations WHERE conversation_id = '${id}'`)).flat()

describe('a snapshot', () => {
  it('is private at first, keeps its mode, and can be read while it is replaced: a reader keeps the old state; leftovers of killed publications are removed', async () => {
    const target = await copyOfFirst()
    const left = `${target.path}.01234567-89ab-cdef-0123-456789abcdef.next`
    for (const file of [`${target.path}.next`, left, `${left}.wal`]) await writeFile(file, 'precious')
    // A kill interrupted the creation of the lock file.
    await writeFile(`${target.path}.lock`, Buffer.concat([Buffer.alloc(8), Buffer.from('DUCK'), Buffer.alloc(4084)]))
    expect((await stat(first.target.path)).mode & 0o777).toBe(0o600)
    await chmod(target.path, 0o644)
    const reader = await DuckDBInstance.create(target.path, { access_mode: 'READ_ONLY' })
    const connection = await reader.connect()
    await load(first.place, { ID: 'a', userName: 'Amy' })
    expect(await publishTo(app, target)).toMatchObject({ kind: 'delta' })
    const sql = `SELECT user_name FROM conversations WHERE conversation_id = 'a'`
    expect((await connection.runAndReadAll(sql)).getRowsJson()).toEqual([['Ann']])
    connection.closeSync()
    reader.closeSync()
    expect(await contactOf(target.path, 'a')).toEqual(['Amy'])
    expect((await stat(target.path)).mode & 0o777).toBe(0o644)
    expect((await readdir(app.home)).filter(name => join(app.home, name).startsWith(`${target.path}.`)).sort()).toEqual(
      ['lock', 'next'].map(ending => `${basename(target.path)}.${ending}`),
    )
  })

  it('says whether a backfill is unfinished', async () => {
    const place = app.workspace()
    const target = await copyOfFirst()
    const settings = { ...SETTINGS, workspaces: [{ id: place.id, since: '2025-01-01' }] }
    const published = async (rows: SnapshotTarget['rows'] = null) => {
      await publishTo(app, { ...target, rows }, { settings })
      return rowsIn(target.path, 'SELECT backfill_unfinished FROM _publication')
    }
    const since = Date.UTC(2025, 0, 1) / 1_000
    const read = async (fromSec: number) => {
      const window = freshWindow({ kind: 'head', fromSec })
      await place.load(await landConversations(place.landing, { records: [], window }))
    }
    await place.load(await landAgents(place.landing, { agents: [{ ID: AGENT }] }))
    await read(since + 1)
    expect(await published()).toEqual([[true]])
    expect(await published({ agents: ['another'], organizations: [] })).toEqual([[false]])
    await read(since)
    expect(await published()).toEqual([[false]])
  })

  it('that somebody has changed is found by --verify, and repaired by --refill; a compressed one is of a later version', async () => {
    const target = await copyOfFirst()
    const instance = await DuckDBInstance.create(target.path)
    const connection = await instance.connect()
    await connection.run(`UPDATE conversations SET user_name = 'Eve' WHERE conversation_id = 'kept'`)
    connection.closeSync()
    instance.closeSync()
    const error = await failureOf(publishTo(app, target, { verify: true }))
    expect(error.code).toBe('PUBLICATION_DIFFERS')
    expect(error.message).toMatch(/in 1 table: conversations \(/)
    const compressed = { ...target, compress: true as const }
    expect(await publishTo(app, compressed, { refill: true })).toMatchObject({ reason: 'requested' })
    expect(await contactOf(target.path, 'kept')).toEqual(['Kim'])
    const version = `SELECT tags['storage_version'] FROM duckdb_databases() WHERE NOT internal`
    expect([await rowsIn(first.target.path, version), await rowsIn(target.path, version)]).toEqual([
      [['v1.0.0+']],
      [['v1.2.0+']],
    ])
  })

  // This test is the last one: no copy of the first snapshot receives changes after it.
  it('is written from empty if it is of another epoch, or of a publication that another warehouse issued', async () => {
    const { writer } = app.warehouse
    const { target } = first
    await writer.transaction(() => beginEpoch(writer))
    expect(await publishTo(app, target)).toMatchObject({ kind: 'refill', reason: 'other epoch' })
    if (!isDeep) return
    await writer.run('DELETE FROM _publications')
    expect(await publishTo(app, target)).toMatchObject({ kind: 'refill', reason: 'unknown publication' })
    expect(await publishTo(app, target, { verify: true })).toMatchObject({ kind: 'current' })
  })
})

describe('a publication', () => {
  it.runIf(isDeep)('follows a symbolic link, which stays, also before there is a file', async () => {
    const [target, disk] = [newTarget(app.home), join(app.home, 'disk')]
    await symlink('disk/bi.duckdb', target.path)
    expect(await publishTo(app, target)).toMatchObject({ kind: 'refill' })
    expect((await readdir(disk)).sort()).toEqual(['bi.duckdb', 'bi.duckdb.lock'])
    expect(await readlink(target.path)).toBe('disk/bi.duckdb')
    await rm(target.path)
    await symlink(basename(target.path), target.path)
    expect(await failureOf(publishTo(app, target))).toMatchObject({
      code: 'TARGET_UNUSABLE',
      hint: expect.stringContaining('link'),
    })
  })

  it('ends when it is stopped, and leaves the target as it was', async () => {
    const { target } = first
    const before = await readFile(target.path)
    expect((await failureOf(publishTo(app, target, { signal: AbortSignal.abort() }))).code).toBe('INTERRUPTED')
    expect((await readFile(target.path)).equals(before)).toBe(true)
    expect(await readdir(join(app.home, 'tmp'))).toEqual([])
  })

  it.each([
    ['lock', 'DUCK quacks'],
    ['wal', 'hers'],
  ])('is refused while a file that another program wrote has the name of its %s', async (ending, text) => {
    const target = await copyOfFirst()
    const file = `${target.path}.${ending}`
    await writeFile(file, text)
    const refused = { code: 'TARGET_UNUSABLE', message: expect.stringContaining(`${file} was not written`) }
    expect(await failureOf(publishTo(app, target))).toMatchObject(refused)
    expect(await readFile(file, 'utf8')).toBe(text)
  })

  it('whose package finds no space says so', async () => {
    const target = await copyOfFirst()
    await load(first.place, { ID: 'a', userName: 'Agi' })
    const tmp = join(app.home, 'tmp')
    const onPhase = (phase: string) => {
      for (const prefix of phase === 'packaging' ? ['', 'tmp_'] : [])
        symlinkSync('/dev/full', join(tmp, readdirSync(tmp)[0]!, `${prefix}conversations.0.parquet`))
    }
    const error = await failureOf(publishTo(app, target, { onPhase }))
    expect(error).toMatchObject({ code: 'HOME_UNUSABLE', message: `Cannot use ${tmp}: the disk is full (ENOSPC).` })
  })
})

describe('a snapshot that its owner has changed or damaged', () => {
  const altered = (sql: string) => async (path: string) => {
    const instance = await DuckDBInstance.create(path)
    const connection = await instance.connect()
    await connection.run(sql)
    connection.closeSync()
    instance.closeSync()
  }
  const damage = 'is truncated or damaged'
  it.each<readonly [string | number, string, string]>([
    [
      'ALTER TABLE conversations ALTER state TYPE INTEGER USING 1',
      'TARGET_CHANGED',
      'column state of conversations is INTEGER',
    ],
    [5_000, 'TARGET_UNUSABLE', damage],
    ...(isDeep
      ? ([
          [
            'ALTER TABLE conversations RENAME user_name TO name',
            'TARGET_CHANGED',
            'column user_name of conversations is gone',
          ],
          ['DROP TABLE marts.fct_conversations', 'TARGET_CHANGED', 'of marts.fct_conversations is gone'],
          [0, 'TARGET_UNUSABLE', damage],
          [-1, 'TARGET_UNUSABLE', damage],
        ] as const)
      : []),
  ])('(%s) is not continued: %s says what to do, and a refill replaces it', async (change, code, what) => {
    const target = await copyOfFirst()
    if (typeof change === 'string') await altered(change)(target.path)
    else await truncate(target.path, change < 0 ? (await stat(target.path)).size + change : change)
    await load(first.place, { ID: 'a', userName: `Ann ${minute}` })
    const error = await failureOf(publishTo(app, target))
    expect([error.code, error.message]).toEqual([code, expect.stringContaining(what)])
    expect(error.hint).toContain(`convohouse publish ${target.name} --refill`)
    expect(await publishTo(app, target, { refill: true })).toMatchObject({ kind: 'refill' })
    expect(await contactOf(target.path, 'a')).toEqual([`Ann ${minute - 1}`])
  })
})
