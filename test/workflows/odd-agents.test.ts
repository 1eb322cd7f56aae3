// Agents with ids that cannot be requested, or with odd records: the other agents are exported regardless.

import { expect, it } from 'vitest'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { inProcess } from '../cli/in-process.ts'
import { receiveEvents } from '../spool/arbitrary-events.ts'
import { RESOURCES } from '../tier.ts'
import { observingProxy } from './simulated/observing-proxy.ts'
import { TOKEN } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'

const UNUSABLE = ['..', '.', 'a\0b', 'a\ud800b']
const ODD = [
  'x'.repeat(9_000),
  'a/b',
  '/',
  'a\n\u001bb',
  'a,b',
  ' ',
  '~',
  'CON',
  '%2E%2E',
  'AGENT_CASE',
  'agent_case',
  'Agent_Case',
]
const NOTHING = { success: true, mode: 'paginated', data: [], hasMore: false, nextCursor: null, scannedConvoCount: 0 }

/** Opens a proxy that adds agents with these ids to the listing; they have no conversations. */
const listingAlso =
  (ids: readonly unknown[]) =>
  ({ url, world }: Sandbox) =>
    observingProxy(url, ({ pathname }) => {
      const isKnown = !pathname.endsWith('/export') || world.agentIds().some(id => pathname.includes(`/${id}/`))
      if (!isKnown) return { status: 200, body: NOTHING }
      if (!pathname.endsWith('/agents/search')) return undefined
      return ({ agents, total, ...rest }) => {
        const also = ids.map(ID => ({ ID, title: 'odd' }))
        return { ...rest, agents: [...agents, ...also], total: total + also.length }
      }
    })

it('agents whose ids cannot be part of a URL are reported and block no other agent; other odd ids, and ids that differ only by case, are exported; events with such ids are applied', async () => {
  const simulated = await simulatedApp({
    sandbox: { agents: 2, conversations: 30 },
    settings: { resources: RESOURCES },
    through: listingAlso([...UNUSABLE, '', null, ...ODD]),
  })
  const { clock } = simulated
  const { home } = simulated.config
  const sync = async () => {
    const report = await simulated.sync()
    expect(report).toMatchObject({ outcome: 'done', failures: [], windowsLeft: 0 })
    for (const id of UNUSABLE)
      expect(report.warnings).toContainEqual(
        expect.stringContaining(`Agent ${JSON.stringify(id)} is not exported: its ID cannot be part of a URL`),
      )
    simulated.advance(3_600_000)
  }
  await sync()
  expect(await simulated.rows('SELECT DISTINCT agent_id FROM conversations')).toHaveLength(2)
  const read = await simulated.rows<{ id: string }>('SELECT DISTINCT agent_id AS id FROM _windows')
  expect(read.map(({ id }) => id)).toEqual(expect.arrayContaining(ODD))
  expect(read).toHaveLength(ODD.length + 2)
  const folders = await simulated.rows<{ folder: string }>(
    "SELECT DISTINCT split_part(file, '/', 3) AS folder FROM _loads WHERE file LIKE '%/conversations/%'",
  )
  expect(new Set(folders.map(({ folder }) => folder.toLowerCase())).size).toBe(ODD.length + 2)

  const nowMs = clock.now()
  // Agents that no list names, except those whose ids cannot be requested.
  const ids = [...UNUSABLE, ...ODD.map(id => `${id}~`), '']
  const events = ids.flatMap(id => {
    const light = { ID: id, ts: nowMs, handoffHistory: [{ organizationId: id, teamIds: [id] }] }
    return [
      { event: 'agent_created', agentId: id, agent: { ID: id, title: 'odd' } },
      { event: 'conversation_updated', agentId: id, convoId: id, organisationId: id, turns: [], lightConvoData: light },
    ].map(event => ({ ...event, createdAt: nowMs }))
  })
  await receiveEvents({ home, workspaceId: 'ws_demo', nowMs }, events)
  await simulated.drain()
  await sync()
  const [applied] = await simulated.rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM webhook_events')
  expect(applied!.n).toBe(2 * ids.length)
  await simulated.close()
  const env = {
    CONVOHOUSE_HOME: home,
    CONVOHOUSE_API_URL: 'http://127.0.0.1:1',
    CONVOHOUSE_API_TOKEN: TOKEN,
    CONVOHOUSE_WORKSPACE: 'ws_demo',
  }
  const { stdout: status } = await inProcess(['status'], { env })
  expect(status).toContain('unusable     agent ".." is not exported: its ID cannot be part of a URL')
})
