import { describe, expect, it } from 'vitest'
import { openApp } from '../../src/app.ts'
import { replay } from '../../src/run/replay.ts'
import { expectedTables } from './expected-rows.ts'
import { START_MS } from './open-simulated-app.ts'
import { simulatedApp } from './simulated-app.ts'
import { readThrough, truthOf } from './truth.ts'
import { asLines, warehouseTables } from './warehouse-tables.ts'

const SETTLE_MS = 120_000

/** Bookkeeping that a rebuilt warehouse must have the same, but for the time of loading. */
const BOOKS = `SELECT 'load' AS book, file AS a, records::VARCHAR AS b FROM _loads
  UNION ALL SELECT 'window', agent_id || "window", progress::VARCHAR FROM _windows
  UNION ALL SELECT 'seen', conversation_id, epoch_ms(version)::VARCHAR FROM conversation_observations
  UNION ALL SELECT 'drift', path, occurrences::VARCHAR FROM _drift
  UNION ALL SELECT 'issue', path, occurrences::VARCHAR FROM _issues
  UNION ALL SELECT 'run', run, outcome FROM _runs ORDER BY ALL`

describe('a sync of a workspace', () => {
  it.each(['created', 'activity'] as const)(
    'brings every conversation that counts, every field and child, once, where ts is %s',
    async ts => {
      const simulated = await simulatedApp({ sandbox: { conversations: 600, ts } })
      const report = await simulated.sync()
      expect(report).toMatchObject({ outcome: 'done', failures: [], windowsLeft: 0, breaches: 0 })
      const truth = truthOf(simulated.sandbox, { throughMs: readThrough(START_MS, SETTLE_MS) })
      expect(truth.length).toBeGreaterThan(500)
      const tables = asLines(await warehouseTables(simulated.rows))
      expect(Object.keys(tables)).toHaveLength(18)
      expect(tables).toEqual(asLines(expectedTables(truth)))
      expect(report.conversations).toBe(truth.length)
      expect(report.sessions).toBe(truth.reduce((sum, one) => sum + one.billableSessions, 0))
    },
  )

  it('asks for nothing twice', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 1_000, agents: 5 } })
    const report = await simulated.sync()
    const requests = await simulated.served()
    const keys = requests.map(({ agentId, query }) => JSON.stringify([agentId, query]))
    expect(new Set(keys).size).toBe(keys.length)
    expect(requests.every(request => request.status === 200)).toBe(true)
    expect(requests).toHaveLength(report.requests)
    const [row] = await simulated.rows(
      'SELECT count(*)::INTEGER AS n, count(DISTINCT (agent_id, conversation_id))::INTEGER AS ids FROM conversations',
    )
    const truth = truthOf(simulated.sandbox, { throughMs: readThrough(START_MS, SETTLE_MS) })
    expect(row).toEqual({ n: truth.length, ids: truth.length })
  })

  it('sees what a late mirror has only once it is there', async () => {
    const mirrorLagMs = 20 * 60_000
    const simulated = await simulatedApp({
      sandbox: { conversations: 300, arrivalsPerDay: 400, mirrorLagMs },
      settings: { mirrorLagMs },
    })
    for (let round = 0; round < 4; round++) {
      await simulated.sync()
      simulated.advance(15 * 60_000)
    }
    await simulated.sync()
    const nowMs = simulated.sandbox.clock.now()
    const truth = truthOf(simulated.sandbox, { throughMs: readThrough(nowMs, mirrorLagMs) })
    const found = await simulated.rows<{ id: string }>('SELECT conversation_id AS id FROM conversations')
    expect(found.map(row => row.id).sort()).toEqual(truth.map(({ record }) => record.ID).sort())
  })
})

describe('a replay', () => {
  it('gives the same tables and books in an empty warehouse', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 400, arrivalsPerDay: 200, ts: 'activity' } })
    await simulated.sync()
    simulated.advance(86_400_000)
    await simulated.sync()
    const before = { tables: asLines(await warehouseTables(simulated.rows)), books: await simulated.rows(BOOKS) }
    const requests = (await simulated.served()).length
    await simulated.close()

    await replay({ config: simulated.config })
    const app = await openApp({ config: simulated.config })
    const { rows } = app.warehouse.writer
    const after = { tables: asLines(await warehouseTables(rows)), books: await rows(BOOKS) }
    await app.close()
    expect(after).toEqual(before)
    expect((await simulated.served()).length).toBe(requests)
  })
})
