import { mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../src/core/time.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { spillFolder, temporaryFolder, writeCoerced } from '../../src/warehouse/temporary-files.ts'
import { warehouseFile } from '../../src/warehouse/warehouse-file.ts'
import { landedFile } from '../landing/landed-file.ts'
import { isDeep } from '../tier.ts'
import { expectComplete, expectError, type FaultScene, syncedScenes } from './scene.ts'

const PAGE_SIZE = 10

const synced = syncedScenes({ sandbox: { conversations: 100 }, workspace: { pageSize: PAGE_SIZE } })

interface Landed extends FaultScene {
  /** Addresses of the conversation pages, in loading order. */
  pages: string[]
  fileOf(page: string): string
}

const landingOf = ({ home }: FaultScene) => openLanding(home).workspace('ws_demo')

async function landed(): Promise<Landed> {
  const scene = await synced()
  const pages = (await landingOf(scene).list('conversations')).map(({ address }) => address)
  return { ...scene, pages, fileOf: page => landedFile(scene.home, page) }
}

/** Returns a scene in which every page has landed and nothing is loaded, because the warehouse is deleted. */
async function landedOnly(): Promise<Landed> {
  const scene = await landed()
  await rm(warehouseFile(scene.home))
  return scene
}

async function expectSynced({ run }: FaultScene): Promise<void> {
  const { code, stderr } = await run(['sync', '--yes'])
  expect(code, stderr).toBe(0)
}

/** Returns the number of conversations that the vendor has returned so far. */
const exported = async ({ exported }: FaultScene): Promise<number> =>
  (await exported()).reduce((sum, { returned }) => sum + returned, 0)

/** Returns a page in the middle of its window: at least two pages precede it, and some follow. */
const inTheMiddle = ({ pages }: Landed): string => pages.find(page => page.endsWith('p000003.json.gz'))!

const cutTo = (share: number) => async (file: string) => {
  const bytes = await readFile(file)
  await writeFile(file, bytes.subarray(0, Math.floor(bytes.length * share)))
}

type Damage = (file: string, landed: Landed) => Promise<unknown>

const DAMAGES: Record<string, Damage> = {
  'cut off in its body': cutTo(0.9),
}

const MORE_DAMAGES: Record<string, Damage> = {
  'a folder': file => rm(file).then(() => mkdir(file)),
  'cut off in its head': cutTo(0.01),
  'cut off behind its head': async (file, scene) => {
    const { packed } = await landingOf(scene).head(inTheMiddle(scene))
    await writeFile(file, (await readFile(file)).subarray(0, -packed!.bytes))
  },
  empty: cutTo(0),
  garbage: file => writeFile(file, 'no page at all'),
}

describe('damaged and deleted landed pages', () => {
  it('are named, no matter how they are damaged; once deleted, they are exported again, and no others, at any positions in their windows', async () => {
    const scene = await landedOnly()
    const { pages, fileOf } = scene
    const file = fileOf(inTheMiddle(scene))
    const intact = await readFile(file)
    for (const damage of Object.values(isDeep ? { ...DAMAGES, ...MORE_DAMAGES } : DAMAGES)) {
      await damage(file, scene)
      const expected = { exit: 6, error: 'LANDING_CORRUPT', says: [file, 'delete it and sync again'] }
      expectError(scene, await scene.run(['sync', '--yes']), expected)
      await rm(file, { recursive: true })
      await writeFile(file, intact)
    }
    expect(await exported(scene)).toBe(0)
    // The refused syncs have loaded the pages before the damaged one.
    await rm(warehouseFile(scene.home))
    const deleted = [pages[0]!, pages[3]!, pages[4]!, pages.at(-1)!]
    const heads = await Promise.all(deleted.map(page => landingOf(scene).head(page)))
    for (const page of deleted) await rm(fileOf(page))
    await expectSynced(scene)
    const lost = heads.reduce((sum, { facts }) => sum + facts!.returned, 0)
    // Each deleted page causes at most one more: after a page without any `ts`, the time of the next record is unknown.
    expect(await exported(scene)).toBeLessThanOrEqual(lost + PAGE_SIZE * deleted.length)
    // The landing is complete again: all rows come from it.
    if (isDeep) expect((await scene.run(['replay'])).code).toBe(0)
    await expectComplete(scene)
  })
})

describe('a deleted page that had been loaded', () => {
  it('keeps a replay from discarding the warehouse, and costs a sync nothing; foreign files are ignored, and leftovers of killed processes removed', async () => {
    const scene = await landed()
    const { home } = scene
    const deleted = scene.fileOf(inTheMiddle(scene))
    await rm(deleted)
    const folder = dirname(deleted)
    // Killed processes leave half-written pages, coerced copies and spilled files. A younger page may still be written.
    const [old, young] = ['.tmp-4242-0badcafe', '.tmp-4243-0badcafe']
    const foreign = ['notes.txt', '.DS_Store', 'x.g01.p000001.json']
    for (const name of [old, young, ...foreign]) await writeFile(join(folder, name), 'half a page')
    const twoHoursAgo = new Date(Date.now() - 2 * HOUR)
    await utimes(join(folder, old), twoHoursAgo, twoHoursAgo)
    await mkdir(join(folder, 'a-folder', 'and-another'), { recursive: true })
    await writeCoerced(temporaryFolder(home), [{ json: '{}' }])
    const spilled = spillFolder(warehouseFile(home))
    await mkdir(spilled, { recursive: true })
    await writeFile(join(spilled, 'duckdb_temp_storage_DEFAULT-0.tmp'), 'spilled')

    await expectSynced(scene)
    for (const emptied of [temporaryFolder(home), spilled]) expect(await readdir(emptied).catch(() => [])).toEqual([])
    const left = await readdir(folder)
    expect([old, young, ...foreign].filter(name => !left.includes(name))).toEqual([old])
    const expected = { exit: 6, error: 'LANDING_INCOMPLETE', says: [] }
    expectError(scene, await scene.run(['replay']), expected)
    await expectComplete(scene)
    expect(await scene.exported()).toEqual([])
  })
})
