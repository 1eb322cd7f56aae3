// `up`, as its users run it: with a server of its own, with one that is there, and where none can be had.
import { execFile } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { CONCURRENT_WINDOWS } from '../../workflows/window-loop.ts'
import { cli, type Running, start } from '../cli/cli-process.ts'
import { withoutTemporal } from '../faults/without-temporal.ts'
import { describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { until } from '../until.ts'
import { expectedTables } from '../workflows/expected-rows.ts'
import { truthOf } from '../workflows/truth.ts'
import { asLines, warehouseTables } from '../workflows/warehouse-tables.ts'
import { elsewhere, type Scene, scene, TOKEN } from './scene.ts'
import { writeConfig } from './worker-process.ts'

/** Servers that keep that file, by their process ids. */
async function serversOf(file: string): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,args='])
  const lines = stdout.split('\n').filter(line => line.includes(file) && line.includes('start-dev'))
  return lines.map(line => Number.parseInt(line, 10))
}

async function app(env: Record<string, string>, sandbox: Partial<SandboxOptions> = {}, lease = '3s') {
  const there = await scene(elsewhere, { sandbox, settings: { maxPage: 10 } })
  const path = await writeConfig(there.config, lease)
  const options = { env: { WORKER_TOKEN: TOKEN, ...env } }
  const file = join(there.config.home, 'temporal.db')
  return {
    ...there,
    begin: (...flags: string[]) => start(['up', '--every', '1h', '--config', path, ...flags], options),
    run: (args: string[], more: Record<string, string> = {}) =>
      cli([...args, '--config', path], { env: { ...options.env, ...more } }),
    servers: () => serversOf(file),
  }
}

type House = Awaited<ReturnType<typeof app>>

const conversations = async ({ run }: House): Promise<number> => {
  const { code, stdout } = await run(['query', 'SELECT count(*) AS n FROM conversations', '--format', 'json'])
  return code === 0 ? Number(JSON.parse(stdout)[0].n) : 0
}

const truth = ({ sandbox }: Scene) => truthOf(sandbox, { throughMs: sandbox.clock.now() })

/** Until `running` has asked the vendor for all, and has loaded it. */
const untilWhole = (there: House, running: Running): Promise<void> => Promise.race([isWhole(there), endsEarly(running)])

/** A look into the warehouse is a process. */
async function isWhole(there: House): Promise<void> {
  const all = truth(there).length
  await until(async () => (await there.bought()).reduce((sum, { returned }) => sum + returned, 0) >= all)
  await until(async () => (await conversations(there)) === all, { everyMs: 1_000 })
}

/** Rejects where it ends by itself: who waits for what it does would wait for ever. */
async function endsEarly(running: Running): Promise<never> {
  const { code, stderr } = await running.ended
  throw new Error(`up ended with ${code}: ${stderr}`)
}

async function ended(running: Running): Promise<string> {
  running.process.kill('SIGINT')
  const { code, stdout, stderr } = await running.ended
  expect(code, stderr).toBe(0)
  return stdout
}

/** The tables, when nobody holds them any more; and no more was paid for twice than that. */
async function expectWhole(there: House, twice = 0): Promise<void> {
  const { home, memoryLimit, threads } = there.config
  const warehouse = await openWarehouse({ home, memoryLimit, threads })
  try {
    expect(asLines(await warehouseTables(warehouse.writer.rows))).toEqual(asLines(expectedTables(truth(there))))
  } finally {
    await warehouse.close()
  }
  const asked = (await there.bought()).map(({ agentId, query }) => JSON.stringify([agentId, query]))
  expect(asked.length - new Set(asked).size).toBeLessThanOrEqual(twice)
}

/** As lines of a log are: ISO-8601 in UTC, and what is told. */
const STAMPED = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ./

const addressIn = (stdout: string, name: string): string =>
  new RegExp(`^${name} +(\\S+?),?(\\s|$)`, 'm').exec(stdout)![1]!

