// The agents of the sandbox, listed in every way that it can serve them.
import { describe, expect, it } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { READINGS } from '../../src/sandbox/readings.ts'
import { simulatedApp } from '../workflows/simulated-app.ts'

type Readings = NonNullable<SandboxOptions['readings']>

const AGENTS = 10

const each: Readings[] = READINGS.starred.values.flatMap(starred =>
  READINGS['agent-totals'].values.map(totals => ({ starred, 'agent-totals': totals, 'agent-page': '3' }) as Readings),
)

async function listed(sandbox: Partial<SandboxOptions>) {
  const simulated = await simulatedApp({ sandbox: { conversations: 10, agents: AGENTS, ...sandbox } })
  const report = await simulated.sync({ maxRequests: 0 })
  const rows = await simulated.rows('SELECT agent_id FROM agents WHERE _missing_since IS NULL')
  return { agents: rows.length, warnings: report.warnings ?? [] }
}

describe('the agents', () => {
  it.each(each)('are all there, and known to be, with %j', async readings => {
    expect(await listed({ readings })).toEqual({ agents: AGENTS, warnings: [] })
  })

  it.each(['ignored', 'refused'] as const)(
    'are all there where parameters are %s, with a word where nothing proves it',
    async params => {
      for (const totals of ['both', 'neither'] as const) {
        const { agents, warnings } = await listed({ readings: { 'agent-params': params, 'agent-totals': totals } })
        expect([agents, warnings.length]).toEqual([AGENTS, totals === 'both' ? 0 : 1])
      }
    },
  )

  it('are all 130 there of a vendor that serves the document to the letter', async () => {
    expect(await listed({ agents: 130, literal: true })).toMatchObject({ agents: 130 })
  })
})
