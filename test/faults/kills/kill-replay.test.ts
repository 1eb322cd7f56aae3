import { readdir, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { warehouseFile } from '../../../src/warehouse/open.ts'
import { inProcess } from '../../cli/in-process.ts'
import { TOKEN_ENV } from '../../scene.ts'
import { rounds } from '../../tier.ts'
import { type KillTimes, killTimes } from './kill-times.ts'
import { type KilledHome, openKilledHome } from './killed-home.ts'
import { type Ended, runCommand } from './sync-process.ts'

const KILLS = rounds('REPLAY_KILLS', { usual: 1, deep: 20 })
const EQUAL = { lost: 0, doubled: 0 }

function killedReplay({ config }: KilledHome, times: KillTimes, flags: readonly string[] = []): Promise<Ended> {
  return runCommand({ args: ['replay', ...flags, '--config', config], killAt: () => sleep(times.nextMs()) })
}

async function run({ config }: KilledHome, ...args: string[]): Promise<void> {
  const { code, stderr } = await inProcess([...args, '--config', config], { env: TOKEN_ENV })
  expect(code, stderr).toBe(0)
}

const sync = (killed: KilledHome): Promise<void> => run(killed, 'sync', '--yes')

/** The pages of two days, landed and loaded; the second day replaces rows of the first. Each test leaves the warehouse complete. */
let killed: KilledHome
beforeAll(async () => {
  killed = await openKilledHome(3)
  await sync(killed)
  killed.nextDay()
  await sync(killed)
  expect(await killed.compare()).toEqual(EQUAL)
})
afterAll(() => killed.close())

it('a replay that is killed at random points leaves either the old warehouse or the new one, complete', async () => {
  const times = killTimes(3)
  for (let kills = 0; kills < KILLS; ) {
    const ended = await killedReplay(killed, times)
    times.record(ended)
    expect([null, 0], ended.stderr).toContain(ended.code)
    if (ended.code === null) kills += 1
    expect(await killed.compare()).toEqual(EQUAL)
  }
  await run(killed, 'replay')
  expect(await killed.compare()).toEqual(EQUAL)
  expect((await readdir(killed.home)).filter(name => name.includes('rebuilt'))).toEqual([])
})

it('a replay of a deleted warehouse that is killed at random points is completed by the next sync', async () => {
  const times = killTimes(5)
  for (let kills = 0; kills < Math.ceil(KILLS / 2); ) {
    await rm(warehouseFile(killed.home), { force: true })
    await rm(`${warehouseFile(killed.home)}.wal`, { force: true })
    const ended = await killedReplay(killed, times)
    times.record(ended)
    if (ended.code !== null) continue
    kills += 1
    await sync(killed)
    expect(await killed.compare()).toEqual(EQUAL)
  }
})