describeWithTemporal('up', ({ command, place, env }) => {
  const findable = { PATH: [dirname(command), process.env.PATH].join(delimiter) }

  it('runs server, worker and schedule, ends all of them at Ctrl-C, and goes on from the same file', async () => {
    const there = await app(findable, { conversations: 300, latencyMs: 200 })
    const first = there.begin()
    let stdout = ''
    first.process.stdout!.on('data', text => {
      stdout += text
    })
    await first.said('Up.')
    const [ui, metrics] = [addressIn(stdout, 'UI'), addressIn(stdout, 'metrics')]
    expect((await fetch(ui)).status).toBe(200)
    expect(await (await fetch(metrics)).text()).toContain('temporal_')
    const at = { TEMPORAL_ADDRESS: addressIn(stdout, 'Temporal') }
    expect((await there.run(['schedule', 'list'], at)).stdout).toMatch(/^ws_demo +every 1h +active +2\d{3}-/m)
    expect((await there.run(['schedule', 'ensure'], at)).stdout).toContain('kept as created by `convohouse up`')
    await until(async () => (await there.bought()).length >= 8)
    expect(await ended(first)).toContain('every 1h, and now (schedule created)')
    expect(await there.servers()).toEqual([])
    await expect(fetch(ui)).rejects.toThrow()
    await expect(fetch(metrics)).rejects.toThrow()
    expect((await there.bought()).length).toBeLessThan(truth(there).length / 10)

    const again = there.begin()
    await untilWhole(there, again)
    expect(await ended(again)).toContain('(schedule unchanged)')
    expect(await there.servers()).toEqual([])
    await expectWhole(there)
  })

  // Whoever waited for the deadline of a lease here would be too late.
  const LONG_LEASE = '10m'

  it('says so where its server is gone, ends, and goes on when it is begun again, behind a Ctrl-C too, paying for nothing twice', async () => {
    const there = await app(findable, { conversations: 200, latencyMs: 150 }, LONG_LEASE)
    const first = there.begin()
    await until(async () => (await there.bought()).length >= 4)
    await ended(first)
    const before = (await there.bought()).length
    const second = there.begin()
    await until(async () => (await there.bought()).length >= before + 4)
    for (const pid of await there.servers()) process.kill(pid, 'SIGKILL')
    const { code, stderr } = await second.ended
    expect([code, stderr]).toEqual([5, expect.stringContaining('has ended')])
    expect((await there.bought()).length).toBeLessThan(truth(there).length / 10)
    const third = there.begin()
    await untilWhole(there, third)
    await ended(third)
    expect(await there.servers()).toEqual([])
    await expectWhole(there)
  })

  it('that is killed goes on as soon as it is begun again, and pays at most for the requests under way twice', async () => {
    const there = await app(findable, { latencyMs: 300 }, LONG_LEASE)
    const first = there.begin()
    await until(async () => (await there.bought()).length >= 4)
    first.process.kill('SIGKILL')
    await first.ended
    const again = there.begin()
    await untilWhole(there, again)
    await ended(again)
    await expectWhole(there, CONCURRENT_WINDOWS)
  })

  it('takes the server that is configured and leaves it running, is alone at its data folder, and leaves a schedule alone that somebody has paused', async () => {
    const there = await app(env)
    const first = there.begin()
    await untilWhole(there, first)
    const beside = await there.run(['up'])
    expect([beside.code, beside.stderr]).toEqual([6, expect.stringContaining('WAREHOUSE_LOCKED')])
    expect(addressIn(await ended(first), 'Temporal')).toBe(place.address)
    expect((await there.run(['schedule', 'list'])).stdout).toMatch(/^ws_demo +every 1h +active .* 1$/m)
    await expectWhole(there)
    expect((await there.run(['schedule', 'pause'])).code).toBe(0)
    const second = there.begin()
    await second.said('Up.')
    expect(await ended(second)).toContain('paused: `convohouse schedule resume`')
  })
})

describe('up where no Temporal can be had', () => {
  it('says so in one line, and syncs again and again without it', async () => {
    const there = await app(await withoutTemporal())
    const running = there.begin('--every', '10s')
    await running.said('next round at')
    const rounds = (await there.served()).length
    await until(async () => (await there.served()).length > rounds)
    running.process.kill('SIGINT')
    const { code, stdout, stderr } = await running.ended
    expect(code, stderr).toBe(0)
    expect(stderr.match(/^.*without Temporal.*$/gm)).toHaveLength(1)
    const told = `${stdout}${stderr}`.split('\n').filter(line => /ws_demo|Metrics|Syncing/.test(line))
    expect(told.length).toBeGreaterThan(3)
    expect(told.filter(line => !STAMPED.test(line))).toEqual([])
    expect(stderr).not.toContain('Building')
    await expectWhole(there)
  })
})
