// Conversations that are requested by id but not returned: some are gone, in others no person has written.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ledgerLines, ledgerOf } from '../../src/cli/ledger/ledger.ts'
import { reconcileWorkspace } from '../../src/reports/reconciliation.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { isDeep } from '../tier.ts'
import type { SimulatedApp, SimulatedAppOptions } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'

interface Scene {
  simulated: SimulatedApp
  agentId: string
  /** Stored conversations in which a person has written. */
  stored: string[]
  /** Conversations in which no person has written. */
  unwritten: string[]
}

/** A workspace with one agent, one minute after its sync. */
async function scene(
  readings: SandboxOptions['readings'] = {},
  through: NonNullable<SimulatedAppOptions['through']> = async ({ url }) => url,
): Promise<Scene> {
  const simulated = await simulatedApp({ sandbox: { conversations: 150, agents: 1, readings }, through })
  const { sandbox, clock } = simulated
  const [agentId] = sandbox.world.agentIds() as [string]
  await simulated.sync()
  const all = [...sandbox.world.conversations(agentId, clock.now())]
  const unwritten = all.filter(({ billableSessions }) => billableSessions === 0).map(({ id }) => id)
  const rows = await simulated.rows<{ id: string }>('SELECT conversation_id AS id FROM conversations ORDER BY id')
  simulated.advance(60_000)
  return { simulated, agentId, stored: rows.map(({ id }) => id), unwritten }
}

/** Inserts rows for conversations that were never exported, as their events would. */
async function insertEventRows({ simulated, agentId }: Scene, ids: readonly string[]): Promise<void> {
  for (const id of ids)
    await simulated.rows(`INSERT INTO conversations BY NAME SELECT workspace_id, '${agentId}' AS agent_id, '${id}' AS conversation_id, ts,
      _version, _as_of, _fetched_at, _loaded_at, 'webhook' AS _source, false AS _complete, _fetched_at AS _dirty_since, 900000 + hash('${id}') % 10000 AS _record
      FROM conversations LIMIT 1`)
}

const ask = ({ simulated, agentId }: Scene, ids: string[]) =>
  simulated.sync({ mode: 'selected', ids: [[agentId, ids]] })

const marked = async ({ simulated }: Scene, column: string): Promise<string[]> =>
  (
    await simulated.rows<{ id: string }>(
      `SELECT conversation_id AS id FROM conversations WHERE ${column} IS NOT NULL ORDER BY id`,
    )
  ).map(({ id }) => id)

/** Converts counts to numbers, as `status` and `ledger` read them. */
const numbered = (row: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, /^\d+$/.test(String(value)) ? Number(value) : value]),
  )

/** The reconciliation report: the count of each kind of difference, and the text that `ledger` prints. */
async function reconcile({ simulated }: Scene) {
  const settings = simulated.config.workspaces[0]
  const reconciliation = await reconcileWorkspace({
    rows: async <R>(sql: string) => (await simulated.rows(sql)).map(numbered) as R[],
    workspaceId: 'ws_demo',
    settings,
    agents: [],
    sinceMs: null,
    by: 'agent',
    nowMs: simulated.clock.now(),
  })
  const kinds = reconciliation.differences.map(({ kind, count }) => [kind, count])
  return { ...Object.fromEntries(kinds), text: ledgerLines(ledgerOf(reconciliation, settings)).join('\n') } as Record<
    string,
    number | string
  >
}

