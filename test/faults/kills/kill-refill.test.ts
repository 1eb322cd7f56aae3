// Kills the process that holds the warehouse while it writes the rows of a refill of a snapshot, and fills the disk of the target meanwhile:
// readers see the old state, the warehouse stays usable, and the next publication completes it and removes what was left.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { SnapshotTarget } from '../../../src/config/targets/snapshot.ts'
import { ENTRY, newTarget, publishTo, rowsIn, SETTINGS } from '../../publish/published.ts'
import { until } from '../../until.ts'
import { landConversations, SENT_AT_MS } from '../../warehouse/landed-pages.ts'
import { SMALL, temporaryWarehouse } from '../../warehouse/temporary-warehouse.ts'
import { smallDisks, whyNoDisk } from '../disk/small-disk.ts'

const SRC = join(import.meta.dirname, '../../../dist/src')
const NODE_API = createRequire(import.meta.url).resolve('@duckdb/node-api')

/** Parts of the statements before which the process is killed, in their order. */
const POINTS = [".next' AS target", 'CREATE SCHEMA target', 'INSERT INTO target', 'COMMIT', 'DETACH target']

/** Refills the target, and prints the code of its error beside the one that the warehouse has recorded. */
const REFILL = `
import { DuckDBConnection } from '${NODE_API}'
const { openWarehouse } = await import('${SRC}/warehouse/open.js')
const { publish } = await import('${SRC}/publish/publish.js')
const { HOME, TARGET, POINTS } = process.env
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
const code = await publish({ ...options, refill: true, verify: true }).then(({ kind }) => kind, error => error.code)
const [last] = await warehouse.writer.rows('SELECT error_code FROM _publications ORDER BY ended_at DESC LIMIT 1')
await warehouse.close()
console.log(code, last.error_code)
`

const app = temporaryWarehouse()
/** A copy of the warehouse that only the killed processes open. */
let home: string
let target: SnapshotTarget
let before: Buffer

async function refill(
  to: SnapshotTarget,
  { points = [] as readonly string[], through = [] as readonly string[] } = {},
) {
  const env = { ...process.env, HOME: home, TARGET: JSON.stringify(to), POINTS: JSON.stringify(points) }
  const [command, ...args] = [...through, process.execPath, '--input-type=module', '--eval', REFILL]
  const child = spawn(command!, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  child.stdout.on('data', data => {
    printed += data
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  return signal ?? (code === 0 ? printed.trim() : code)
}

const stateOf = (path: string) => rowsIn(path, 'SELECT user_name FROM conversations')

const nextFiles = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter(name => name.includes('.next'))

beforeAll(async () => {
  const place = app.workspace()
  const load = async (userName: string, minute: number) => {
    const records = [{ ID: 'a', userName }]
    await place.load(await landConversations(place.landing, { records, sentAtMs: SENT_AT_MS + minute * 60_000 }))
  }
  home = await mkdtemp(join(tmpdir(), 'convohouse-'))
  target = newTarget(join(home, 'published'))
  await mkdir(join(home, 'published'))
  await load('Ann', 1)
  await publishTo({ ...app, home }, target)
  await load('Amy', 2)
  await app.warehouse.writer.run('CHECKPOINT')
  await copyFile(join(app.home, 'warehouse.duckdb'), join(home, 'warehouse.duckdb'))
  before = await readFile(target.path)
})

afterAll(() => rm(home, { recursive: true }))

it('a refill whose process is killed at any step leaves the old state, and the next one completes it', async () => {
  for (const [index, point] of POINTS.entries()) {
    expect(await refill(target, { points: POINTS.slice(0, index + 1) }), point).toBe('SIGKILL')
    expect((await readFile(target.path)).equals(before), point).toBe(true)
  }
  expect(await nextFiles(join(home, 'published'))).not.toEqual([])
  expect(await refill(target)).toBe('refill null')
  expect(await nextFiles(join(home, 'published'))).toEqual([])
  expect(await stateOf(target.path)).toEqual([['Amy']])
})

it('a refill waits for a query that keeps its next file open', async () => {
  const folder = join(home, 'waiting')
  await mkdir(folder)
  const connection = await app.warehouse.instance.connect()
  const report = publishTo(app, newTarget(folder), { verify: true })
  await until(() => readdirSync(folder).some(name => name.endsWith('.next')))
  // Looks at every attached database.
  await connection.run('BEGIN; FROM duckdb_tables()')
  await new Promise(resolve => setTimeout(resolve, 2_000))
  await connection.run('ROLLBACK')
  connection.closeSync()
  expect(await report).toMatchObject({ kind: 'refill' })
})

const why = whyNoDisk()

it.skipIf(why !== null)(
  `a refill to a full disk leaves the old state and a usable warehouse, and the next one completes it${why ? ` (${why})` : ''}`,
  async () => {
    const folder = join(home, 'disk')
    const disk = await smallDisks([folder])
    const small = { ...target, path: join(folder, 'bi.duckdb') }
    await writeFile(disk.outside(small.path), before)
    for (const room of [0, 65_536, 1_048_576]) {
      await disk.fill(folder, room)
      expect(await refill(small, { through: disk.through }), `${room}`).toBe('TARGET_UNUSABLE TARGET_UNUSABLE')
      await disk.free(folder)
      expect(await nextFiles(disk.outside(folder))).toEqual([])
      expect((await readFile(disk.outside(small.path))).equals(before), `${room}`).toBe(true)
    }
    expect(await refill(small, { through: disk.through })).toBe('refill null')
    expect(await stateOf(join(await disk.copyOut(folder), 'bi.duckdb'))).toEqual([['Amy']])
  },
)
