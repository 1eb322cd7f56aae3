import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isDeep } from '../../tier.ts'
import { expectComplete, expectError, exportedTwice, type FaultScene, faultScene } from '../scene.ts'
import { type SmallDisk, smallDisks, whyNoDisk } from './small-disk.ts'

const noDisk = whyNoDisk()
if (noDisk) console.warn(`skipped, a full disk: ${noDisk}`)

interface FullScene extends FaultScene {
  disk: SmallDisk
  /** The landing, in the data folder but on a separate disk; the lease log, in the landing, is on a third disk. */
  landing: string
  leaseLog: string
}

async function onDisks(): Promise<FullScene> {
  const scene = await faultScene({ sandbox: { conversations: isDeep ? 300 : 200 }, workspace: { pageSize: 10 } })
  const landing = join(scene.home, 'landing')
  const leaseLog = join(landing, 'ws_demo', 'ledger')
  return { ...scene, landing, leaseLog, disk: await smallDisks([scene.home, landing, leaseLog]) }
}

const sync = ({ run, disk }: FullScene) => run(['sync', '--yes'], { through: disk.through })

const FULL = { exit: 6, error: 'HOME_UNUSABLE', says: ['the disk is full (ENOSPC)', 'Free disk space'] }

/** Fills the folder's disk up to `but` bytes, syncs, and expects the error to name the path `at`; then frees the disk. */
async function expectFull(scene: FullScene, folder: string, options: { but: number; at: string }): Promise<void> {
  await scene.disk.fill(folder, options.but)
  expectError(scene, await sync(scene), { ...FULL, says: [...FULL.says, options.at] })
  await scene.disk.free(folder)
}

const count = async (scene: FullScene): Promise<number> => (await scene.exported()).length

const NO_INODES = { ...FULL, says: ['no free inodes (ENOSPC)', 'Delete files'] }

describe.skipIf(noDisk)('a full disk', () => {
  it('or one without free inodes is reported before anything is exported; if it fills up during a sync no requested page is lost, and the warehouse opens and loads what landed', async () => {
    const scene = await onDisks()
    const { home, landing, leaseLog, disk } = scene
    for (const folder of isDeep ? [home, landing, leaseLog] : [home]) {
      await disk.exhaust(folder, 0)
      expectError(scene, await sync(scene), { ...NO_INODES, says: [...NO_INODES.says, folder] })
      const doctor = await scene.run(['doctor', '--offline'], { through: disk.through })
      if (folder !== leaseLog) expect(doctor.stdout).toContain('no free inodes')
      await disk.free(folder)
    }
    await expectFull(scene, landing, { but: 1_000_000, at: landing })
    expect(await count(scene)).toBe(0)
    const counts: number[] = []
    if (isDeep) {
      await expectFull(scene, leaseLog, { but: 8_192, at: leaseLog })
      counts.push(await count(scene))
      // Leaves enough inodes for the disk reserve and some pages; each page needs one inode, and briefly two.
      await disk.exhaust(landing, 38)
      expectError(scene, await sync(scene), NO_INODES)
      await disk.free(landing)
      counts.push(await count(scene))
    }
    // Enough space for the disk reserve and some pages.
    await expectFull(scene, landing, { but: 4 * 1024 * 1024 + 50_000, at: landing })
    counts.push(await count(scene))
    await expectFull(scene, home, { but: isDeep ? 300_000 : 900_000, at: 'warehouse.duckdb' })
    counts.push(await count(scene))
    expect(counts).toEqual([...new Set([0, ...counts])].sort((a, b) => a - b).slice(1))
    await disk.fill(home, 4_000_000)
    const ended = await sync(scene)
    expect(ended.code, ended.stderr).toBe(0)
    // The WAL keeps transactions that could not be checkpointed.
    const log = join(await disk.copyOut(home), 'warehouse.duckdb.wal')
    expect((await stat(log)).size).toBeGreaterThan(100_000)
    expectError(scene, await scene.run(['replay'], { through: disk.through }), FULL)
    await disk.free(home)
    if (isDeep) expect((await sync(scene)).code).toBe(0)
    expect(await exportedTwice(scene)).toEqual([])
    await expectComplete({ sandbox: scene.sandbox, home: await disk.copyOut(home) })
  })
})

describe('a limit on file sizes', () => {
  it('is reported before anything is exported', async () => {
    const scene = await faultScene()
    const limited = await scene.run(['sync', '--yes'], { through: ['sh', '-c', 'ulimit -f 2048; exec "$@"', 'sh'] })
    expectError(scene, limited, {
      exit: 6,
      error: 'HOME_UNUSABLE',
      says: ['the maximum file size is exceeded (EFBIG)'],
    })
    expect(await scene.exported()).toEqual([])
  })
})
