import { spawnSync } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { DAY } from '../../../src/core/time.ts'
import { isDeep } from '../../tier.ts'
import { expectComplete, expectError, exportedTwice, type FaultScene, syncedScenes } from '../scene.ts'
import { smallDisks, whyNoDisk } from './small-disk.ts'

const noDisk = whyNoDisk()
if (noDisk) console.warn(`skipped, a read-only disk: ${noDisk}`)
const isRoot = process.getuid?.() === 0
if (!isRoot) console.warn('skipped, a data folder of another user: only the superuser can act as another user')

const NOBODY = 65_534
const COUNT = ['query', 'SELECT count(*) AS n FROM conversations', '--format', 'json']

const synced = syncedScenes({ sandbox: { conversations: 40, arrivalsPerDay: 40, ts: 'activity' } })

/** Returns a scene that was fully synced a day ago, so that there are new conversations now. */
async function syncedADayAgo(): Promise<FaultScene> {
  const scene = await synced()
  scene.sandbox.clock.advance(DAY)
  return scene
}

describe.skipIf(noDisk)('a disk that turned read-only', () => {
  it('is reported before anything is exported; stored data can still be queried', async () => {
    const scene = await syncedADayAgo()
    const disk = await smallDisks([scene.home])
    await disk.copyIn(scene.home)
    const { through } = disk
    disk.protect(scene.home, true)
    const refused = {
      exit: 6,
      error: 'HOME_UNUSABLE',
      says: ['the disk is read-only (EROFS)', 'make the data folder writable'],
    }
    expectError(scene, await scene.run(['sync', '--yes'], { through }), refused)
    expect(await scene.exported()).toEqual([])
    const answer = await scene.run(COUNT, { through })
    expect(answer.code, answer.stderr).toBe(0)
    if (!isDeep) return
    disk.protect(scene.home, false)
    const synced = await scene.run(['sync', '--yes'], { through })
    expect(synced.code, synced.stderr).toBe(0)
    expect(await exportedTwice(scene)).toEqual([])
    await expectComplete({ sandbox: scene.sandbox, home: await disk.copyOut(scene.home) })
  })
})

describe.skipIf(!isRoot)('a data folder of another user', () => {
  it('is refused before anything is exported, whether it can be read or not', async () => {
    const scene = await syncedADayAgo()
    const refused = {
      exit: 6,
      error: 'HOME_UNUSABLE',
      says: ['no permission (EACCES)', 'make the data folder writable'],
    }
    await chmod(scene.folder, 0o755)
    if (isDeep) expectError(scene, await scene.run(['sync', '--yes'], { uid: NOBODY }), refused)
    spawnSync('chmod', ['-R', 'a+rX', scene.home])
    expectError(scene, await scene.run(['sync', '--yes'], { uid: NOBODY }), refused)
    const answer = await scene.run(COUNT, { uid: NOBODY })
    expect(answer.code, answer.stderr).toBe(0)
    expect(await scene.exported()).toEqual([])
  })
})
