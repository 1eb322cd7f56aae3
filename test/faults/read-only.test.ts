import { spawnSync } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { DAY } from '../../src/core/time.ts'
import { boughtTwice, expectMended, expectTold, expectWhole, faultScene } from './scene.ts'
import { smallDisks, whyNoDisk } from './small-disk.ts'

const noDisk = whyNoDisk()
if (noDisk) console.warn(`skipped, a read-only disk: ${noDisk}`)
const isRoot = process.getuid?.() === 0
if (!isRoot) console.warn("skipped, somebody else's data folder: only the superuser can act as somebody else")

const NOBODY = 65_534
const ARRIVALS = { sandbox: { arrivalsPerDay: 60 } }
const COUNT = ['query', 'SELECT count(*) AS n FROM conversations', '--format', 'json']

describe.skipIf(noDisk)('a disk that turned read-only', () => {
  it('is told before anything is bought; what is there can still be asked for', async () => {
    const scene = await faultScene(ARRIVALS)
    const disk = await smallDisks([scene.home])
    const { through } = disk
    expect((await scene.run(['sync', '--yes'], { through })).code).toBe(0)
    const bought = (await scene.bought()).length
    scene.sandbox.clock.advance(DAY)
    disk.protect(scene.home, true)
    const refused = { exit: 6, error: 'HOME_UNUSABLE', says: ['the disk is read-only (EROFS)', 'write permission'] }
    expectTold(scene, await scene.run(['sync', '--yes'], { through }), refused)
    expect((await scene.bought()).length).toBe(bought)
    const asked = await scene.run(COUNT, { through })
    expect(asked.code, asked.stderr).toBe(0)
    disk.protect(scene.home, false)
    const mended = await scene.run(['sync', '--yes'], { through })
    expect(mended.code, mended.stderr).toBe(0)
    expect(await boughtTwice(scene)).toEqual([])
    await expectWhole({ sandbox: scene.sandbox, home: await disk.copyOut(scene.home) })
  })
})

describe.skipIf(!isRoot)("somebody else's data folder", () => {
  it('is refused before anything is bought, whether it can be read or not', async () => {
    const scene = await faultScene(ARRIVALS)
    expect((await scene.run(['sync', '--yes'])).code).toBe(0)
    const bought = (await scene.bought()).length
    scene.sandbox.clock.advance(DAY)
    const refused = { exit: 6, error: 'HOME_UNUSABLE', says: ['no permission (EACCES)', 'write permission'] }
    await chmod(scene.folder, 0o755)
    expectTold(scene, await scene.run(['sync', '--yes'], { uid: NOBODY }), refused)
    spawnSync('chmod', ['-R', 'a+rX', scene.home])
    expectTold(scene, await scene.run(['sync', '--yes'], { uid: NOBODY }), refused)
    const asked = await scene.run(COUNT, { uid: NOBODY })
    expect(asked.code, asked.stderr).toBe(0)
    expect((await scene.bought()).length).toBe(bought)
    await expectMended(scene)
  })
})
