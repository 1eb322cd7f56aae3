// The target `parquet` in S3: what each publication writes, copies and removes, and what readers see.
import { expect, it } from 'vitest'
import { placeFindings } from '../../src/cli/doctor/targets.ts'
import type { ParquetTarget } from '../../src/config/targets/parquet.ts'
import type { Config } from '../../src/config.ts'
import { targetStatuses } from '../../src/reports/publications.ts'
import { ENTRY, SETTINGS } from '../publish/published.ts'
import { describeTarget } from '../publish/target-contract.ts'
import type { Workspace } from '../warehouse/temporary-warehouse.ts'
import { extensionFolder } from './extensions.ts'
import { failureOf, load } from './postgres-scene.ts'
import { describeWithS3, s3Scene } from './s3-scene.ts'

const scene = s3Scene()
const { app, newTarget, publish, query } = scene

const SEPTEMBER = Date.UTC(2026, 8, 5)
const OCTOBER = Date.UTC(2026, 9, 5)
const NOVEMBER = Date.UTC(2026, 10, 5)

const OBJECT = /^_objects\/(.+)\/[^/]+\.parquet$/

/** Returns the folder of each of a table's objects; a folder with several objects occurs several times. */
const objectsOf = async (target: ParquetTarget, table: string) =>
  (await scene.bucket.names(target)).flatMap(name => {
    const folder = OBJECT.exec(name)?.[1]
    return folder?.startsWith(`${table}/`) ? [folder.slice(table.length + 1)] : []
  })

const copiesOf = async (target: ParquetTarget, table: string) =>
  (await scene.bucket.names(target))
    .filter(name => name.startsWith(`${table}/`))
    .map(name => name.slice(table.length + 1))

/** Counts the objects with a value that contains the text. */
async function objectsWith(target: ParquetTarget, text: string): Promise<number> {
  // Reads them one by one, because columns of the same name differ in type.
  const names = (await scene.bucket.names(target)).filter(name => name.endsWith('.parquet'))
  const found = names.map(
    name =>
      `SELECT '${name}' AS name FROM read_parquet('${target.path}/${name}', hive_partitioning = false) AS t WHERE contains(t::VARCHAR, '${text}')`,
  )
  return (await query(`SELECT DISTINCT name FROM (${found.join(' UNION ALL ')})`)).length
}

const rowsBy = async (from: string, what: string, { id }: Workspace) =>
  query(`SELECT ${what} FROM ${from} WHERE workspace_id = '${id}' ORDER BY ALL`)

