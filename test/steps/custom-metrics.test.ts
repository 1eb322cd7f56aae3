import { describe, expect, it } from 'vitest'
import { DAY, HOUR } from '../../src/core/time.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { type SimulatedApp, TOKEN } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

interface ListedMetric {
  agentId: string
  id: string
}

/** Requests for metrics as `agent metric status`, in order. */
async function requested({ sandbox }: SimulatedApp): Promise<string[]> {
  const answer = await fetch(`${sandbox.url}/_sandbox/requests?kind=metric`)
  const { requests } = (await answer.json()) as { requests: (ServedRequest & { path: string })[] }
  return requests.map(
    ({ path, status }) => `${/agents\/([^/]+)\/custom-metrics\/(.*)$/.exec(path)!.slice(1).join(' ')} ${status}`,
  )
}

describe('custom metrics', () => {
  it('are requested by the ids of conversations and of the configuration; an unknown id is asked again after a month', async () => {
    const configured: Record<string, string[]> = {}
    const simulated = await simulatedApp({
      sandbox: { conversations: 24, agents: 2 },
      settings: { resources: ['custom_metrics'], customMetrics: configured },
    })
    const { sandbox } = simulated
    const { metrics } = (await (await fetch(`${sandbox.url}/_sandbox/resources`)).json()) as { metrics: ListedMetric[] }
    const [agentId] = sandbox.world.agentIds() as [string]
    const own = metrics.filter(metric => metric.agentId === agentId).map(({ id }) => id)
    const last = own.at(-1)!
    configured[agentId] = [last, 'met_nobody', 'a/b']
    await simulated.sync()
    const named = await simulated.rows<{ row: string }>(
      "SELECT DISTINCT agent_id || ' ' || metric_id AS row FROM conversation_metrics WHERE metric_id IS NOT NULL",
    )
    expect(named.length).toBeGreaterThan(4)
    const ids = [...new Set([...named.map(({ row }) => row), `${agentId} ${last}`])]
    const first = await requested(simulated)
    expect([...first].sort()).toEqual(
      [...ids.map(id => `${id} 200`), `${agentId} a%2Fb 404`, `${agentId} met_nobody 404`].sort(),
    )

    const stored = await simulated.rows<{ row: string; options: string | null }>(
      `SELECT m.agent_id || ' ' || metric_id || ' ' || metric_key || ' ' || type || ' ' || is_system AS row,
         (SELECT string_agg(option_value, ',' ORDER BY position) FROM custom_metric_options o WHERE o._record = m._record) AS options
       FROM custom_metrics m ORDER BY row`,
    )
    const served = await Promise.all(
      ids.map(async id => {
        const [agent, metric] = id.split(' ')
        const url = `${sandbox.url}/v3/agents/${agent}/custom-metrics/${metric}`
        const answer = await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } })
        const { metric: m } = (await answer.json()) as { metric: Record<string, unknown> & { options?: string[] } }
        return { row: [id, m.key, m.type, m.isSystem].join(' '), options: m.options?.join(',') ?? null }
      }),
    )
    expect(stored).toEqual(served.sort((a, b) => (a.row < b.row ? -1 : 1)))
    expect(stored.some(({ row }) => row.endsWith('true')) && stored.some(({ options }) => options !== null)).toBe(true)

    const since = async () => {
      const before = (await requested(simulated)).length
      await simulated.sync()
      return (await requested(simulated)).slice(before)
    }
    expect(await since()).toEqual([])
    simulated.advance(DAY + HOUR)
    const daily = await since()
    expect(daily.some(request => request.includes('404'))).toBe(false)
    expect(daily.length).toBeGreaterThanOrEqual(ids.length)
    simulated.advance(30 * DAY)
    expect((await since()).filter(request => request.includes('404')).sort()).toEqual([
      `${agentId} a%2Fb 404`,
      `${agentId} met_nobody 404`,
    ])
    const all = () =>
      simulated.rows("SELECT COLUMNS(c -> c NOT IN ('_record', '_loaded_at')) FROM custom_metrics ORDER BY ALL")
    const rows = await all()
    await simulated.replay()
    expect(await all()).toEqual(rows)
  })
})
