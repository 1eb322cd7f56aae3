// The target `ducklake` with its catalog in a file: what readers find, versions and their changes, maintenance, erasure, and what is refused.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { LakeTarget } from '../../src/config/targets.ts'
import { eraseRecords } from '../../src/warehouse/maintenance/erase-records.ts'
import { DEFAULT } from '../publish/published.ts'
import { AGENT, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { extensionFolder } from './extensions.ts'
import {
  describeWithLake,
  expectVersions,
  filesWith,
  newLake,
  publishLake,
  readingLake,
  startReader,
} from './lake-scene.ts'
import { patchedTarget } from './patched-target.ts'
import { failureOf, load } from './postgres-scene.ts'
import { python } from './python.ts'

const app = temporaryWarehouse()

describeWithLake('a lake with its catalog in a file', () => {
  it.each(['sqlite', 'duckdb'] as const)('of %s is written once, and then receives what changed', async type => {
    const place = app.workspace()
    const target = newLake(app.home, {}, type)
    await load(place, [
      { ID: 'a', userName: 'Ann', tags: ['x', 'y'] },
      { ID: 'b', userName: 'Bob' },
    ])
    expect(await publishLake(app, target)).toMatchObject({ kind: 'refill', reason: 'no watermark' })
    expect(await publishLake(app, target)).toMatchObject({ kind: 'current', rows: 0 })
    await load(
      place,
      [
        { ID: 'b', userName: 'Bea', tags: ['z'] },
        { ID: 'c', userName: 'Cy' },
      ],
      1,
    )
    const report = await publishLake(app, target, { verify: true })
    expect(report).toMatchObject({ kind: 'delta', reason: null })
    expect(report.verified).toBeGreaterThan(50)
    await readingLake(target, async rows => {
      expect(
        await rows(
          `SELECT conversation_id, user_name FROM conversations WHERE workspace_id = '${place.id}' ORDER BY 1`,
        ),
      ).toEqual([
        ['a', 'Ann'],
        ['b', 'Bea'],
        ['c', 'Cy'],
      ])
    })
  })

  it('of sqlite is read by other processes, with all threads, while it is published to: each sees one version in all tables', async () => {
    const place = app.workspace()
    const target = newLake(app.home)
    const names = (round: number) => Array.from({ length: 300 }, (_, n) => `${round} ${n}`)
    const loadRound = (round: number) =>
      load(
        place,
        names(round).map((userName, n) => ({ ID: String(n).padStart(3, '0'), userName })),
        round,
      )
    await loadRound(0)
    await publishLake(app, target)
    const stop = join(app.home, 'stop-sqlite')
    const readers = [1, 2].map(() => startReader(target, place, { stop }))
    for (const reader of readers) await reader.ready()
    for (let round = 1; round <= 4; round++) {
      await loadRound(round)
      await publishLake(app, target, { refill: round === 2 })
    }
    await writeFile(stop, '')
    const expected = [0, 1, 2, 3, 4].map(round => names(round).join(','))
    for (const reader of readers) expectVersions(await reader.result(), expected)
  })

  it('is read as its page says: versions, their tables and their changes', async () => {
    const place = app.workspace()
    const target = newLake(app.home)
    for (let round = 0; round < 5; round++) {
      await load(place, [{ ID: 'a', userName: `Ann ${round}` }], round)
      await publishLake(app, target)
    }
    const page = await readFile(join(import.meta.dirname, '../../docs/bi/ducklake.md'), 'utf8')
    const blocks = (language: string) =>
      [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^\`]+)\`\`\``, 'g'))].map(([, code]) => code!)
    const statements = blocks('sql')
      .filter(text => !text.includes('ATTACH'))
      .flatMap(text => text.split(';').filter(one => one.trim() !== ''))
      .map(text => text.replace('INTERVAL 1 DAY', 'INTERVAL 1 SECOND'))
    expect(statements.length).toBe(4)
    await readingLake(target, async rows => {
      const answers: unknown[][][] = []
      for (const statement of statements) answers.push(await rows(statement))
      const [versions, byNumber, byTime, changes] = answers
      expect(versions!.map(([, , message]) => message)).toEqual(['refill', ...Array(4).fill('delta')])
      expect(versions!.at(-1)!.at(-1)).toMatch(/^"?20\d\d-/)
      expect([byNumber, byTime].map(found => Number(found![0]![0]))).toEqual([expect.any(Number), expect.any(Number)])
      // Version 3 is the third publication.
      const names = changes!.map(([version, type, , name]) => [Number(version), type, name])
      expect(names).toEqual(
        [3, 4, 5].flatMap(version => [
          [version, 'delete', `Ann ${version - 2}`],
          [version, 'insert', `Ann ${version - 1}`],
        ]),
      )
    })
    const [program] = blocks('python')
    const loads = ['ducklake', 'sqlite_scanner'].map(name => `LOAD '${extensionFolder()}/${name}.duckdb_extension'`)
    const code = program!
      .replace('INSTALL ducklake; INSTALL sqlite; LOAD ducklake; LOAD sqlite', loads.join('; '))
      .replace('published/versions.sqlite', target.catalog.path)
    expect(await python('lake', ['-c', code])).toMatch(/conversations/)
  })

  it('has no byte of an erased person in any version, also if the process that erases is killed', async () => {
    const place = app.workspace()
    const target = newLake(app.home)
    const canary = 'canary-erased@example.com'
    await load(place, [
      { ID: 'a', userName: 'Ann', userEmail: canary },
      { ID: 'b', userName: 'Bob' },
    ])
    await publishLake(app, target)
    expect(await filesWith(target.data, canary)).not.toEqual([])
    const records = [{ table: 'conversations', key: [AGENT, 'a'] }]
    await eraseRecords(app.warehouse.writer, { workspaceId: place.id, records, nowMs: SENT_AT_MS })
    const entry = await patchedTarget(
      app.home,
      'kill-erasure',
      `if (!sql.startsWith('CALL ducklake_expire_snapshots')) return
      process.kill(process.pid, 'SIGKILL'); await sleep(10_000)`,
    )
    expect((await failureOf(publishLake(app, target, { entry }))).code).toBe('PUBLICATION_FAILED')
    expect(await filesWith(target.data, canary)).not.toEqual([])
    expect(await publishLake(app, target)).toMatchObject({ kind: 'current' })
    expect(await filesWith(target.data, canary)).toEqual([])
    expect((await readFile(target.catalog.path)).includes(canary)).toBe(false)
    await readingLake(target, async rows => {
      expect(await rows(`SELECT user_name FROM conversations WHERE workspace_id = '${place.id}'`)).toEqual([['Bob']])
      expect(await rows(`SELECT DISTINCT commit_message FROM lake.snapshots()`)).toEqual([['maintenance']])
    })
  })

  it('is written from empty under another policy, and earlier versions with plain values are gone', async () => {
    const place = app.workspace()
    const target = newLake(app.home)
    await load(place, [{ ID: 'a', userName: 'Canary Person' }])
    await publishLake(app, target)
    expect(await filesWith(target.data, 'Canary Person')).not.toEqual([])
    expect(await publishLake(app, { ...target, pii: DEFAULT })).toMatchObject({
      kind: 'refill',
      reason: 'other policy',
    })
    expect(await filesWith(target.data, 'Canary Person')).toEqual([])
    const filtered = { ...target, rows: { agents: ['nobody'], organizations: [] } }
    expect(await publishLake(app, filtered)).toMatchObject({ kind: 'refill', rows: 0 })
    await readingLake(target, async rows =>
      expect(await rows('SELECT count(*)::INT FROM conversations')).toEqual([[0]]),
    )
  })

  it('is not created over the data of another lake, nor written where its data is elsewhere, and is whole while another program holds a DuckDB file', async () => {
    const target = newLake(app.home, {}, 'duckdb')
    await publishLake(app, target)
    const text = async (changed: LakeTarget) => {
      const { code, message } = await failureOf(publishLake(app, changed))
      return `${code} ${message}`
    }
    const elsewhere = { ...target, catalog: { type: 'sqlite', path: join(app.home, 'other.sqlite') } } as const
    expect(await text(elsewhere)).toMatch(/TARGET_UNUSABLE .* has the data of another lake/)
    expect(await text({ ...target, data: join(app.home, 'moved') })).toMatch(
      /TARGET_UNUSABLE .* keeps its data elsewhere/,
    )
    await readingLake(target, async () => {
      expect(await text(target)).toMatch(/TARGET_LOCKED Another process holds/)
    })
    expect(await publishLake(app, target)).toMatchObject({ kind: 'current' })
  })
})
