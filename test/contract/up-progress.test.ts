// What `up` shows of the syncs that its schedules run.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { cli, start } from '../cli/cli-process.ts'
import { whileSlowed } from '../cli/slowed.ts'
import { describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { until } from '../until.ts'
import { elsewhere, scene, TOKEN } from './scene.ts'

describeWithTemporal('what up shows', ({ env }) => {
  /** A house of two workspaces: of the second one, the vendor gives nothing. */
  async function app() {
    const paying = await scene(elsewhere)
    const unpaid = await scene(elsewhere, { sandbox: { workspaceId: 'ws_unpaid', paid: false } })
    const workspaces = [paying, unpaid].map(({ sandbox }, at) => ({
      id: ['ws_demo', 'ws_unpaid'][at],
      apiUrl: sandbox.url,
      token: { env: 'WORKER_TOKEN' },
      pageSize: 10,
    }))
    const { home, temporal } = paying.config
    const path = join(home, 'convohouse.yaml')
    await writeFile(path, JSON.stringify({ home, threads: 1, temporal: { queues: temporal.queues }, workspaces }))
    const options = { env: { WORKER_TOKEN: TOKEN, ...env } }
    const running = start(['up', '--every', '1h', '--config', path], options)
    let shown = ''
    for (const stream of [running.process.stdout!, running.process.stderr!])
      stream.on('data', text => {
        shown += text
      })
    const says = (text: RegExp) => until(async () => text.test(shown))
    await whileSlowed(paying.sandbox, () => says(/^\S+Z ws_demo: reading \d+ windows? of/m))
    const run = (...args: string[]) => cli([...args, '--config', path], options)
    return { running, says, run }
  }

  it('is how the syncs of all its workspaces go, how they end, and when the next one comes', async () => {
    const { running, says, run } = await app()
    await says(/^\S+Z ws_demo: up to date, after/m)
    // Over before anybody could look on, it is told with its reason all the same.
    await says(/^\S+Z ws_unpaid: error API_FORBIDDEN/m)
    await says(/^\S+Z ws_unpaid: failed/m)
    for (const workspace of ['ws_demo', 'ws_unpaid']) await says(new RegExp(`^\\S+Z ${workspace}: next sync at `, 'm'))
    const { stdout: table } = await run('schedule', 'list')
    expect(table).toMatch(/^workspace +schedule +state +next \(UTC\) +last run \(UTC\) +outcome +took +ticks$/m)
    expect(table).toMatch(/^ws_demo +every 1h +active +2[-\d]+ [:\d]+ +2[-\d]+ [:\d]+ +done +\d+ s +1$/m)
    expect(table).toMatch(/^ws_unpaid .* failed \(API_FORBIDDEN\) /m)
    expect((await run('schedule', 'trigger')).code).toBe(0)
    await says(/^\S+Z ws_demo: up to date.*^\S+Z ws_demo: up to date/ms)
    await says(/^\S+Z ws_unpaid: failed.*^\S+Z ws_unpaid: failed/ms)
    running.process.kill('SIGINT')
    const { code, stdout, stderr } = await running.ended
    expect(code, stderr).toBe(0)
    // Each is told once.
    expect(stdout.match(/^\S+Z ws_demo: up to date/gm)).toHaveLength(2)
    expect(stdout.match(/^\S+Z ws_unpaid: failed/gm)).toHaveLength(2)
    expect(stderr.match(/^\S+Z ws_unpaid: error API_FORBIDDEN/gm)).toHaveLength(2)
    expect(stderr).not.toContain('Warning')
  })
})
