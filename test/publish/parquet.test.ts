// The target `parquet`: which partitions each publication writes, which versions are kept, and what is refused.
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { expectOwner } from '../../src/publish/decide.ts'
import type { PackagedTable } from '../../src/publish/package.ts'
import { shapeOf } from '../../src/publish/parquet-columns.ts'
import { partitionColumns } from '../../src/publish/partitions.ts'
import { publishedRelations } from '../../src/publish/selection.ts'
import { openTargetDatabase } from '../../src/publish/target-database.ts'
import { openParquet } from '../../src/publish/targets/parquet/parquet.ts'
import {
  createVersion,
  currentVersion,
  removeOldVersions,
  switchTo,
  versionId,
  watermarkText,
} from '../../src/publish/targets/parquet/parquet-versions.ts'
import type { TargetWatermark } from '../../src/publish/watermark.ts'
import { targetStatuses } from '../../src/reports/publications.ts'
import { registerConsumer, removeConsumer } from '../../src/warehouse/changes/consumers.ts'
import { rowsHere } from '../../src/warehouse/query/rows.ts'
import { isDeep } from '../tier.ts'
import { freshWindow, landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../warehouse/temporary-warehouse.ts'
import { publishTo } from './published.ts'
import {
  currentFolder,
  filesIn,
  newParquet,
  ODD_IDS,
  parquetOf,
  queryFiles,
  rowsOf,
  valuesContain,
} from './published-parquet.ts'

const app = temporaryWarehouse()

const load = async (place: Workspace, records: object[], minute = 0) =>
  place.load(await landConversations(place.landing, { records, sentAtMs: SENT_AT_MS + minute * 60_000 }))

const inodesOf = async (folder: string, files: readonly string[]) =>
  Promise.all(files.map(async file => (await stat(join(folder, file))).ino))

const modesOf = (paths: readonly string[]) =>
  Promise.all(paths.map(async path => ((await stat(path)).mode & 0o777).toString(8)))

const SEPTEMBER = Date.UTC(2026, 8, 5)
const OCTOBER = Date.UTC(2026, 9, 5)
const NOVEMBER = Date.UTC(2026, 10, 5)

describe('a target of Parquet files', () => {
  it('has a partition for each month; a delta writes those that changed rows were in and are in, and links the others', async () => {
    const place = app.workspace()
    const target = newParquet(app.home)
    await load(place, [
      { ID: 'a', userName: 'Ann', ts: OCTOBER, tags: ['x', 'y'] },
      { ID: 'b', userName: 'Bob', ts: SEPTEMBER, tags: ['b'] },
      { ID: 'c', userName: 'Cy' },
    ])
    expect(await publishTo(app, target)).toMatchObject({ kind: 'refill', reason: 'no watermark' })
    const first = await currentFolder(target)
    const partitions = (folder: string) => filesIn(join(folder, 'conversations'))
    const kept = ['month=2026-09/data.parquet', 'month=__HIVE_DEFAULT_PARTITION__/data.parquet'] as const
    expect(await partitions(first)).toEqual([kept[0], 'month=2026-10/data.parquet', kept[1]])
    const file = (folder: string) => [folder, join(folder, 'conversations', kept[0])]
    expect(await modesOf(file(first))).toEqual(['700', '600'])
    // The owner opens the folder to other users; later versions keep that.
    await chmod(target.path, 0o755)
    await load(place, [{ ID: 'a', userName: 'Amy', ts: NOVEMBER, tags: ['z'] }], 1)
    expect(await publishTo(app, target, { verify: true })).toMatchObject({ kind: 'delta', reason: null })
    const second = await currentFolder(target)
    expect(await partitions(second)).toEqual([kept[0], 'month=2026-11/data.parquet', kept[1]])
    expect(await modesOf(file(second))).toEqual(['755', '644'])
    for (const table of ['conversations', 'marts/fct_conversations'])
      expect(await inodesOf(join(second, table), kept)).toEqual(await inodesOf(join(first, table), kept))
    expect(await inodesOf(second, ['agents/data.parquet'])).toEqual(await inodesOf(first, ['agents/data.parquet']))
    expect(await rowsOf(target, 'conversation_tags', 'conversation_id, tag, month')).toEqual([
      ['a', 'z', '2026-11'],
      ['b', 'b', '2026-09'],
    ])
    // A reader that found the earlier version still reads all of it.
    const earlier = `SELECT user_name, month FROM ${parquetOf(first, 'conversations')} ORDER BY conversation_id`
    expect(await queryFiles(earlier)).toEqual([
      ['Ann', '2026-10'],
      ['Bob', '2026-09'],
      ['Cy', null],
    ])
    const { as_of, seq } = JSON.parse(await readFile(join(second, '_publication.json'), 'utf8'))
    expect([as_of, seq]).toEqual([expect.stringMatching(/Z$/), expect.any(Number)])
    expect(await readdir(join(app.home, 'tmp'))).toEqual([])
    await expectAllTables(second)
  })

  it('is also partitioned by agent if configured, with the rows of its agents only', async () => {
    const place = app.workspace()
    const conversationOf = async (agentId: string, record: object) =>
      place.load(await landConversations(place.landing, { records: [record], window: freshWindow({ agentId }) }))
    const names = ['one', 'two', 'three'].map(name => `${place.id}/${name}`)
    for (const id of names) await conversationOf(id, { ID: `of ${id}`, ts: OCTOBER, tags: [`tag of ${id}`] })
    const agents = names.slice(0, 2)
    const target = newParquet(app.home, { partitionBy: ['agent', 'month'], rows: { agents, organizations: [] } })
    await publishTo(app, target)
    const folders = ['one', 'two'].map(name => `agent=${place.id}%2F${name}`)
    const filesOf = async (table: string) => filesIn(join(await currentFolder(target), table))
    expect(await filesOf('conversation_tags')).toEqual(folders.map(folder => `${folder}/month=2026-10/data.parquet`))
    expect(await rowsOf(target, 'conversations', 'agent, agent_id')).toEqual(agents.map(agent => [agent, agent]))
    expect(await valuesContain(target.path, names[2]!)).toBe(false)
    expect(await readdir(await currentFolder(target))).not.toContain('leads')
    if (!isDeep) return
    await conversationOf(names[0]!, { ID: 'late', ts: NOVEMBER })
    await conversationOf(names[2]!, { ID: 'other', ts: NOVEMBER })
    expect(await publishTo(app, target, { verify: true })).toMatchObject({ kind: 'delta' })
    expect(await filesOf('conversations')).toContain(`${folders[0]}/month=2026-11/data.parquet`)
    expect(await rowsOf(target, 'conversations', 'DISTINCT agent')).toEqual(agents.map(agent => [agent]))
  })
})

it('a folder whose files its owner has changed is not continued, and a refill replaces it', async () => {
  const place = app.workspace()
  const target = newParquet(app.home)
  const file = async (name: string) => join(await currentFolder(target), name)
  const CHANGES: Record<string, (folder: string) => Promise<void>> = {
    'agents/data.parquet': file => truncate(file, 100),
    'conversations/month=2026-10/data.parquet': file => rm(file),
    'agents/mine.parquet': file => writeFile(file, 'mine'),
    '_publication.json': file => truncate(file, 100),
  }
  const changes = Object.entries(CHANGES).slice(0, isDeep ? undefined : 2)
  for (const [index, [name, change]] of changes.entries()) {
    await load(place, [{ ID: 'a', ts: OCTOBER }], 2 * index)
    await publishTo(app, target, { refill: true })
    await change(await file(name))
    await load(place, [{ ID: 'b', ts: NOVEMBER }], 2 * index + 1)
    const code = name === '_publication.json' ? 'TARGET_UNUSABLE' : 'TARGET_CHANGED'
    await expect(publishTo(app, target), name).rejects.toMatchObject({ code })
  }
  expect(await publishTo(app, target, { refill: true, verify: true })).toMatchObject({ kind: 'refill' })
})

describe('an agent as a folder', () => {
  const conversationOf = async (place: Workspace, agentId: string) =>
    place.load(
      await landConversations(place.landing, {
        records: [{ ID: agentId, ts: OCTOBER }],
        window: freshWindow({ agentId }),
      }),
    )

  it('is read as the id that it has, whatever that is', async () => {
    const place = app.workspace()
    const ids = isDeep ? ODD_IDS : ODD_IDS.slice(0, 6)
    for (const id of ids) await conversationOf(place, id)
    const target = newParquet(app.home, {
      partitionBy: ['agent', 'month'],
      rows: { agents: ids, organizations: [] },
    })
    expect(await publishTo(app, target, { verify: true })).not.toHaveProperty('warnings')
    for (const table of ['conversations', 'marts.fct_conversations'])
      expect(await rowsOf(target, table, 'agent'), table).toEqual(ids.map(id => [id]).sort())
  })

  it.each(['ä'.repeat(60), ...(isDeep ? ['__HIVE_DEFAULT_PARTITION__'] : [])])(
    'that cannot be (%s) leaves its tables out, which a publication and status say, and the others are published',
    async id => {
      const place = app.workspace()
      await conversationOf(place, id)
      const rows = { agents: [id], organizations: [] }
      const target = newParquet(app.home, { partitionBy: ['agent', 'month'], rows })
      const { warnings } = await publishTo(app, target, { verify: true })
      expect(warnings).toEqual([expect.stringMatching(/ receives no conversations \(the id of an agent cannot be/)])
      const names = await readdir(await currentFolder(target))
      expect(names).toEqual(expect.arrayContaining(['agents', 'marts']))
      expect(names).not.toContain('conversations')
      expect(names).not.toContain('conversation_tags')
      const here = rowsHere(app.warehouse.instance, { timeoutMs: 10_000 })
      const [status] = await targetStatuses(here, [target], Date.now())
      expect(status!.unfit).toMatch(/^conversations \(the id of an agent/)
    },
  )
})

/** Expects that every table can be read, with its types, including empty ones. */
async function expectAllTables(folder: string): Promise<void> {
  const relations = await publishedRelations()
  const describe = ({ name }: { name: string }) =>
    `SELECT '${name}.' || column_name, column_type FROM (DESCRIBE FROM ${parquetOf(folder, name)})`
  const found = Object.fromEntries(await queryFiles(relations.map(describe).join(' UNION ALL ')))
  for (const { name, columns, published } of relations) {
    const record = relations.find(relation => relation.name === published.table)!
    const partitions = partitionColumns(record, ['month']).map(column => ({ name: column, sqlType: 'VARCHAR' }))
    for (const { name: column, sqlType } of [...columns, ...partitions]) {
      const written = { TIMESTAMPTZ: 'TIMESTAMP WITH TIME ZONE', JSON: 'VARCHAR' }[sqlType] ?? sqlType
      expect(found[`${name}.${column}`], `${name}.${column}`).toBe(written)
    }
  }
  const empty = `SELECT count(*)::INT FROM ${parquetOf(folder, 'leads')} WHERE month = '2026-11'`
  expect(await queryFiles(empty)).toEqual([[0]])
}

it('keeps the files of a partition, but joins many that have few rows', async () => {
  const path = join(app.home, 'joined')
  const settings = { memoryLimit: '256MB', threads: 1, spillFolder: join(app.home, 'spill') }
  const database = await openTargetDatabase(settings)
  const target = await openParquet(database, { path, name: 'joined' }, settings)
  const filesOf = (month: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const file = join(app.home, `${month}.${index}.parquet`)
        await queryFiles(`COPY (SELECT '${month} ${index}' AS id) TO '${file}' (FORMAT parquet)`)
        return file
      }),
    )
  const partitionOf = async (month: string, count: number, rowCount = count) => ({
    ...{ folder: `month=${month}`, rows: await filesOf(month, count), rowCount },
  })
  const written = [
    await partitionOf('2026-01', 4),
    await partitionOf('2026-02', 5),
    // The package's number of rows decides.
    await partitionOf('2026-03', 5, 5_000),
  ]
  const columns = [{ name: 'id', sqlType: 'VARCHAR', about: '' }]
  const table: PackagedTable = {
    ...{ name: 'ids', about: '', columns, key: ['id'], isKeyUnique: true, isChild: false, timeColumn: null },
    ...{ isWhole: true, deletes: null, rows: [], rowCount: 0, partitions: { by: ['month'], written } },
  }
  const contents = { base: null, watermark: watermarkAt(1), erases: false, tables: [table], rowCount: 14 }
  await target.apply({ kind: 'refill', ...contents })
  const folder = join(path, 'current', 'ids')
  const names = ['data-2.parquet', 'data-3.parquet', 'data-4.parquet', 'data-5.parquet', 'data.parquet']
  const [four, joined, five] = written.map(one => one.folder)
  expect(await filesIn(folder)).toEqual([
    ...names.filter(name => name !== 'data-5.parquet').map(name => `${four}/${name}`),
    `${joined}/data.parquet`,
    ...names.map(name => `${five}/${name}`),
  ])
  const all = [4, 5, 5].flatMap((count, month) =>
    Array.from({ length: count }, (_, index) => [`2026-0${month + 1} ${index}`, `2026-0${month + 1}`]),
  )
  const found = await queryFiles(`SELECT id, month FROM ${parquetOf(join(path, 'current'), 'ids')} ORDER BY ALL`)
  expect(found).toEqual(all)
})

const watermarkAt = (n: number): TargetWatermark => ({
  ...{ owner: 'id/bi', epoch: 'e', seq: n, policy: 'p', publicationId: `0000000${n}-` },
  asOf: `2026-01-0${n}T00:00:00.000Z`,
})

describe('versions', () => {
  /** Writes a version that was published the given number of hours ago. */
  async function version(path: string, n: number, { hours, erases = false }: { hours: number; erases?: boolean }) {
    const id = versionId(watermarkAt(n))
    const file = join(await createVersion(path, id, 0o700), '_publication.json')
    await writeFile(file, watermarkText({ watermark: watermarkAt(n), erases, files: {} }))
    const atSec = Date.now() / 1_000 - hours * 3_600
    await utimes(file, atSec, atSec)
    return id
  }

  const folder = (name: string) => join(app.home, 'versions', name)

  it('are kept if they were current within the last hour, and the one before always', async () => {
    const path = folder('kept')
    const ids: string[] = []
    for (const [index, hours] of [9, 8, 0.9, 0.8, 0.7].entries()) ids.push(await version(path, index + 1, { hours }))
    // No reader has seen it, because its process was killed.
    const orphan = await version(path, 9, { hours: 0 })
    await mkdir(join(path, 'versions', 'mine'))
    await switchTo(path, ids[4]!)
    await removeOldVersions(path)
    // The first was replaced eight hours ago, the second when the third was published.
    expect(await readdir(join(path, 'versions'))).toEqual([...ids.slice(1), 'mine'])
    await switchTo(path, await version(path, 6, { hours: 0, erases: true }))
    await removeOldVersions(path)
    expect(await readdir(join(path, 'versions'))).toEqual([versionId(watermarkAt(6)), 'mine'])
    expect(orphan).toMatch(/^20260109T/)
    const old = folder('old')
    await version(old, 1, { hours: 99 })
    await switchTo(old, await version(old, 2, { hours: 9 }))
    await removeOldVersions(old)
    expect(await readdir(join(old, 'versions'))).toHaveLength(2)
  })

  it('with a damaged watermark are refused', async () => {
    const path = folder('damaged')
    expect(await currentVersion(path)).toBeNull()
    const id = await version(path, 1, { hours: 0 })
    await switchTo(path, id)
    expect(await currentVersion(path)).toEqual({ id, watermark: watermarkAt(1), erases: false, files: {} })
    for (const text of ['{', '[]', '{"seq": 1}', JSON.stringify({ ...watermarkAt(1), seq: 'x' })]) {
      await writeFile(join(path, 'versions', id, '_publication.json'), text)
      await expect(currentVersion(path)).rejects.toMatchObject({ code: 'TARGET_UNUSABLE' })
    }
  })

  it('replace nothing that no publication created', async () => {
    for (const [name, place] of Object.entries({ folder: null, link: '/etc', other: 'versions/mine' })) {
      const path = folder(`foreign-${name}`)
      await mkdir(path, { recursive: true })
      await (place === null ? mkdir(join(path, 'current')) : symlink(place, join(path, 'current')))
      const error = await currentVersion(path).catch(cause => cause)
      expect([error.code, error.message]).toEqual(['TARGET_UNUSABLE', expect.stringContaining('not replaced')])
    }
    const path = folder('foreign-next')
    await mkdir(path, { recursive: true })
    await symlink('/etc', join(path, 'current.next'))
    const error = await removeOldVersions(path).catch(cause => cause)
    expect([error.code, error.message]).toEqual(['TARGET_UNUSABLE', expect.stringContaining('current.next was')])
    await rm(join(path, 'current.next'))
    await symlink(`versions/${versionId(watermarkAt(1))}`, join(path, 'current.next'))
    await removeOldVersions(path)
    expect(await readdir(path)).toEqual([])
  })

  it('that another target of the data folder writes are refused, until that one is no longer configured', async () => {
    const { writer } = app.warehouse
    const target = newParquet(app.home)
    const owners = { stored: 'id/earlier', owner: `id/${target.name}`, refill: true }
    await registerConsumer(writer, 'target/earlier')
    await expect(expectOwner(writer, { target, ...owners })).rejects.toMatchObject({
      code: 'TARGET_UNUSABLE',
      message: `${target.path} is written by the target earlier.`,
    })
    await removeConsumer(writer, 'target/earlier')
    await expectOwner(writer, { target, ...owners })
  })
})

it('no column of a partitioned table or child table has the name of a partition column, and each has a type in Parquet', async () => {
  const relations = await publishedRelations()
  for (const { name, columns, published } of relations) {
    for (const { sqlType } of columns) expect(shapeOf(sqlType), name).toBeDefined()
    const record = relations.find(relation => relation.name === published.table)!
    const names = columns.map(column => column.name)
    for (const column of partitionColumns(record, ['agent', 'month'])) expect(names, name).not.toContain(column)
  }
  const one = relations.filter(
    relation => relation.published.timeColumn && partitionColumns(relation, ['month']).length === 0,
  )
  expect(one.map(({ name }) => name)).toEqual(['marts.dim_calendar'])
})
