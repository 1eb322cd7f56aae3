import { createHash } from 'node:crypto'
import { copyFile, cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { temporaryFolder } from '../cli/cli-process.ts'
import { until } from '../until.ts'
import { expectMended, expectTold, expectWhole, type FaultScene, faultScene, stillSandbox } from './scene.ts'

/** Windows that are read at once: so many requests are under way at a kill, at most. */
const LANES = 4
const SMALL = { memoryLimit: '1GB', threads: 1 }

interface Synced extends FaultScene {
  file: string
  /** Export requests that the first sync made. */
  paid: number
}

let sandbox: Sandbox
/** A data folder that has been synced: by the first test, for all. */
let made: string
beforeAll(async () => {
  sandbox = await stillSandbox()
  made = await mkdtemp(join(tmpdir(), 'convohouse-warehouse-'))
})
afterAll(async () => {
  await sandbox.close()
  await rm(made, { recursive: true })
})

async function synced(): Promise<Synced> {
  const scene = await faultScene({ beside: sandbox, pageSize: 20 })
  if ((await scene.bought()).length === 0) {
    const { code, stderr } = await scene.run(['sync', '--yes'])
    expect(code, stderr).toBe(0)
    await cp(scene.home, made, { recursive: true })
  } else await cp(made, scene.home, { recursive: true })
  return { ...scene, file: join(scene.home, 'warehouse.duckdb'), paid: (await scene.bought()).length }
}

/** A sync that was killed with commits in its log, which is not checkpointed before the end. */
async function killedInTheMidst(): Promise<FaultScene & { log: string }> {
  // It fetches for longer than a load waits, so that it goes on behind the load whose log it is killed with.
  const scene = await faultScene({ sandbox: { conversations: 260, latencyMs: 500 } })
  const log = join(scene.home, 'warehouse.duckdb.wal')
  const running = scene.start(['sync', '--yes'])
  const grown = async () => (await readFile(log).catch(() => Buffer.alloc(0))).length > 400_000
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

async function expectNothingBought(scene: Synced): Promise<void> {
  expect((await scene.bought()).length).toBe(scene.paid)
}

describe('a warehouse', () => {
  it('that was deleted is loaded again from the landing, by a sync and by a replay, without buying anything', async () => {
    const scene = await synced()
    await rm(scene.file)
    await expectMended(scene)
    await rm(scene.file)
    const replayed = await scene.run(['replay'])
    expect(replayed.code, replayed.stderr).toBe(0)
    await expectWhole(scene)
    await expectNothingBought(scene)
  })

  it('that a newer version wrote is refused before anything is touched', async () => {
    const scene = await synced()
    const warehouse = await openWarehouse({ home: scene.home, ...SMALL })
    await warehouse.writer.run(`INSERT INTO _migrations VALUES (9999, '9999_tomorrow.sql', now()::TIMESTAMP)`)
    await warehouse.close()
    const before = await digest(scene.file)
    for (const command of [['sync', '--yes'], ['replay']])
      expectTold(scene, await scene.run(command), {
        exit: 6,
        error: 'WAREHOUSE_NEWER',
        says: ['9999', 'or a newer one'],
      })
    expect(await digest(scene.file)).toBe(before)
    expect((await readdir(scene.home)).filter(name => name.startsWith('warehouse'))).toEqual(['warehouse.duckdb'])
    await expectNothingBought(scene)
  })

  it('that is damaged is told so, and comes back from the landing when it is moved away', async () => {
    const scene = await synced()
    const damaged = { exit: 6, error: 'HOME_UNUSABLE', says: [scene.file, 'convohouse replay'] }
    const whole = await readFile(scene.file)
    const damages: Record<string, Buffer> = {
      half: whole.subarray(0, whole.length / 2),
      garbage: Buffer.from('no database at all, '.repeat(5_000)),
      zeros: Buffer.alloc(whole.length),
      headers: Buffer.concat([whole.subarray(0, 4_096), Buffer.alloc(8_192, 7), whole.subarray(12_288)]),
    }
    for (const [name, bytes] of Object.entries(damages)) {
      const home = await temporaryFolder()
      await writeFile(join(home, 'warehouse.duckdb'), bytes)
      const error = await openWarehouse({ home, ...SMALL }).catch(thrown => thrown)
      expect(error, name).toMatchObject({ code: 'HOME_UNUSABLE', hint: expect.stringContaining('replay') })
    }
    await writeFile(scene.file, damages.half!)
    for (const command of [['sync', '--yes'], ['replay'], ['query', 'SELECT 1']])
      expectTold(scene, await scene.run(command), damaged)
    await expectNothingBought(scene)
    await rename(scene.file, `${scene.file}.damaged`)
    await expectMended(scene)
    await expectNothingBought(scene)
  })

  it('that is empty, or cut off within its headers, holds nothing and is made anew from the landing', async () => {
    const scene = await synced()
    const whole = await readFile(scene.file)
    for (const length of [0, 5_000]) {
      await writeFile(scene.file, whole.subarray(0, length))
      await expectMended(scene)
    }
    await expectNothingBought(scene)
  })

  it('beside which a killed replay left its own is rebuilt all the same, and that one goes', async () => {
    const scene = await synced()
    const left = join(scene.home, 'warehouse.rebuilt.duckdb')
    await copyFile(scene.file, left)
    await writeFile(`${left}.wal`, 'half a log')
    await expectMended(scene)
    const replayed = await scene.run(['replay'])
    expect(replayed.code, replayed.stderr).toBe(0)
    expect((await readdir(scene.home)).filter(name => name.includes('rebuilt'))).toEqual([])
    await expectWhole(scene)
    await expectNothingBought(scene)
  })
})

describe('the log of a sync that was killed', () => {
  it('may be deleted, cut off or garbage: what it held is loaded from the landing', async () => {
    const scene = await killedInTheMidst()
    const log = await readFile(scene.log)
    const damaged = await Promise.all(
      [log.subarray(0, Math.floor(log.length * 0.7) - 3), Buffer.alloc(log.length, 'garbage')].map(async bytes => {
        const home = join(await temporaryFolder(), 'data')
        await cp(scene.home, home, { recursive: true, filter: path => !path.endsWith('.sock') })
        await writeFile(join(home, 'warehouse.duckdb.wal'), bytes)
        return scene.at(home)
      }),
    )
    await rm(scene.log)
    await expectMended(scene, { underWay: LANES })
    for (const other of damaged) {
      const ended = await other.run(['sync', '--yes'])
      expect(ended.code, ended.stderr).toBe(0)
      await expectWhole(other)
    }
  })
})
