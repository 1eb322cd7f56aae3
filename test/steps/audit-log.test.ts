import { describe, expect, it } from 'vitest'
import { DAY, HOUR } from '../../src/core/time.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { CANARY } from '../../src/sandbox/world/agents/secret-bearing.ts'
import { TOKEN, WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

const headers = { authorization: `Bearer ${TOKEN}` }

interface Served {
  ts: number
  field: string
  source: string
  actor: string
}

/** All entries of an agent, as `field source actor second`, sorted: the pages of the sandbox with a cursor that skips nothing. */
async function entriesServed({ url }: Sandbox, agentId: string): Promise<string[]> {
  const entries = new Map<number, Served[]>()
  for (let cursor: number | null = null; ; ) {
    const query = new URLSearchParams({ limit: '200', ...(cursor !== null && { cursorTs: String(cursor) }) })
    const answer = await fetch(`${url}/v3/agents/${agentId}/audit-log?${query}`, { headers })
    const page = ((await answer.json()) as { entries: Served[] }).entries
    const before = entries.size
    // Each page begins with a whole second, and may end within one.
    for (const ts of new Set(page.map(entry => entry.ts))) {
      const own = page.filter(entry => entry.ts === ts)
      if (own.length > (entries.get(ts)?.length ?? 0)) entries.set(ts, own)
    }
    if (page.length === 0 || entries.size === before) break
    cursor = page.at(-1)!.ts + 1
  }
  return [...entries.values()].flat().map(rowOf).sort()
}

const rowOf = ({ field, source, actor, ts }: Served): string => [field, source, actor, ts].join(' ')

const STORED = `SELECT concat_ws(' ', field_path, source, actor, epoch(changed_at)::BIGINT) AS row FROM audit_log WHERE agent_id = `

const READINGS = [
  { 'audit-cursor': 'inclusive', 'last-audit-cursor': 'null' },
  { 'audit-cursor': 'exclusive', 'last-audit-cursor': 'absent' },
  { 'audit-cursor': 'exclusive', 'last-audit-cursor': 'present' },
] as const

describe('the audit logs of the agents', () => {
  it.each(READINGS)(
    'have a row for each entry, identical ones included, however the vendor pages: %o',
    async readings => {
      const simulated = await simulatedApp({
        sandbox: { conversations: 0, agents: 2, readings },
        settings: { resources: ['audit_log'] },
      })
      await simulated.sync()
      for (const agentId of simulated.sandbox.world.agentIds()) {
        const stored = (await simulated.rows<{ row: string }>(`${STORED}'${agentId}'`)).map(({ row }) => row).sort()
        expect(stored).toEqual(await entriesServed(simulated.sandbox, agentId))
        expect(stored.length).toBeGreaterThan(200)
        expect(new Set(stored).size).toBeLessThan(stored.length)
      }
    },
  )

  it('keep no value of a secret, and are read from the newest entry to the newest one that is stored, also after a replay', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 0, agents: 1 },
      settings: { resources: ['audit_log'] },
    })
    const { sandbox, config } = simulated
    const [agentId] = sandbox.world.agentIds()
    const requests = async () => {
      const answer = await fetch(`${sandbox.url}/_sandbox/requests?kind=audit`)
      return ((await answer.json()) as { requests: ServedRequest[] }).requests.length
    }
    await simulated.sync()
    const first = await requests()
    expect(first).toBeGreaterThan(1)
    await simulated.sync()
    expect(await requests()).toBe(first)

    const write = (path: string, body: object) =>
      fetch(`${sandbox.url}/v3/agents/${agentId}/${path}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    await write('variables', { variable: { key: 'shelf', value: `${CANARY}shelf` } })
    const tool = {
      name: 'find',
      description: 'Finds',
      fields: [{ key: 'shelf', in: 'query', value: `${CANARY}field` }],
    }
    await write('tools', { tool: { ...tool, serverUrlSecret: `${CANARY}tool` } })
    simulated.advance(DAY + HOUR)
    const counts = () => simulated.rows<{ n: number }>(`SELECT count(*)::INTEGER AS n FROM audit_log`)
    const [before] = await counts()
    await simulated.sync()
    expect(await requests()).toBe(first + 1)
    expect((await counts())[0]!.n).toBeGreaterThan(before!.n)
    expect((await simulated.rows<{ row: string }>(`${STORED}'${agentId}'`)).map(({ row }) => row).sort()).toEqual(
      await entriesServed(sandbox, agentId!),
    )

    const landing = openLanding(config.home).workspace(WORKSPACE)
    for (const { address } of await landing.list('audit_log'))
      expect((await landing.body(address)).toString()).not.toContain(CANARY)
    const of = "field_path LIKE 'variables[%' OR field_path LIKE '%.fields%' OR field_path LIKE '%headers%'"
    const values = `SELECT count(*)::INTEGER AS n, count(coalesce(old_value, new_value))::INTEGER AS kept FROM audit_log WHERE ${of}`
    const [secret] = await simulated.rows<{ n: number; kept: number }>(values)
    expect([secret!.n > 10, secret!.kept]).toEqual([true, 0])
    const all = () => simulated.rows('SELECT * EXCLUDE (_loaded_at) FROM audit_log ORDER BY ALL')
    const rows = await all()
    expect(JSON.stringify(rows)).not.toContain(CANARY)
    const asked = await requests()
    await simulated.replay()
    expect(await all()).toEqual(rows)
    await simulated.sync()
    expect(await requests()).toBe(asked)
  })
})
