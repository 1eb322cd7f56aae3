// `convohouse plan` while another process holds the warehouse.
import { expect, it } from 'vitest'
import { requestsTo } from '../scene.ts'
import { exportable, scene, start } from './cli-process.ts'
import { countConversations, inProcess, rowsOf } from './in-process.ts'

it('plans beside a running sync, with any flags, do not affect it: every page is loaded once, and nothing else is billed or recorded', async () => {
  const { env, sandbox } = await scene({ conversations: 200, speed: 0, latencyMs: 250 }, { pageSize: 10 })
  const sync = start(['sync'], { env })
  await sync.said('reading')
  let isRunning = true
  const ended = sync.ended.finally(() => {
    isRunning = false
  })
  const flags = [[], ['--agent', sandbox.world.agentIds()[0]!, '--since', '30d'], ['--full'], ['--refresh', '7d']]
  let plans = 0
  for (; isRunning && plans < flags.length; plans++) {
    const { code, stdout, stderr } = await inProcess(['plan', ...flags[plans]!], { env })
    expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/^Plan for workspace ws_demo\n/), ''])
  }
  expect(plans).toBeGreaterThan(1)
  expect((await ended).stdout).toContain('ws_demo: up to date')
  expect((await inProcess(['check'], { env })).code).toBe(0)
  expect(await countConversations(env)).toBe(exportable(sandbox))
  const { billableUsedThisPeriod } = await requestsTo(sandbox).usage()
  expect(await rowsOf('SELECT sum(sessions)::INTEGER AS billed, count(*)::INTEGER AS runs FROM _runs', env)).toEqual([
    { billed: billableUsedThisPeriod, runs: 1 },
  ])
})
