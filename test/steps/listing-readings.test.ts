// Lists the sandbox's agents in every way in which the sandbox can serve the listing.
import { describe, expect, it, onTestFinished } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { READINGS } from '../../src/sandbox/readings.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { TOKEN, WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { listAgentsOf } from './listing-vendor.ts'

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

  it('are all listed, 130 of them, for a vendor that follows the document to the letter', async () => {
    await listed({ agents: 130, literal: true })
  })
})
