// Kills the process of a target just before each statement of DuckDB and each change of a folder: while the next file is written, before and
// after its commit, before and after `rename`. Readers then see the old state or the new one, and the next publication completes it. The same
// package is applied on a full disk.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import type { SnapshotTarget } from '../../../src/config/targets/snapshot.ts'
import type { Package } from '../../../src/publish/package.ts'
import { registerConsumer } from '../../../src/warehouse/changes/consumers.ts'
import { ENTRY, newTarget, publishTo, rowsIn } from '../../publish/published.ts'
import { isDeep } from '../../tier.ts'
import { landConversations, SENT_AT_MS } from '../../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../../warehouse/temporary-warehouse.ts'
import { smallDisks, whyNoDisk } from '../disk/small-disk.ts'
import { applyKept, keeper } from './kept-package.ts'

/** The steps before which the process is killed, in their order: functions of Node, and the beginnings of SQL statements. */
const POINTS = [
  ...['copyFile', "ATTACH '", 'BEGIN', 'DELETE', 'INSERT', 'COMMIT', 'CHECKPOINT target', 'DETACH target'],
  ...['chmod', 'open', 'ATTACH', 'rename', 'open'],
]

/** `npm test` kills once before anything is written, around the commit, and around the change of files. */
const USUAL = ['copyFile', 'COMMIT', 'CHECKPOINT target', 'rename']
const isTried = (reached: number): boolean =>
  isDeep || USUAL.includes(POINTS[reached - 1]!) || reached === POINTS.length

/** Its steps are functions of Node and SQL statements. */
const SNAPSHOT = {
  open: { file: 'targets/snapshot/snapshot', name: 'openSnapshot', of: '{ path: TARGET }' },
  changes: ['copyFile', 'rename', 'open', 'chmod'],
} as const

const app = temporaryWarehouse()

let target: SnapshotTarget
let contents: Package
let env: Record<string, string>
/** The target before the package, and its sequence number. */
let before: Buffer
let seq: unknown

const apply = (more: Record<string, string>, through: readonly string[] = []) =>
  applyKept(SNAPSHOT, { env: { ...env, ...more }, through })

const stateOf = (path: string) => rowsIn(path, 'SELECT c.user_name, p.seq::INT FROM conversations c, _publication p')

beforeAll(async () => {
  const place = app.workspace()
  const load = async (userName: string, minute: number) => {
    const records = [{ ID: 'a', userName }]
    await place.load(await landConversations(place.landing, { records, sentAtMs: SENT_AT_MS + minute * 60_000 }))
  }
  target = newTarget(app.home)
  // Keeps the log, although publications after a kill acknowledge it.
  await registerConsumer(app.warehouse.writer, 'slow')
  await load('Ann', 1)
  await publishTo(app, target)
  await load('Amy', 2)
  const folder = join(app.home, 'kept')
  await mkdir(folder)
  const base = await rowsIn(target.path, 'SELECT owner, epoch, seq::INT, publication_id, policy FROM _publication')
  const [owner, epoch, number, publicationId, policy] = base[0]!
  seq = number
  const stored = { owner, epoch, seq, publicationId, policy, asOf: '2026-01-01T00:00:00.000Z' }
  const watermark = JSON.stringify(stored)
  const entry = join(app.home, 'keeper.mjs')
  await writeFile(entry, keeper(folder, watermark))
  await expect(publishTo(app, target, { entry: new URL(`file://${entry}`) })).rejects.toThrow('only kept')
  contents = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Package
  expect(contents).toMatchObject({ kind: 'delta', base: { seq } })
  env = { PACKAGE: join(folder, 'package.json'), TARGET: target.path, SPILL: join(app.home, 'spill') }
  before = await readFile(target.path)
}, 120_000)

