// `convohouse plan` while another process holds the warehouse.
import { describe, expect, it } from 'vitest'
import { exportable, scene, start } from './cli-process.ts'
import { countConversations, inProcess } from './in-process.ts'

describe('plan beside `sync --watch`', () => {
  it('answers with any flags, exports nothing, and leaves no run', async () => {
    const { env, sandbox } = await scene({ speed: 0, conversations: 1_200 })
    const watch = start(['sync', '--watch', '1h', '--yes', '--max-requests', '5'], { env })
    await watch.said('next round at')
    const exports = async () =>
      ((await (await fetch(`${sandbox.url}/_sandbox/requests?kind=export`)).json()) as { requests: unknown[] }).requests
        .length
    const before = await exports()
    const flags = [[], ['--agent', sandbox.world.agentIds()[0]!, '--since', '30d'], ['--full'], ['--refresh', '7d']]
    const plans = []
    for (const each of flags) plans.push(await inProcess(['plan', ...each], { env }))
    for (const { code, stderr } of plans) expect([code, stderr]).toEqual([0, ''])
    expect(plans[0]!.stdout).toMatch(/^Plan for workspace ws_demo\n[\s\S]*resumes after \d+ page/)
    expect(await exports()).toBe(before)
    const { stdout } = await inProcess(['query', 'SELECT count(*) AS n FROM _runs', '--format', 'csv'], { env })
    expect(stdout.split('\r\n')[1]).toBe('1')
  })
})

describe('plans beside a running sync', () => {
  it('change nothing of it: every page is loaded once', async () => {
    const { env, sandbox } = await scene({ conversations: 2_000, speed: 0 })
    const sync = start(['sync'], { env })
    await sync.said('reading')
    let isRunning = true
    const ended = sync.ended.finally(() => {
      isRunning = false
    })
    let plans = 0
    for (; isRunning; plans++) {
      const { code, stderr } = await inProcess(['plan', '--refresh', '7d'], { env })
      expect([code, stderr]).toEqual([0, ''])
    }
    expect(plans).toBeGreaterThan(1)
    expect((await ended).stdout).toContain('ws_demo: up to date')
    expect((await inProcess(['check'], { env })).code).toBe(0)
    expect(await countConversations(env)).toBe(exportable(sandbox))
  })
})
