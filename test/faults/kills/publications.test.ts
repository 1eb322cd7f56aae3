// Publications whose processes are killed, whose disk is full, or whose file system has no hard links: readers see the
// old state, the warehouse stays usable, and the next publication completes it and removes leftovers. The steps of each
// target's process are in `test/publish/target-contract.ts`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ParquetTarget } from '../../../src/config/targets/parquet.ts'
import type { SnapshotTarget } from '../../../src/config/targets/snapshot.ts'
import type { TargetConfig } from '../../../src/config/targets.ts'
import { registerConsumer } from '../../../src/warehouse/changes/consumers.ts'
import { ENTRY, newTarget, publishTo, rowsIn, SETTINGS } from '../../publish/published.ts'
import { newParquet, rowsOf } from '../../publish/published-parquet.ts'
import { isDeep } from '../../tier.ts'
import { until } from '../../until.ts'
import { landConversations, SENT_AT_MS } from '../../warehouse/landed-pages.ts'
import { SMALL, temporaryWarehouse } from '../../warehouse/temporary-warehouse.ts'
import { smallDisks, whyNoDisk } from '../disk/small-disk.ts'

const SRC = join(import.meta.dirname, '../../../dist/src')
const NODE_API = createRequire(import.meta.url).resolve('@duckdb/node-api')

/** Parts of the statements before which the process is killed, in order. */
const POINTS = [".next' AS target", 'CREATE SCHEMA target', 'INSERT INTO target', 'COMMIT', 'DETACH target']
const USUAL_POINTS = ['INSERT INTO target']

/** Publishes to the target; prints its error code and the one that the warehouse has recorded. */
const PUBLISH = `
import { DuckDBConnection } from '${NODE_API}'
const { openWarehouse } = await import('${SRC}/warehouse/open.js')
const { publish } = await import('${SRC}/publish/publish.js')
const { HOME, TARGET, REFILL, POINTS } = process.env
const points = JSON.parse(POINTS)
for (const name of ['run', 'runAndReadAll']) {
  const run = DuckDBConnection.prototype[name]
  DuckDBConnection.prototype[name] = async function (sql, ...rest) {
    if (points.length > 0 && sql.includes(points[0])) {
      points.shift()
      if (points.length === 0) process.kill(process.pid, 'SIGKILL')
    }
    return run.call(this, sql, ...rest)
  }
}
const warehouse = await openWarehouse({ home: HOME, ...${JSON.stringify(SMALL)}, threads: 4 })
const options = { warehouse, home: HOME, target: JSON.parse(TARGET), settings: ${JSON.stringify(SETTINGS)}, entry: new URL('${ENTRY.href}') }
const code = await publish({ ...options, refill: REFILL === 'true', verify: true }).then(({ kind }) => kind, error => error.code)
const [last] = await warehouse.writer.rows('SELECT error_code FROM _publications ORDER BY ended_at DESC LIMIT 1')
await warehouse.close()
console.log(code, last.error_code)
`

const app = temporaryWarehouse()
/** A copy of the warehouse that only the killed processes open. */
let home: string
let snapshot: SnapshotTarget
let parquet: ParquetTarget
let before: Buffer