describe('conversations without a message of a person, known only from events', () => {
  it('are marked as not exportable rather than missing and counted once in the reconciliation; they are exported once a person has written', async () => {
    const known = await scene()
    const ids = known.unwritten.slice(0, 4)
    await insertEventRows(known, ids)
    expect(await reconcile(known)).toMatchObject({ incomplete: 4 })
    const { sessions } = await ask(known, ids)
    expect(sessions).toBe(0)
    expect(await marked(known, '_missing_since')).toEqual([])
    expect(await marked(known, '_not_exportable_since')).toEqual([...ids].sort())
    const reconciliation = await reconcile(known)
    expect(reconciliation).toMatchObject({ notExportable: 4 })
    expect([reconciliation.incomplete, reconciliation.missing, reconciliation.stale]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(reconciliation.text).toContain(
      '4 rows were requested by id, scanned and not returned: no person has written in them.',
    )

    const [a, b, c] = known.unwritten.slice(4, 7) as [string, string, string]
    await insertEventRows(known, [a, b, c, 'gone-1', 'gone-2'])
    const before = (await known.simulated.served()).length
    known.simulated.advance(60_000)
    const report = await ask(known, [a, 'gone-1', known.stored[5]!, b, 'gone-2', c])
    expect(report).toMatchObject({ outcome: 'done', failures: [], conversations: 1 })
    const unwritten = [...ids, a, b, c].sort()
    expect(await marked(known, '_missing_since')).toEqual(['gone-1', 'gone-2'])
    expect(await marked(known, '_not_exportable_since')).toEqual(unwritten)
    expect(await reconcile(known)).toMatchObject({ missing: 2, notExportable: 7 })
    const asked = (await known.simulated.served()).slice(before)
    expect(asked.length).toBeLessThanOrEqual(10)
    expect(asked.slice(1).every(({ billed }) => billed === 0)).toBe(true)

    const [id] = known.stored as [string]
    await known.simulated.rows(
      `UPDATE conversations SET _not_exportable_since = _fetched_at, _complete = false WHERE conversation_id = '${id}'`,
    )
    known.simulated.advance(60_000)
    await ask(known, [id])
    expect(await marked(known, '_not_exportable_since')).toEqual(unwritten)
    const last = await reconcile(known)
    expect([last.incomplete, last.missing, last.notExportable]).toEqual([undefined, 2, 7])
  })

  it.each(isDeep ? (['absent', 'returned'] as const) : (['returned'] as const))(
    'keep their state, as do stored ones, if `scannedConvoCount` is %s: none is marked as missing without proof',
    async scanned => {
      const known = await scene({ scanned })
      await insertEventRows(known, known.unwritten.slice(0, 1))
      await ask(known, [known.stored[3]!, known.stored[9]!])
      expect(await marked(known, '_missing_since')).toEqual([])
      expect(await marked(known, '_not_exportable_since')).toEqual([])
    },
  )
})

/** A proxy that refuses exports once `isGone` is set, as if the agent were deleted; `exports` counts the refused requests. */
async function leavingAgent(upstream: string, agent: { isGone: boolean; exports: number }): Promise<string> {
  const server = createServer(async (request, response) => {
    const isExport = request.url!.includes('/convos/export')
    agent.exports += isExport && agent.isGone ? 1 : 0
    const envelope = { message: 'Agent not found', code: 'NOT_FOUND', issues: [] }
    if (isExport && agent.isGone) return void response.writeHead(404).end(JSON.stringify(envelope))
    const authorization = request.headers.authorization ?? ''
    const passed = await fetch(`${upstream}${request.url}`, { headers: { authorization } })
    response.writeHead(passed.status, { date: passed.headers.get('date') ?? '' }).end(await passed.text())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close(() => {}).closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('a sync of ids whose vendor refuses requests with unknown ids', () => {
  it.each(isDeep ? (['404', '400'] as const) : (['404'] as const))(
    'exports the known ones and keeps the agent if the status is %s, and detects a deleted agent within a few requests',
    async status => {
      const agent = { isGone: false, exports: 0 }
      const known = await scene({ 'unknown-ids': status }, ({ url }) => leavingAgent(url, agent))
      const ids = known.stored.slice(0, 40)
      await insertEventRows(known, ['gone-1', 'gone-2'])
      ids.splice(7, 0, 'gone-1')
      ids.splice(23, 0, 'gone-2')
      const before = (await known.simulated.served()).length
      const report = await ask(known, ids)
      expect(report).toMatchObject({ outcome: 'done', failures: [], agentsGone: [], conversations: 40 })
      expect(await marked(known, '_missing_since')).toEqual(status === '404' ? ['gone-1', 'gone-2'] : [])
      expect((await known.simulated.served()).length - before).toBeLessThan(40)
      expect(await known.simulated.rows('SELECT agent_id FROM agents WHERE _missing_since IS NOT NULL')).toEqual([])
      // No window is left for the next sync.
      expect(await known.simulated.sync()).toMatchObject({ outcome: 'done', windowsLeft: 0 })

      agent.isGone = true
      known.simulated.advance(60_000)
      expect(await ask(known, known.stored.slice(0, 60))).toMatchObject({ agentsGone: [known.agentId], failures: [] })
      expect(agent.exports).toBeLessThan(16)
    },
  )
})
