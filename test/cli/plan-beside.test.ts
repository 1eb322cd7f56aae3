// `convohouse plan` while another process holds the warehouse.
import { describe, expect, it } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { type CliSettings, exportable, scene, start } from './cli-process.ts'
import { countConversations, inProcess } from './in-process.ts'

/** A `sync --watch` that has ended its first round and holds the warehouse until the test ends. */
async function watching(options: Partial<SandboxOptions>, settings: CliSettings = {}, ...flags: string[]) {
  const opened = await scene({ speed: 0, ...options }, settings)
  const sync = start(['sync', '--watch', '1h', '--yes', ...flags], { env: opened.env })
  await sync.said('next round at')
  const plan = (...args: string[]) => inProcess(['plan', ...args], { env: opened.env })
  const release = async () => {
    sync.process.kill('SIGINT')
    await sync.ended
  }
  return { ...opened, plan, release }
}

/** Without ages and numbers of requests, which depend on the moment. */
const still = (text: string): string => text.replace(/^Left: .*/m, '')

describe('plan beside `sync --watch`', () => {
  it('prints what it prints once the warehouse is free, with any flags, exports nothing, and the watch goes on', async () => {
    const { plan, release, sandbox, env } = await watching({ conversations: 1_200 }, {}, '--max-requests', '5')
    const [agent] = sandbox.world.agentIds()
    const exports = async () =>
      ((await (await fetch(`${sandbox.url}/_sandbox/requests?kind=export`)).json()) as { requests: unknown[] }).requests
        .length
    const before = await exports()
    const flags = [[], ['--agent', agent!, '--since', '30d'], ['--full'], ['--refresh', '7d']]
    const beside = []
    for (const each of flags) beside.push(await plan(...each))
    for (const { code, stderr } of beside) expect([code, stderr]).toEqual([0, ''])
    expect(beside[0]!.stdout).toContain('Plan for workspace ws_demo')
    expect(beside[0]!.stdout).toMatch(/resumes after \d+ page/)
    expect(await exports()).toBe(before)
    const { stdout } = await inProcess(['query', 'SELECT count(*) AS n FROM _runs', '--format', 'csv'], { env })
    expect(stdout.split('\r\n')[1]).toBe('1')
    await release()
    for (const [at, each] of flags.entries())
      expect(still(beside[at]!.stdout), each.join(' ')).toBe(still((await plan(...each)).stdout))
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
