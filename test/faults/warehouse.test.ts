import { createHash } from 'node:crypto'
import { copyFile, cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { temporaryFolder } from '../cli/cli-process.ts'
import { isDeep } from '../tier.ts'
import { until } from '../until.ts'
import { expectComplete, expectError, expectRecovered, type FaultScene, faultScene, syncedScenes } from './scene.ts'

const SMALL = { memoryLimit: '1GB', threads: 1 }

const synced = syncedScenes({ sandbox: { conversations: 40 } })

const fileOf = ({ home }: FaultScene): string => join(home, 'warehouse.duckdb')

/** Returns a scene whose sync was killed with commits in the WAL, because a sync checkpoints the WAL only at its end. */
async function killedInTheMidst(): Promise<FaultScene & { log: string }> {
  // Slow answers keep the sync fetching for longer than a load takes, so it is still fetching when a load has written the WAL.
  const scene = await faultScene({ sandbox: { conversations: 120, latencyMs: 500 } })
  const log = join(scene.home, 'warehouse.duckdb.wal')
  const running = scene.start(['sync', '--yes'])
  const grown = async () => (await readFile(log).catch(() => Buffer.alloc(0))).length > 300_000
  await until(() => grown(), { everyMs: 20 })
  running.process.kill('SIGKILL')
  await running.ended
  expect(running.process.signalCode).toBe('SIGKILL')
  return { ...scene, log }
}

const digest = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex')

async function expectNothingExported(scene: FaultScene): Promise<void> {
  expect(await scene.exported()).toEqual([])
}

describe('a warehouse', () => {
  it('that is empty, or truncated within its headers, is created again', async () => {
    const scene = await synced()
    const intact = await readFile(fileOf(scene))
    for (const length of [0, 5_000]) {
      await writeFile(fileOf(scene), intact.subarray(0, length))
      const empty = await openWarehouse({ home: scene.home, ...SMALL })
      expect(await empty.writer.rows('FROM conversations')).toEqual([])
      await empty.close()
    }
  })

  it('that another version wrote, in another layout, is refused and unchanged, until a replay moves it aside, and removes the copy of a killed one', async () => {
    const scene = await synced()
    const left = join(scene.home, 'warehouse.rebuilt.duckdb')
    await copyFile(fileOf(scene), left)
    await writeFile(`${left}.wal`, 'half a log')
    const warehouse = await openWarehouse({ home: scene.home, ...SMALL })
    await warehouse.writer.run('UPDATE _layout SET number = 9999')
    await warehouse.close()
    const before = await digest(fileOf(scene))
    for (const command of [['sync', '--yes'], ['query', 'SELECT 1'], ['status']])
      expectError(scene, await scene.run(command), {
        ...{ exit: 6, error: 'WAREHOUSE_LAYOUT', says: [fileOf(scene), 'layout 9999', 'convohouse replay'] },
      })
    const other = join(scene.home, 'landing', 'ws_other')
    await mkdir(other)
    expectError(scene, await scene.run(['replay']), {
      ...{ exit: 6, error: 'REPLAY_LOSES_ROWS', says: ['ws_other', '--drop-expired'] },
    })
    expect(await digest(fileOf(scene))).toBe(before)
    await rm(other, { recursive: true })
    const replayed = await scene.run(['replay'])
    expect(replayed.code, replayed.stderr).toBe(0)
    const names = (await readdir(scene.home)).filter(name => name.startsWith('warehouse'))
    const aside = names.filter(name => name.includes('replaced'))
    expect(aside).toHaveLength(1)
    expect(replayed.stdout).toContain(aside[0])
    expect(await digest(join(scene.home, aside[0]!))).toBe(before)
    expect(names.filter(name => name.includes('rebuilt'))).toEqual([])
    await expectComplete(scene)
    await expectNothingExported(scene)
  })

  it('that is damaged is reported, and rebuilt from the landing when it is moved away', async () => {
    const scene = await synced()
    const damaged = { exit: 6, error: 'HOME_UNUSABLE', says: [fileOf(scene), 'convohouse replay'] }
    const intact = await readFile(fileOf(scene))
    const damages: Record<string, Buffer> = {
      truncated: intact.subarray(0, intact.length / 4),
      garbage: Buffer.from('no database at all, '.repeat(5_000)),
      zeros: Buffer.alloc(intact.length),
      headers: Buffer.concat([intact.subarray(0, 4_096), Buffer.alloc(8_192, 7), intact.subarray(12_288)]),
    }
    for (const [name, bytes] of Object.entries(damages)) {
      const home = await temporaryFolder()
      await writeFile(join(home, 'warehouse.duckdb'), bytes)
      const error = await openWarehouse({ home, ...SMALL }).catch(thrown => thrown)
      expect(error, name).toMatchObject({ code: 'HOME_UNUSABLE', hint: expect.stringContaining('replay') })
    }
    await writeFile(fileOf(scene), damages.truncated!)
    for (const command of [['sync', '--yes'], ['replay'], ['query', 'SELECT 1']])
      expectError(scene, await scene.run(command), damaged)
    await expectNothingExported(scene)
    await rename(fileOf(scene), `${fileOf(scene)}.damaged`)
    await expectRecovered(scene)
    await expectNothingExported(scene)
  })
})

describe('the WAL of a killed sync', () => {
  it('may be truncated, garbage or deleted: its contents are loaded from the landing', async () => {
    const scene = await killedInTheMidst()
    const log = await readFile(scene.log)
    const damages = [log.subarray(0, Math.floor(log.length * 0.7) - 3), null]
    const damaged = await Promise.all(
      [Buffer.alloc(log.length, 'garbage'), ...(isDeep ? damages : [])].map(async bytes => {
        const home = join(await temporaryFolder(), 'data')
        await cp(scene.home, home, { recursive: true, filter: path => !path.endsWith('.sock') })
        if (bytes) await writeFile(join(home, 'warehouse.duckdb.wal'), bytes)
        else await rm(join(home, 'warehouse.duckdb.wal'))
        return scene.at(home)
      }),
    )
    for (const other of damaged) {
      const ended = await other.run(['sync', '--yes'])
      expect(ended.code, ended.stderr).toBe(0)
      await expectComplete(other)
    }
  })
})
