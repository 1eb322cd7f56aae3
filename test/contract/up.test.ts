// `up` as users run it, with its own and an existing server. `test/faults/kills/warehouse-crash.test.ts` runs it without one.
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { erasures } from '../../src/landing/tombstones.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { CONCURRENT_WINDOWS } from '../../workflows/window-loop.ts'
import { cli, type Running, start } from '../cli/cli-process.ts'
import { whileSlowed } from '../cli/delayed-vendor.ts'
import { inProcess } from '../cli/in-process.ts'
import { expectWithout, firstLoaded, forget } from '../faults/forget-conversation.ts'
import { describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { isDeep } from '../tier.ts'
import { until } from '../until.ts'
import { expectTruth, repeatedRequests } from './expectations.ts'
import { scene, TOKEN } from './scene.ts'
import { writeConfig } from './workers/worker-process.ts'

/** Returns the process ids of the servers that keep that file open. */
async function serversOf(file: string): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,args='])
  const lines = stdout.split('\n').filter(line => line.includes(file) && line.includes('start-dev'))
  return lines.map(line => Number.parseInt(line, 10))
}

/** Duration of a lease: longer than any test waits, so that no lease reaches its deadline. */
const LEASE = '10m'

/** Returns a workspace for `up` whose Temporal server keeps its data in a file; `servers` lists the server processes on that file. */
async function app(env: Record<string, string>, sandbox: Partial<SandboxOptions> = {}) {
  const there = await scene({ sandbox, settings: { maxPage: 10 } })
  const path = await writeConfig(there.config, LEASE)
  const options = { env: { WORKER_TOKEN: TOKEN, ...env } }
  const file = join(there.config.home, 'temporal.db')
  return {
    ...there,
    begin: (...flags: string[]) => start(['up', '--every', '1h', '--config', path, ...flags], options),
    run: (args: string[], more: Record<string, string>) =>
      inProcess([...args, '--config', path], { env: { ...options.env, ...more } }),
    servers: () => serversOf(file),
  }
}

async function ended(running: Running): Promise<string> {
  running.process.kill('SIGINT')
  const { code, stdout, stderr } = await running.ended
  expect(code, stderr).toBe(0)
  return stdout
}

const addressIn = (stdout: string, name: string): string =>
  new RegExp(`^${name} +(\\S+?),?(\\s|$)`, 'm').exec(stdout)![1]!

