// Kills the process of a target `parquet` just before its statements and its changes of folders: between partitions, while files are linked,
// before and after the symbolic link is replaced. Readers then see the old state or the new one, and the next publication completes it
// and leaves nothing of the killed one. The same package is applied on a file system without hard links, and on a full disk.
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import type { ParquetTarget } from '../../../src/config/targets/parquet.ts'
import type { Package } from '../../../src/publish/package.ts'
import { registerConsumer } from '../../../src/warehouse/changes/consumers.ts'
import { publishTo } from '../../publish/published.ts'
import { currentFolder, newParquet, rowsOf } from '../../publish/published-parquet.ts'
import { isDeep } from '../../tier.ts'
import { landConversations, SENT_AT_MS } from '../../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../../warehouse/temporary-warehouse.ts'
import { smallDisks, whyNoDisk } from '../disk/small-disk.ts'
import { applyKept, keeper } from './kept-package.ts'

/** A step that uses a file of the package says so. */
const PARQUET = {
  open: { file: 'targets/parquet/parquet', name: 'openParquet', of: 'TARGET' },
  changes: ['link', 'symlink', 'rename', 'writeFile', 'open'],
  step: "args[0].startsWith(dirname(PACKAGE)) ? name + ' from the package' : name",
} as const

/** The steps before which the process is killed, in their order: functions of Node, and the beginnings of SQL statements. */
const POINTS = [
  ...['link from the package', 'link from the package', 'link', 'link'],
  ...['writeFile', 'symlink', 'rename', 'open'],
]

const app = temporaryWarehouse()
let target: ParquetTarget
let contents: Package
let env: Record<string, string>
/** The target before the package. */
let before: string

beforeAll(async () => {
  const place = app.workspace()
  const load = async (userName: string, minute: number) => {
    const records = [
      { ID: 'a', userName, ts: Date.UTC(2026, 10, 5), tags: ['x'] },
      { ID: 'b', ts: Date.UTC(2026, 8, 5) },
    ]
    const changed = minute === 1 ? records : records.slice(0, 1)
    const page = { records: changed, sentAtMs: SENT_AT_MS + minute * 60_000 }
    await place.load(await landConversations(place.landing, page))
  }
  target = newParquet(app.home)
  // Keeps the log, although publications after a kill acknowledge it.
  await registerConsumer(app.warehouse.writer, 'slow')
  await load('Ann', 1)
  await publishTo(app, target)
  await load('Amy', 2)
  const folder = join(app.home, 'kept')
  await mkdir(folder)
  const base = JSON.parse(await readFile(join(await currentFolder(target), '_publication.json'), 'utf8'))
  const watermark = { ...base, publicationId: base.publication_id, asOf: base.as_of }
  const entry = join(app.home, 'keeper.mjs')
  await writeFile(entry, keeper(folder, JSON.stringify(watermark)))
  await expect(publishTo(app, target, { entry: new URL(`file://${entry}`) })).rejects.toThrow('only kept')
  contents = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Package
  expect(contents).toMatchObject({ kind: 'delta', erases: false })
  env = { PACKAGE: join(folder, 'package.json'), TARGET: target.path, SPILL: join(app.home, 'spill') }
  before = join(app.home, 'before')
  await cp(target.path, before, { recursive: true, verbatimSymlinks: true })
}, 120_000)

const apply = (more: Record<string, string>, through: readonly string[] = []) =>
  applyKept(PARQUET, { env: { ...env, ...more }, through })

/** Puts the earlier state into the folder of the target. */
async function restore(): Promise<void> {
  await rm(target.path, { recursive: true })
  await cp(before, target.path, { recursive: true, verbatimSymlinks: true })
}

const state = async (): Promise<unknown> => {
  const name = (await rowsOf(target, 'conversations', 'user_name'))[0]![0]
  const { seq } = JSON.parse(await readFile(join(await currentFolder(target), '_publication.json'), 'utf8'))
  return [name, seq]
}

it('a publication of Parquet files that is killed at any step leaves the old or the new state, and the next one completes it', {
  timeout: 240_000,
}, async () => {
  const reached = POINTS.map((_, index) => index + 1).filter(n => isDeep || [2, 4, 7, 8].includes(n))
  for (const count of reached) {
    const point = `${count}: ${POINTS[count - 1]}`
    await restore()
    const { ended, printed } = await apply({ POINTS: JSON.stringify(POINTS.slice(0, count)) })
    expect(ended, `${point} ${printed}`).toBe('SIGKILL')
    const isNew = count === POINTS.length
    expect(await state(), point).toEqual(isNew ? ['Amy', contents.watermark.seq] : ['Ann', contents.base!.seq])
    // A publication takes a second, so not after each kill.
    if (!isDeep && !isNew && POINTS[count - 1] !== 'rename') continue
    const next = await publishTo(app, target, { verify: true })
    expect(next.kind, point).toBe(isNew ? 'current' : 'delta')
    expect(await state(), point).toEqual(['Amy', contents.watermark.seq])
    expect((await readdir(target.path)).sort(), point).toEqual(['current', 'publication.lock', 'versions'])
    expect(await readdir(join(target.path, 'versions')), point).toHaveLength(2)
  }
})

it('a publication of Parquet files copies where the file system has no hard links', async () => {
  await restore()
  const through = ['python3', join(import.meta.dirname, '../disk/without-hard-links.py')]
  expect(await apply({}, through)).toEqual({ ended: 0, printed: '' })
  expect(await state()).toEqual(['Amy', contents.watermark.seq])
  expect((await publishTo(app, target, { verify: true })).kind).toBe('current')
})

const why = whyNoDisk()

it.skipIf(why !== null)(
  `a publication of Parquet files to a full disk leaves the old state${why ? ` (${why})` : ''}`,
  async () => {
    const folder = join(app.home, 'disk')
    const disk = await smallDisks([folder])
    await cp(before, disk.outside(join(folder, 'lake')), { recursive: true, verbatimSymlinks: true })
    const entries = async () => (await readdir(disk.outside(join(folder, 'lake')), { recursive: true })).sort()
    const earlier = await entries()
    for (const room of [0, 24_576]) {
      await disk.fill(folder, room)
      expect(await apply({ TARGET: join(folder, 'lake') }, disk.through)).toEqual({
        ended: 3,
        printed: 'TARGET_UNUSABLE',
      })
      expect(await entries()).toEqual(earlier)
      await disk.free(folder)
    }
    expect(await apply({ TARGET: join(folder, 'lake') }, disk.through)).toEqual({ ended: 0, printed: '' })
    const copy = join(app.home, 'copy')
    await cp(disk.outside(join(folder, 'lake')), copy, { recursive: true, verbatimSymlinks: true })
    expect(await rowsOf({ ...target, path: copy }, 'conversations', 'user_name')).toContainEqual(['Amy'])
  },
)