it('a publication that is killed at any step leaves the old or the new state, and the next one completes it', async () => {
  for (let reached = 1; reached <= POINTS.length; reached++) {
    if (!isTried(reached)) continue
    const point = `${reached}: ${POINTS[reached - 1]}`
    const points = JSON.stringify(POINTS.slice(0, reached))
    await writeFile(target.path, before)
    expect((await apply({ POINTS: points })).ended, point).toBe('SIGKILL')
    const isNew = reached === POINTS.length
    const expected = isNew ? ['Amy', contents.watermark.seq] : ['Ann', seq]
    expect(await stateOf(target.path), point).toEqual([expected])
    // What the killed process left beside the file does not disturb the next one. A publication takes a second, so not after each kill.
    if (!['COMMIT', 'rename'].includes(POINTS[reached - 1]!) && !isNew) continue
    const next = await publishTo(app, target, { verify: true })
    expect(next.kind, point).toBe(isNew ? 'current' : 'delta')
    expect(await stateOf(target.path), point).toEqual([['Amy', contents.watermark.seq]])
  }
})

const why = whyNoDisk()

it.skipIf(why !== null)(
  `a publication to a full disk leaves the old state, and the next one completes it${why ? ` (${why})` : ''}`,
  async () => {
    const folder = join(app.home, 'disk')
    const path = join(folder, 'bi.duckdb')
    const disk = await smallDisks([folder])
    await writeFile(disk.outside(path), before)
    // Full while the file is copied, and while the copy is written.
    for (const room of [0, 65_536, before.length + 8_192]) {
      await disk.fill(folder, room)
      expect(await apply({ TARGET: path }, disk.through), `${room}`).toEqual({ ended: 3, printed: 'TARGET_UNUSABLE' })
      await disk.free(folder)
      expect((await readdir(disk.outside(folder))).filter(name => name.endsWith('.next'))).toEqual([])
      expect((await readFile(disk.outside(path))).equals(before), `${room}`).toBe(true)
    }
    expect(await apply({ TARGET: path }, disk.through)).toEqual({ ended: 0, printed: '' })
    expect(await stateOf(join(await disk.copyOut(folder), 'bi.duckdb'))).toEqual([['Amy', contents.watermark.seq]])
  },
)

/**
 * Programs of a target's process that is killed while the package is written: when its third table arrives; or, since the other process writes
 * the rows of a refill, as soon as it has said what the target has.
 */
const KILLED = {
  delta: `
import ${JSON.stringify(ENTRY.href)}
let tables = 0
process.on('message', ({ kind }) => {
  if (kind === 'table' && ++tables === 3) process.kill(process.pid, 'SIGKILL')
})`,
  refill: `
import ${JSON.stringify(ENTRY.href)}
const { send } = process
process.send = reply => send.call(process, reply, () => process.kill(process.pid, 'SIGKILL'))`,
}

it('a publication whose process is killed while the package is written leaves the old state, and the next one completes it', async () => {
  const place = app.workspace()
  const target = newTarget(app.home)
  const load = async (id: string) =>
    place.load(await landConversations(place.landing, { records: [{ ID: id, tags: ['x'] }], sentAtMs: SENT_AT_MS }))
  const sql = `SELECT conversation_id FROM conversations WHERE workspace_id = '${place.id}' ORDER BY ALL`
  await load('first')
  await publishTo(app, target)
  await load('second')
  const before = await readFile(target.path)
  for (const [kind, program] of Object.entries(KILLED)) {
    const entry = join(app.home, `${kind}.mjs`)
    await writeFile(entry, program)
    const failed = publishTo(app, target, { entry: new URL(`file://${entry}`), refill: kind === 'refill' })
    await expect(failed).rejects.toMatchObject({
      code: 'PUBLICATION_FAILED',
      message: expect.stringContaining('SIGKILL'),
    })
    expect((await readFile(target.path)).equals(before)).toBe(true)
  }
  expect(await publishTo(app, target, { verify: true })).toMatchObject({ kind: 'delta' })
  expect(await rowsIn(target.path, sql)).toEqual([['first'], ['second']])
})