describeWithTemporal('up', ({ command, place, env }) => {
  const findable = { PATH: [dirname(command), process.env.PATH].join(delimiter) }

  it('runs server, worker and schedule, continues from the same file after a kill, which repeats at most the requests in flight, and ends with its server', async () => {
    const there = await app(findable, { conversations: 120, latencyMs: 500 })
    const first = there.begin()
    let stdout = ''
    first.process.stdout!.on('data', text => {
      stdout += text
    })
    await first.said('Up.')
    const [ui, metrics] = [addressIn(stdout, 'UI'), addressIn(stdout, 'metrics')]
    await whileSlowed(there.sandbox, async () => {
      expect((await fetch(ui)).status).toBe(200)
      expect(await (await fetch(metrics)).text()).toContain('temporal_')
      const at = { TEMPORAL_ADDRESS: addressIn(stdout, 'Temporal') }
      expect((await there.run(['schedule', 'list'], at)).stdout).toMatch(/^ws_demo +every 1h +active +2\d{3}-/m)
      expect((await there.run(['schedule', 'ensure'], at)).stdout).toContain('kept as created by `convohouse up`')
    })
    await until(async () => (await there.exported()).length >= 4, { everyMs: 200 })
    expect(stdout).toContain('syncs every 1h, starting now (schedule created)')
    first.process.kill('SIGKILL')
    await first.ended
    await until(async () => (await there.servers()).length === 0, { everyMs: 300 })
    expect((await there.exported()).length).toBeLessThan(12)
    const second = there.begin()
    await second.said('ws_demo: next sync at')
    for (const pid of await there.servers()) process.kill(pid, 'SIGKILL')
    const stopped = await second.ended
    expect([stopped.code, stopped.stderr]).toEqual([5, expect.stringContaining('has ended')])
    expect(stopped.stdout).toContain('(schedule unchanged)')
    expect(await there.servers()).toEqual([])
    await expectTruth(there)
    expect(await repeatedRequests(there)).toBeLessThanOrEqual(CONCURRENT_WINDOWS)
  })

  /** Returns an app with two workspaces: one has webhooks; the vendor refuses the other, which is unpaid. */
  async function appOfTwo() {
    const paying = await scene()
    const unpaid = await scene({ sandbox: { workspaceId: 'ws_unpaid', paid: false } })
    const workspaces = [paying, unpaid].map(({ sandbox }, at) => ({
      id: ['ws_demo', 'ws_unpaid'][at],
      apiUrl: sandbox.url,
      token: { env: 'WORKER_TOKEN' },
      pageSize: 10,
      resources: 'none',
      ...(at === 0 && { webhooks: { secrets: [{ env: 'HOOK_SECRET' }] } }),
    }))
    const { home, temporal } = paying.config
    const path = join(home, 'convohouse.yaml')
    const settings = { home, threads: 1, webhooks: { port: 0 }, temporal: { queues: temporal.queues } }
    await writeFile(path, JSON.stringify({ ...settings, workspaces }))
    const options = { env: { WORKER_TOKEN: TOKEN, HOOK_SECRET: 'contract-secret', ...env } }
    const at = (...args: string[]) => [...args, '--config', path]
    return {
      ...paying,
      begin: () => start(at('up', '--every', '1h'), options),
      run: (...args: string[]) => inProcess(at(...args), options),
      beside: () => cli(at('up', '--every', '1h'), options),
    }
  }

  it.runIf(isDeep)('uses a running server, shows syncs and events of all workspaces, refuses a second', async () => {
    const { sandbox, begin, run, beside } = await appOfTwo()
    const first = begin()
    let shown = ''
    for (const stream of [first.process.stdout!, first.process.stderr!])
      stream.on('data', text => {
        shown += text
      })
    const says = (text: RegExp) => until(async () => text.test(shown))
    await whileSlowed(sandbox, () => says(/^\S+Z ws_demo: reading \d+ windows? of/m))
    expect(shown).toMatch(/^\S+Z ws_demo: reading history\. Total: .*Z ws_demo: reading \d+ windows? of/ms)
    const planned = await run('plan', '--workspace', 'ws_demo')
    expect([planned.code, planned.stdout], planned.stderr).toEqual([0, expect.stringContaining('Plan for workspace')])
    await says(/^\S+Z ws_demo: up to date, after/m)
    // The sync of the unpaid workspace ends before a client can follow it, but is shown with the reason.
    await says(/^\S+Z ws_unpaid: error API_FORBIDDEN/m)
    await says(/^\S+Z ws_unpaid: failed/m)
    for (const workspace of ['ws_demo', 'ws_unpaid']) await says(new RegExp(`^\\S+Z ${workspace}: next sync at `, 'm'))
    expect(addressIn(shown.replaceAll(/^\S+Z /gm, ''), 'Temporal')).toBe(place.address)
    const { stdout: table } = await run('schedule', 'list')
    expect(table).toMatch(/^workspace +schedule +state +next \(UTC\) +last run \(UTC\) +outcome +took +ticks$/m)
    expect(table).toMatch(/^ws_demo +every 1h +active +2[-\d]+ [:\d]+ +2[-\d]+ [:\d]+ +done +(\d+ min )?\d+ s +1$/m)
    expect(table).toMatch(/^ws_unpaid .* failed \(API_FORBIDDEN\) /m)
    const other = await beside()
    expect([other.code, other.stderr]).toEqual([6, expect.stringContaining('WAREHOUSE_LOCKED')])

    expect((await run('schedule', 'trigger')).code).toBe(0)
    const [, url] = /at (http:\S+\/webhooks)/.exec(shown)!
    const event = { event: 'webhook_test', createdAt: Date.now(), message: 'hello', workspaceSecret: 'contract-secret' }
    expect((await fetch(url!, { method: 'POST', body: JSON.stringify(event) })).status).toBe(200)
    await says(/^\S+Z ws_demo: up to date.*^\S+Z ws_demo: up to date/ms)
    await says(/^\S+Z ws_unpaid: failed.*^\S+Z ws_unpaid: failed/ms)
    const events = async () => (await run('query', 'SELECT type FROM webhook_events', '--format', 'json')).stdout
    await until(async () => (await events()).includes('webhook_test'), { everyMs: 1_500 })
    first.process.kill('SIGINT')
    const { code, stdout, stderr } = await first.ended
    expect(code, stderr).toBe(0)
    // Each sync is shown once.
    expect(stdout.match(/^\S+Z ws_demo: up to date/gm)).toHaveLength(2)
    expect(stdout.match(/^\S+Z ws_unpaid: failed/gm)).toHaveLength(2)
    expect(stderr.match(/^\S+Z ws_unpaid: error API_FORBIDDEN/gm)).toHaveLength(2)
    expect(stderr).not.toContain('Warning')
    expect(stderr).toMatch(/^\S+Z ws_demo: 1 event received, \d waiting, \d applied$/m)
  })

  it.runIf(isDeep)(
    'ends with the access error and with its server if the vendor refuses it from the start',
    async () => {
      const there = await app(findable, { paid: false })
      const refused = await there.begin().ended
      expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('error API_FORBIDDEN')])
      expect(await there.servers()).toEqual([])
    },
  )

  it.runIf(isDeep)(
    'restarts to erase whom `forget` names; the workflow goes on, and requests nothing twice',
    async () => {
      const there = await app(findable, { conversations: 120, latencyMs: 500 })
      const running = there.begin()
      const { home } = there.config
      const gone = await firstLoaded(home)
      const forgot = await there.run(forget(gone), {})
      expect([forgot.code, JSON.parse(forgot.stdout)], forgot.stderr).toMatchObject([0, { erased: false }])
      await until(async () => (await erasures(home))[0]?.erasedMs)
      await running.said('ws_demo: next sync at')
      await ended(running)
      await expectWithout({ home, sandbox: there.sandbox }, [gone])
      expect(await repeatedRequests(there)).toBe(0)
    },
  )

  it.runIf(isDeep)('leaves a paused schedule alone', async () => {
    const { begin, run } = await appOfTwo()
    const first = begin()
    await first.said('Up.')
    await ended(first)
    expect((await run('schedule', 'pause')).code).toBe(0)
    const second = begin()
    await second.said('Up.')
    expect(await ended(second)).toContain('is paused; `convohouse schedule resume` resumes it')
  })
})
