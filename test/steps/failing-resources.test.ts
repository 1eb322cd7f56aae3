import { expect, it } from 'vitest'
import { RESOURCE_NAMES } from '../../src/config/resources.ts'
import { DAY, HOUR } from '../../src/core/time.ts'
import type { ScriptRule } from '../../src/sandbox/faults/fault-settings.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

const KINDS = ['audit', 'crawler', 'metric', 'organization', 'tools', 'variables', 'voices'] as const

it('a resource that fails keeps no other from being requested, is given up after three failures, and is requested by the next sync', async () => {
  const simulated = await simulatedApp({
    sandbox: { conversations: 0, agents: 5 },
    settings: {
      resources: RESOURCE_NAMES,
      organizations: ['org_a', 'org_b', 'org_c', 'org_d'],
      crawlerPages: { job: ['1', '2', '3', '4'] },
    },
  })
  const { sandbox } = simulated
  const agent = sandbox.world.agentIds()[0]!
  simulated.config.workspaces[0]!.customMetrics = { [agent]: ['met_1', 'met_2', 'met_3', 'met_4'] }
  let seen = 0
  /** A day later, syncs while the sandbox follows the rules. @returns the number of addresses of each kind that were requested, and the warnings */
  const sync = async (script: ScriptRule[]) => {
    simulated.advance(DAY * 31 + HOUR)
    sandbox.faults.set({ script })
    const { outcome, warnings } = await simulated.sync({ maxRequests: 0 })
    expect(outcome).not.toBe('failed')
    const answer = await fetch(`${sandbox.url}/_sandbox/requests`)
    const { requests } = (await answer.json()) as { requests: ServedRequest[] }
    const made = requests.slice(seen)
    seen = requests.length
    const paths = (kind: string) => new Set(made.filter(one => one.kind === kind).map(({ path }) => path))
    const counts = KINDS.map(kind => [kind, paths(kind).size])
    return { counts: Object.fromEntries(counts) as Record<string, number>, warnings: (warnings ?? []).join('\n') }
  }
  const { counts: all, warnings: none } = await sync([])
  expect(none).not.toContain('other resources')
  expect(Object.values(all).every(count => count >= 1)).toBe(true)
  for (const kind of ['organization', 'tools', 'voices'] as const) {
    const { counts, warnings } = await sync([{ kind, fault: '500' }])
    expect({ ...counts, [kind]: all[kind] }, kind).toEqual(all)
    expect(counts[kind], kind).toBe(kind === 'voices' ? 1 : 3)
    expect(warnings, kind).toMatch(/some other resources .* API_UNAVAILABLE: GET .* 500/)
  }
  // One id fails, the others do not; then a resource has no answer at all; then no resource has.
  const one = await sync([{ kind: 'tools', fault: '500', agentId: agent }])
  expect(one.counts).toEqual(all)
  const silent = await sync([{ kind: 'tools', fault: 'dropped-before' }])
  expect(silent.counts).toEqual({ ...all, tools: 1 })
  const dead = await sync(KINDS.map(kind => ({ kind, fault: 'dropped-before' }) as const))
  expect(Object.values(dead.counts).reduce((sum, count) => sum + count, 0)).toBe(2)
  expect((await sync([])).counts).toEqual(all)
})