async function publishWith(
  target: TargetConfig,
  { refill = false, points = [] as readonly string[], through = [] as readonly string[] },
) {
  const given = { HOME: home, TARGET: JSON.stringify(target), REFILL: String(refill), POINTS: JSON.stringify(points) }
  const [command, ...args] = [...through, process.execPath, '--input-type=module', '--eval', PUBLISH]
  const child = spawn(command!, args, { env: { ...process.env, ...given }, stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  child.stdout.on('data', data => {
    printed += data
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  return signal ?? (code === 0 ? printed.trim() : code)
}

const namesIn = async (target: SnapshotTarget | ParquetTarget) =>
  target.type === 'snapshot'
    ? rowsIn(target.path, 'SELECT user_name FROM conversations')
    : rowsOf(target, 'conversations', 'user_name')

const nextFiles = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter(name => name.includes('.next'))

beforeAll(async () => {
  const place = app.workspace()
  const load = async (userName: string, minute: number) => {
    const records = [{ ID: 'a', userName, tags: ['x'] }]
    await place.load(await landConversations(place.landing, { records, sentAtMs: SENT_AT_MS + minute * 60_000 }))
  }
  home = await mkdtemp(join(tmpdir(), 'convohouse-'))
  const published = join(home, 'published')
  await mkdir(published)
  snapshot = newTarget(published)
  parquet = newParquet(published)
  await registerConsumer(app.warehouse.writer, 'slow')
  await load('Ann', 1)
  for (const target of isDeep ? [snapshot, parquet] : [snapshot]) await publishTo({ ...app, home }, target)
  await load('Amy', 2)
  await app.warehouse.writer.run('CHECKPOINT')
  await copyFile(join(app.home, 'warehouse.duckdb'), join(home, 'warehouse.duckdb'))
  before = await readFile(snapshot.path)
})

afterAll(() => rm(home, { recursive: true }))

it('a refill whose process is killed at any step leaves the old state, and the next one completes it', async () => {
  const target = { ...snapshot, path: join(home, 'published', 'killed.duckdb') }
  await writeFile(target.path, before)
  for (const point of isDeep ? POINTS : USUAL_POINTS) {
    const points = POINTS.slice(0, POINTS.indexOf(point) + 1)
    expect(await publishWith(target, { refill: true, points }), point).toBe('SIGKILL')
    expect((await readFile(target.path)).equals(before), point).toBe(true)
  }
  expect(await nextFiles(join(home, 'published'))).not.toEqual([])
  expect(await publishWith(target, { refill: true })).toBe('refill null')
  expect(await nextFiles(join(home, 'published'))).toEqual([])
  expect(await namesIn(target)).toEqual([['Amy']])
})

it.runIf(isDeep)('a refill waits for a query that keeps its next file open', async () => {
  const folder = join(home, 'waiting')
  await mkdir(folder)
  const connection = await app.warehouse.instance.connect()
  const report = publishTo(app, newTarget(folder), { verify: true })
  await until(() => readdirSync(folder).some(name => name.endsWith('.next')))
  // Accesses every attached database.
  await connection.run('BEGIN; FROM duckdb_tables()')
  await new Promise(resolve => setTimeout(resolve, 2_000))
  await connection.run('ROLLBACK')
  connection.closeSync()
  expect(await report).toMatchObject({ kind: 'refill' })
})

/** Program of a target's process that is killed as soon as it has reported its watermark, while the warehouse's process writes the rows. */
const KILLED = `
import ${JSON.stringify(ENTRY.href)}
const { send } = process
process.send = reply => send.call(process, reply, () => process.kill(process.pid, 'SIGKILL'))`

it.runIf(isDeep)(
  'a refill whose target process is killed while rows are written leaves the old state, and a delta follows',
  async () => {
    const target = { ...snapshot, path: join(home, 'published', 'left.duckdb') }
    await writeFile(target.path, before)
    const entry = join(app.home, 'killed.mjs')
    await writeFile(entry, KILLED)
    const options = { entry: new URL(`file://${entry}`), refill: true }
    await expect(publishTo({ ...app, home }, target, options)).rejects.toMatchObject({
      code: 'PUBLICATION_FAILED',
      message: expect.stringContaining('SIGKILL'),
    })
    expect((await readFile(target.path)).equals(before)).toBe(true)
    expect(await publishTo({ ...app, home }, target, { verify: true })).toMatchObject({ kind: 'delta' })
    expect(await namesIn(target)).toEqual([['Amy']])
  },
)

it.runIf(isDeep)('a publication of Parquet files copies if the file system has no hard links', async () => {
  const copy = { ...parquet, path: join(home, 'published', 'copied') }
  await cp(parquet.path, copy.path, { recursive: true, verbatimSymlinks: true })
  const through = ['python3', join(import.meta.dirname, '../disk/without-hard-links.py')]
  expect(await publishWith(copy, { through })).toBe('delta null')
  expect(await namesIn(copy)).toEqual([['Amy']])
})

const why = whyNoDisk()

const FULL_DISKS = [
  ['a refill of a snapshot', () => snapshot, { refill: true, rooms: [1_048_576, 0] }],
  ['a delta of Parquet files', () => parquet, { refill: false, rooms: [24_576, 0] }],
  ['a delta of a snapshot', () => snapshot, { refill: false, rooms: [65_536, 0] }],
] as const

it.skipIf(why !== null).each(isDeep ? FULL_DISKS : FULL_DISKS.slice(0, 1))(
  `%s on a full disk leaves the old state and a usable warehouse, and the next one completes it${why ? ` (${why})` : ''}`,
  async (_, original, { refill, rooms }) => {
    const folder = join(home, `disk-${original().name}-${refill}`)
    const disk = await smallDisks([folder])
    const target = { ...original(), path: join(folder, 'target') }
    await cp(original().path, disk.outside(target.path), { recursive: true, verbatimSymlinks: true })
    const entries = async () => (await readdir(disk.outside(folder), { recursive: true })).filter(isOurs).sort()
    const earlier = await entries()
    for (const room of isDeep ? rooms : rooms.slice(0, 1)) {
      await disk.fill(folder, room)
      const failed = await publishWith(target, { refill, through: disk.through })
      expect(failed, `${room}`).toBe('TARGET_UNUSABLE TARGET_UNUSABLE')
      await disk.free(folder)
      expect(await entries(), `${room}`).toEqual(earlier)
    }
    if (!isDeep) return
    expect(await publishWith(target, { refill, through: disk.through })).toBe(`${refill ? 'refill' : 'delta'} null`)
    const copy = join(home, `${original().name}-${refill}.copy`)
    await cp(disk.outside(target.path), copy, { recursive: true, verbatimSymlinks: true })
    expect(await namesIn({ ...target, path: copy })).toEqual([['Amy']])
  },
)

const isOurs = (name: string): boolean => !name.endsWith('.lock')
