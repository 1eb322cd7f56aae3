// Lists the sandbox's agents in every way in which the sandbox can serve the listing.
import { describe, expect, it, onTestFinished } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { READINGS } from '../../src/sandbox/readings.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { TOKEN, WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'
import { listAgentsOf, listingVendor } from './listing-vendor.ts'

type Readings = NonNullable<SandboxOptions['readings']>

const AGENTS = 10

const each: Readings[] = READINGS.starred.values.flatMap(starred =>
  READINGS['agent-totals'].values.map(totals => ({ starred, 'agent-totals': totals, 'agent-page': '3' }) as Readings),
)

async function listed(options: Partial<SandboxOptions>) {
  const sandbox = await startSandbox({
    ...{ port: 0, token: TOKEN, workspaceId: WORKSPACE, conversations: 0, agents: AGENTS },
    ...options,
  })
  onTestFinished(() => sandbox.close())
  const { ids, cutOff } = await listAgentsOf(sandbox.url)
  expect(ids).toEqual([...sandbox.world.agentIds()].sort())
  return { isComplete: cutOff === null }
}

/** Passes the sandbox's listing on, without one field of each agent. */
async function listingWithout(field: string, sandbox: Sandbox): Promise<string> {
  const pages = new Map<string, object>()
  const query = (page: string | null) =>
    new URLSearchParams({ workspaceId: WORKSPACE, sortBy: 'firstCreated', limit: '100', page: page ?? '1' })
  for (let page = 1; page <= AGENTS; page++) {
    const answer = await fetch(`${sandbox.url}/v3/agents/search?${query(String(page))}`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    })
    pages.set(
      String(page),
      JSON.parse(await answer.text(), (key, value) => (key === field ? undefined : value)) as object,
    )
  }
  return (await listingVendor([], ({ params }) => pages.get(params.get('page') ?? '1')!, sandbox)).url
}

describe('the agents', () => {
  it.each(each)('are listed completely, and known to be, with %j', async readings => {
    expect(await listed({ readings })).toEqual({ isComplete: true })
  })

  it.each(['ignored', 'refused'] as const)(
    'are listed completely if parameters are %s, but known to be only with proof',
    async params => {
      for (const totals of ['both', 'neither'] as const) {
        const readings: Readings = { 'agent-params': params, 'agent-totals': totals }
        expect(await listed({ readings })).toEqual({ isComplete: totals === 'both' })
      }
    },
  )

  // With and without the agents' own field: then only the lists tell.
  it.each(READINGS.starred.values.flatMap(starred => [true, false].map(says => [starred, says] as const)))(
    'are starred exactly where the vendor lists them as starred (%s; their own field: %s)',
    async (starred, says) => {
      const simulated = await simulatedApp({
        sandbox: { conversations: 0, agents: AGENTS, readings: { starred, 'agent-page': '3' } as Readings },
        through: async sandbox => (says ? sandbox.url : listingWithout('starred', sandbox)),
      })
      await simulated.sync({ maxRequests: 0 })
      const expected = simulated.sandbox.world
        .agentIds()
        .map((agent_id, at) => ({ agent_id, is_starred: at % 3 === 0 }))
      const stored = () => simulated.rows('SELECT agent_id, is_starred FROM agents ORDER BY agent_id')
      expect(await stored()).toEqual(expected.sort((a, b) => (a.agent_id < b.agent_id ? -1 : 1)))
    },
  )

  it('are all listed, 130 of them, for a vendor that follows the document to the letter', async () => {
    await listed({ agents: 130, literal: true })
  })
})