describeWithS3('a target in S3', () => {
  describeTarget<ParquetTarget>({
    app,
    newTarget,
    extensions: extensionFolder,
    rows: async (target, table, { what, where }) =>
      query(`SELECT ${what} FROM ${await scene.listed(target, table)} WHERE ${where}`),
    hasText: async (target, text) => (await objectsWith(target, text)) > 0,
    async occupy(target) {
      const name = `${target.s3!.prefix}conversations/month=2026-01/data.parquet`
      await scene.bucket.put(name, 'mine')
      return () => scene.bucket.text(name)
    },
    erases: 'delta',
    isLocked: false,
    // The first access to a target reads its manifest and the record of its copies.
    kills: [
      { step: /^GET .*_manifest\.json/, state: 'old' },
      { step: /^PUT .*\/_objects\//, count: 6, state: 'old' },
      { step: /^PUT .*_manifest\.json/, state: 'old' },
      { step: /^PUT .*\d\/conversations\//, state: 'new' },
      { step: /^PUT .*_copies\.json/, state: 'new' },
    ],
  })

  it('has an object for each month, which a delta replaces; the copies of all others stay', async () => {
    const place = app.workspace()
    const target = newTarget()
    await load(place, [
      { ID: 'a', userName: 'Ann', ts: OCTOBER, tags: ['x', 'y'] },
      { ID: 'b', userName: 'Bob', ts: SEPTEMBER, tags: ['b'] },
      { ID: 'c', userName: 'Cy' },
    ])
    expect(await publish(target)).toMatchObject({ kind: 'refill', reason: 'no watermark' })
    const [september, october, none] = ['month=2026-09', 'month=2026-10', 'month=__HIVE_DEFAULT_PARTITION__']
    expect(await objectsOf(target, 'conversations')).toEqual([september, october, none])
    expect(await copiesOf(target, 'conversations')).toEqual(
      [september, october, none].map(one => `${one}/data.parquet`),
    )
    const before = await scene.listed(target, 'conversations')
    await load(place, [{ ID: 'a', userName: 'Amy', ts: NOVEMBER, tags: ['z'] }], 1)
    expect(await publish(target)).toMatchObject({ kind: 'delta', reason: null })
    expect(await publish(target)).toMatchObject({ kind: 'current' })
    const after = ['month=2026-09/data.parquet', 'month=2026-11/data.parquet', `${none}/data.parquet`]
    expect(await copiesOf(target, 'conversations')).toEqual(after)
    // The object of October is kept for readers of the earlier manifest.
    expect(await objectsOf(target, 'conversations')).toEqual([september, october, 'month=2026-11', none])
    const rows = (from: string) => rowsBy(from, 'user_name, month', place)
    const now = [
      ['Amy', '2026-11'],
      ['Bob', '2026-09'],
      ['Cy', null],
    ]
    expect(await rows(scene.globbed(target, 'conversations'))).toEqual(now)
    expect(await rows(await scene.listed(target, 'conversations'))).toEqual(now)
    expect(await rows(before)).toEqual([['Ann', '2026-10'], ...now.slice(1)])
    expect(await rowsBy(scene.globbed(target, 'leads'), 'count(*)::INT', place)).toEqual([[0]])
    expect(await rowsBy(await scene.listed(target, 'conversation_tags'), 'tag, month', place)).toEqual([
      ['b', '2026-09'],
      ['z', '2026-11'],
    ])
  })

  it('touches nothing that no publication has written', async () => {
    const [place, target] = [app.workspace(), newTarget()]
    await load(place, [{ ID: 'a', ts: OCTOBER }])
    const at = (name: string) => `${target.s3.prefix}${name}`
    await scene.bucket.put(at('_manifest.json'), '{"mine": true}')
    expect((await failureOf(publish(target))).message).toContain('_manifest.json was not written by a publication')
    await scene.bucket.remove(at('_manifest.json'))
    const mine = ['conversations/mine.parquet', 'notes.txt', '_objects/mine.parquet']
    for (const name of mine) await scene.bucket.put(at(name), 'mine')
    await publish(target)
    await publish(target, { refill: true })
    expect(await scene.bucket.names(target)).toEqual(expect.arrayContaining(mine))
    expect(await scene.bucket.text(at(mine[0]!))).toBe('mine')
    // If something else overwrites or deletes a copy, the next change makes it again.
    const copy = 'conversations/month=2026-10/data.parquet'
    await scene.bucket.put(at(copy), 'mine')
    await scene.bucket.remove(at('agents/data.parquet'))
    await load(place, [{ ID: 'b', ts: NOVEMBER }], 1)
    expect(await publish(target)).toMatchObject({ kind: 'delta' })
    expect((await scene.bucket.text(at(copy))).slice(0, 4)).toBe('PAR1')
    expect(await scene.bucket.names(target)).toContain('agents/data.parquet')
  })

  it('is tested by doctor, which leaves nothing', async () => {
    const config = { home: app.home, threads: 1, publish: SETTINGS, extensions: null } as unknown as Config
    const finding = async (target: ParquetTarget, offline = false) => {
      const [found] = await placeFindings({ config, target, offline, entry: ENTRY })
      expect(JSON.stringify(found)).not.toContain(scene.server.admin.secretAccessKey)
      return found!
    }
    const target = newTarget()
    const found = `${target.name}: ${target.path} can be written (${scene.server.endpoint})`
    expect(await finding(target)).toMatchObject({ state: 'ok', found })
    expect(await scene.bucket.names(target)).toEqual([])
    expect(await finding(newTarget({}, { bucket: 'nowhere' }))).toMatchObject({
      code: 'TARGET_UNUSABLE',
      hint: expect.stringContaining('Create the bucket'),
    })
    const credentialsFile = await scene.credentials('reader', scene.server.reader)
    expect(await finding(newTarget({}, { credentialsFile }))).toMatchObject({
      hint: expect.stringContaining('s3:PutObject'),
    })
    expect(await finding(target, true)).toMatchObject({ state: 'skip' })
    const [status] = await targetStatuses(app.warehouse.writer.rows, [target], Date.now())
    expect(status).toMatchObject({ place: target.path, asOf: null })
  })
})

describeWithS3('a reader of a target in S3', () => {
  it('reads one state by the manifest, and the copies by their names, while publications continue', async () => {
    const place = app.workspace()
    const target = newTarget()
    await load(place, [{ ID: 'a', userName: 'Ann', ts: OCTOBER, tags: ['x'] }, { ID: 'c' }])
    await publish(target)
    let hasRead = false
    const reading = readStates(target).finally(() => {
      hasRead = true
    })
    let minute = 0
    while (!hasRead) {
      minute += 1
      // When a row moves between months, a reader finds it exactly once in each state.
      const ts = minute % 2 === 0 ? OCTOBER : NOVEMBER
      await load(place, [{ ID: 'a', userName: 'Ann', ts, tags: ['x'], messagesNum: minute }], minute)
      await publish(target, { verify: false })
    }
    expect(minute).toBeGreaterThan(0)
    const ownCount = (await query(`SELECT count(*)::INT FROM ${await scene.listed(target, 'conversations')}`))[0]![0]
    expect(new Set(await reading)).toEqual(new Set([ownCount]))
    const copies = await query(`SELECT count(*)::INT FROM ${scene.globbed(target, 'conversations')}`)
    expect(copies[0]![0]).toBeGreaterThan(0)
  }, 600_000)
})

/** Counts conversations several times, as docs/targets/parquet.md shows with DuckDB. */
async function readStates(target: ParquetTarget): Promise<unknown[]> {
  const files = `SET VARIABLE files = (
    SELECT list('${target.path}/' || file.path) FROM (SELECT unnest(files) AS file FROM read_json('${target.path}/_manifest.json'))
    WHERE file."table" = 'conversations')`
  const counts: unknown[] = []
  const sql = `SELECT count(*)::INT FROM read_parquet(getvariable('files'), hive_partitioning = true)`
  while (counts.length < 12) counts.push((await query(sql, [files]))[0]![0])
  return counts
}
