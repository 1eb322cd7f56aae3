// Kills real processes at random moments and checks the promises afterwards. `npm test` runs only the receiver; for the others, `steps.test.ts` has an example per step.
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Draw } from '../../../src/sandbox/world/random.ts'
import { warehouseFile } from '../../../src/warehouse/warehouse-file.ts'
import { CONCURRENT_WINDOWS } from '../../../workflows/window-loop.ts'
import { temporaryFolder } from '../../cli/cli-process.ts'
import { inProcess } from '../../cli/in-process.ts'
import { TOKEN_ENV } from '../../scene.ts'
import { rounds } from '../../tier.ts'
import { until } from '../../until.ts'
import { spooled } from '../spooled.ts'
import { rowsIn, SECRET, startReceiver, webhookCommand } from '../webhook-command.ts'
import { makeSender } from '../webhook-sender.ts'
import { killTimes, runCommand } from './kill-times.ts'
import { type KilledHome, openKilledHome } from './killed-home.ts'
import { killSyncs } from './kills.ts'

const KILLS = {
  sync: rounds('SYNC_KILLS', { usual: 0, deep: 500 }),
  replay: rounds('REPLAY_KILLS', { usual: 0, deep: 20 }),
  receiver: rounds('RECEIVER_KILLS', { usual: 3, deep: 500 }),
  drain: rounds('DRAIN_KILLS', { usual: 0, deep: 50 }),
}
const LONG = { timeout: 600_000 + 10_000 * Math.max(...Object.values(KILLS)) }

describe.runIf(KILLS.sync > 0)('a sync that is killed at random points', () => {
  it('loses nothing, duplicates nothing, and repeats only requests in flight', LONG, async () => {
    const { maxRebilledPerKill, phases, ...report } = await killSyncs({ kills: KILLS.sync, seed: 7 })
    expect(report).toMatchObject({ kills: KILLS.sync, lost: 0, doubled: 0, exportedTwice: 0 })
    // A kill may interrupt one request of each window loop.
    expect(maxRebilledPerKill).toBeLessThanOrEqual(CONCURRENT_WINDOWS)
    expect(phases.opening + phases.planning).toBeGreaterThan(0)
    expect(phases.fetching + phases.loading).toBeGreaterThan(0)
  })
})

describe.runIf(KILLS.replay > 0)('a replay that is killed at random points', () => {
  async function run({ config }: KilledHome, ...args: string[]): Promise<void> {
    const { code, stderr } = await inProcess([...args, '--config', config], { env: TOKEN_ENV })
    expect(code, stderr).toBe(0)
  }

  async function expectComplete({ compare, home }: KilledHome): Promise<void> {
    expect(await compare()).toEqual({ lost: 0, doubled: 0 })
    expect((await readdir(home)).filter(name => name.includes('rebuilt'))).toEqual([])
  }

  /** The pages of two days, landed and loaded; those of the second day replace rows of the first. */
  let killed: KilledHome
  beforeAll(async () => {
    killed = await openKilledHome(3)
    await run(killed, 'sync', '--yes')
    killed.nextDay()
    await run(killed, 'sync', '--yes')
  })
  afterAll(() => killed.close())

  it.each([
    { leaves: 'leaves either the old warehouse or the new one, complete', isDeleted: false, next: ['replay'] },
    { leaves: 'of a deleted warehouse is completed by the next sync', isDeleted: true, next: ['sync', '--yes'] },
  ])('$leaves', LONG, async ({ isDeleted, next }) => {
    const times = killTimes(isDeleted ? 5 : 3)
    for (let kills = 0; kills < KILLS.replay; ) {
      if (isDeleted) for (const end of ['', '.wal']) await rm(`${warehouseFile(killed.home)}${end}`, { force: true })
      const ended = await runCommand(['replay', '--config', killed.config], () => sleep(times.nextMs()))
      times.record(ended)
      expect([null, 0], ended.stderr).toContain(ended.code)
      if (ended.code === null) kills += 1
      if (!isDeleted) expect(await killed.compare()).toEqual({ lost: 0, doubled: 0 })
    }
    await run(killed, ...next)
    await expectComplete(killed)
  })
})

describe('a receiver that is killed under load', () => {
  /** Receivers that share one spool: while one of them starts, the others are running. */
  const RECEIVERS = 3

  it('stores every acknowledged event exactly once', LONG, async () => {
    const home = join(await temporaryFolder(), 'data')
    const sender = makeSender({ secret: SECRET, connections: 6, bytes: 8_000, pauseMs: 5 })
    const draw = new Draw(7, 0, 0)
    let left = KILLS.receiver

    async function killRepeatedly(): Promise<void> {
      while (left-- > 0) {
        const { running, port } = await startReceiver(home)
        const load = sender.run(port)
        const before = sender.acknowledged.size
        // The kill comes after the first acknowledged event, within the time of several fsyncs and one or two sealed segments.
        await until(() => sender.acknowledged.size !== before, { everyMs: 2 })
        await sleep(draw.unit() ** 3 * 1_300)
        await running.kill()
        await load.stop()
      }
    }

    await Promise.all(Array.from({ length: RECEIVERS }, killRepeatedly))
    const { numbers, ids, abandoned } = await spooled(home, 'ws')
    const found = new Set(numbers)
    expect([...sender.acknowledged].filter(number => !found.has(number))).toEqual([])
    // Each event was sent once, so it is stored at most once; an event that was not acknowledged may be stored.
    expect([numbers.length, new Set(ids).size]).toEqual([found.size, found.size])
    expect([...found].filter(number => !sender.sent.has(number))).toEqual([])
    expect(sender.acknowledged.size).toBeGreaterThan(KILLS.receiver)
    expect(abandoned).toBeGreaterThanOrEqual(KILLS.receiver)
  })
})

describe.runIf(KILLS.drain > 0)('a drainer that is killed at random moments', () => {
  /** Returns the numbers of the events in a table: the sender uses the number as `createdAt`, which is read as seconds. */
  async function numbersIn(home: string, table: string): Promise<number[]> {
    const rows = await rowsIn<{ n: string }>(home, `SELECT epoch(_as_of)::BIGINT::VARCHAR AS n FROM ${table}`)
    return rows.map(({ n }) => Number(n))
  }

  it('applies every acknowledged event exactly once', LONG, async () => {
    const home = join(await temporaryFolder(), 'data')
    const { running: receiver, port } = await startReceiver(home)
    const sender = makeSender({ secret: SECRET, connections: 2, bytes: 2_000, pauseMs: 20 })
    const load = sender.run(port)
    const draw = new Draw(7, 0, 0)
    for (let left = KILLS.drain; left > 0; left--) {
      const drainer = webhookCommand(home, ['sync', '--watch', '1h', '--yes'])
      await sleep(300 + draw.unit() * 2_500)
      await drainer.kill()
    }
    await load.stop()
    await receiver.kill('SIGTERM')
    await webhookCommand(home, ['sync', '--yes']).ended
    const [all, messages] = [await numbersIn(home, 'webhook_events'), await numbersIn(home, 'messages_received')]
    const found = new Set(all)
    // Excludes event 0: a `createdAt` of 0 is not a time, so the table contains its receipt time instead.
    expect([...sender.acknowledged].filter(number => number > 0 && !found.has(number))).toEqual([])
    expect([all.length, messages.length]).toEqual([found.size, found.size])
    expect(sender.acknowledged.size).toBeGreaterThan(KILLS.drain)
  })
})
