import { describe, expect, it } from 'vitest'
import { DAY, HOUR } from '../../src/core/time.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { CANARY } from '../../src/sandbox/world/agents/secret-bearing.ts'
import { TOKEN, WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

const headers = { authorization: `Bearer ${TOKEN}` }

describe('the variables of the agents', () => {
  it('are in a table, as served, without values of those that are secret; a created one follows, also after a replay', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 0, agents: 2 },
      settings: { resources: ['variables'] },
    })
    await simulated.sync()
    const { sandbox, rows } = simulated
    const url = (agentId: string) => `${sandbox.url}/v3/agents/${agentId}/variables`
    const served = await Promise.all(
      sandbox.world.agentIds().map(async agentId => {
        const { data } = (await (await fetch(url(agentId), { headers })).json()) as { data: Record<string, unknown>[] }
        return data.map(({ id, key, in: location, type, isEnv }) => [agentId, id, key, location, type, isEnv].join(' '))
      }),
    )
    const found = () =>
      rows<{ row: string }>(
        "SELECT concat_ws(' ', agent_id, variable_id, variable_key, location, type, is_env) AS row FROM variables",
      )
    expect((await found()).map(({ row }) => row).sort()).toEqual(served.flat().sort())
    const hour =
      "SELECT DISTINCT value::VARCHAR AS value, default_value::VARCHAR AS usual FROM variables WHERE variable_key = 'hour'"
    expect(await rows(hour)).toEqual([{ value: '14', usual: '9' }])
    const secret = "is_env OR variable_key IN ('db_password', 'Authorization', 'crm_api_key')"
    const kept = `SELECT count(*)::INTEGER AS all, count(nullif(value::VARCHAR, 'null'))::INTEGER AS kept FROM variables WHERE ${secret}`
    expect(await rows(kept)).toEqual([{ all: 12, kept: 0 }])
    const landing = openLanding(simulated.config.home).workspace(WORKSPACE)
    for (const { address } of await landing.list('variables'))
      expect((await landing.body(address)).toString()).not.toContain(CANARY)
    expect(JSON.stringify(await rows('FROM variables'))).not.toContain(CANARY)

    const [agentId] = sandbox.world.agentIds()
    const body = JSON.stringify({ variable: { key: 'shelf', value: 'A 7' } })
    await fetch(url(agentId!), { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body })
    const shelf = () => rows("SELECT agent_id, value::VARCHAR AS value FROM variables WHERE variable_key = 'shelf'")
    simulated.advance(DAY + HOUR)
    await simulated.sync()
    expect(await shelf()).toEqual([{ agent_id: agentId, value: '"A 7"' }])
    const before = await rows('SELECT * EXCLUDE (_loaded_at) FROM variables ORDER BY ALL')
    await simulated.replay()
    expect(await simulated.rows('SELECT * EXCLUDE (_loaded_at) FROM variables ORDER BY ALL')).toEqual(before)
  })
})
