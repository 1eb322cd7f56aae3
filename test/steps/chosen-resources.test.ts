import { describe, expect, it } from 'vitest'
import { RESOURCE_NAMES } from '../../src/config/resources.ts'
import { DAY, HOUR } from '../../src/core/time.ts'
import { PLAIN_SYNC, planOnly } from '../../src/run/embedded.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

describe('the resources that a sync requests', () => {
  it('are those of the request, else the configured ones; a plan counts them, and nothing that is not due is requested', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 0, agents: 2 },
      settings: { resources: ['tools', 'voices'], organizations: ['org_alpha'] },
    })
    const { sandbox, config, app, clock } = simulated
    let seen = 0
    /** Kinds of the requests since the last call, other than listings of agents. */
    const requested = async () => {
      const answer = await fetch(`${sandbox.url}/_sandbox/requests`)
      const { requests } = (await answer.json()) as { requests: ServedRequest[] }
      const kinds = requests.slice(seen).map(({ kind }) => kind as string)
      seen = requests.length
      return kinds.filter(kind => !['search', 'agents', 'export'].includes(kind)).sort()
    }
    const { signal } = new AbortController()
    const planned = async (resources?: readonly string[]) => {
      const request = { ...PLAIN_SYNC, ...(resources && { resources }) }
      const options = { config, workspace: config.workspaces[0]!, app, request, signal, clock: clock.within }
      return (await planOnly(options)).resourceRequests
    }
    expect([await planned(), await planned([]), await planned(['tools'])]).toEqual([3, 0, 2])
    await simulated.sync({ resources: [] })
    expect(await requested()).toEqual([])
    expect(await simulated.rows('SELECT agents::INTEGER AS agents, regions FROM workspaces')).toEqual([
      { agents: 2, regions: 'eu, na' },
    ])
    await simulated.sync()
    expect(await requested()).toEqual(['tools', 'tools', 'voices', 'voices'])
    // Teams of a known organization do not depend on its own record.
    await simulated.sync({ resources: ['teams'] })
    expect(await requested()).toEqual(['teams'])
    await simulated.sync({ resources: ['tools', 'variables', 'organizations'] })
    expect(await requested()).toEqual(['organization', 'variables', 'variables'])
    await simulated.sync({ resources: RESOURCE_NAMES })
    await requested()
    await simulated.sync({ resources: RESOURCE_NAMES })
    expect(await requested()).toEqual([])
    expect(await planned(RESOURCE_NAMES)).toBe(0)
    simulated.advance(DAY + HOUR)
    expect(await planned()).toBe(3)
  })
})
