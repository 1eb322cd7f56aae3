// Syncs after the first one: new and changed conversations, time ranges, and selected ids.
import { describe, expect, it } from 'vitest'
import { expectedTables } from './simulated/expected-rows.ts'
import { type SimulatedApp, START_MS } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'
import { readThrough, type TrueRecord, truthOf } from './simulated/truth.ts'
import { asLines, warehouseTables } from './simulated/warehouse-tables.ts'

const SETTLE_MS = 120_000
const DAY = 86_400_000

const idsIn = async (simulated: SimulatedApp): Promise<string[]> =>
  (await simulated.rows<{ id: string }>('SELECT conversation_id AS id FROM conversations ORDER BY id')).map(
    row => row.id,
  )

const trueIds = (simulated: SimulatedApp): string[] =>
  truthOf(simulated.sandbox, { throughMs: readThrough(simulated.sandbox.clock.now(), SETTLE_MS) })
    .map(({ record }) => String(record.ID))
    .sort()

describe('a second sync', () => {
  it('requests nothing if nothing can be new, everything if it is a full one, and later only new conversations if ts is the creation time', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 120, arrivalsPerDay: 100 } })
    const first = await simulated.sync()
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', requests: 0, pages: 0 })
    const tables = asLines(await warehouseTables(simulated.rows))
    expect(await simulated.sync({ mode: 'full' })).toMatchObject({
      outcome: 'done',
      conversations: first.conversations,
      sessions: first.sessions,
    })
    expect(asLines(await warehouseTables(simulated.rows))).toEqual(tables)
    const before = await idsIn(simulated)
    simulated.advance(DAY)
    const report = await simulated.sync()
    const after = await idsIn(simulated)
    expect(after).toEqual(trueIds(simulated))
    expect(after.length - before.length).toBeGreaterThan(50)
    expect(report.conversations).toBe(after.length - before.length)
  })

  it('replaces the rows of changed conversations if ts is the last activity', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 120, historyDays: 8, arrivalsPerDay: 20, ts: 'activity' },
    })
    await simulated.sync()
    const before = new Set(await idsIn(simulated))
    simulated.advance(2 * DAY)
    const readAtMs = simulated.sandbox.clock.now()
    const report = await simulated.sync()
    const [row] =
      await simulated.rows(`SELECT count(*) FILTER (_fetched_at >= make_timestamp(${readAtMs - 5_000} * 1000))::INTEGER AS fresh,
      count(*)::INTEGER AS n, count(DISTINCT conversation_id)::INTEGER AS ids FROM conversations`)
    expect(row).toMatchObject({ fresh: report.conversations, n: (row as { ids: number }).ids })
    expect(report.conversations).toBeGreaterThan(Number(row!.n) - before.size)

    // Each conversation that was read again has the generator's current values.
    const fresh = truthOf(simulated.sandbox, { throughMs: readThrough(readAtMs, SETTLE_MS) }).filter(
      ({ record }) => Number(record.ts) > readThrough(START_MS, SETTLE_MS),
    )
    const ids = new Set(fresh.map(({ record }) => record.ID))
    const tables = [...(await warehouseTables(simulated.rows))].map(
      ([table, rows]) => [table, rows.filter(each => ids.has(each.conversation_id))] as const,
    )
    expect(asLines(new Map(tables))).toEqual(asLines(expectedTables(fresh)))
    expect(await idsIn(simulated)).toEqual(trueIds(simulated))
  })
})

describe('a sync of a time range', () => {
  it('exports only that range, and later syncs export one agent and then the rest, nothing twice', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 150 } })
    await expect(simulated.sync({ agents: ['nobody'] })).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' })
    const [sinceMs, untilMs] = [START_MS - 40 * DAY, START_MS - 20 * DAY]
    const [agentId] = simulated.sandbox.world.agentIds()
    const isBetween = ({ record }: TrueRecord) => Number(record.ts) >= sinceMs && Number(record.ts) < untilMs
    const all = truthOf(simulated.sandbox, { throughMs: readThrough(START_MS, SETTLE_MS) })
    const ids = (records: TrueRecord[]) => records.map(({ record }) => String(record.ID)).sort()
    const reports = [await simulated.sync({ sinceMs, untilMs })]
    expect(all.filter(isBetween).length).toBeGreaterThan(15)
    expect(await idsIn(simulated)).toEqual(ids(all.filter(isBetween)))
    reports.push(await simulated.sync({ agents: [agentId!] }))
    expect(await idsIn(simulated)).toEqual(ids(all.filter(one => one.agentId === agentId || isBetween(one))))
    reports.push(await simulated.sync())
    expect(await idsIn(simulated)).toEqual(trueIds(simulated))
    expect(reports.reduce((sum, { conversations }) => sum + conversations, 0)).toBe(trueIds(simulated).length)
  })
})

describe('a sync of selected ids', () => {
  it('exports them without extending coverage, so that the next sync exports the rest; the row of a purged conversation is kept and marked as missing', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 120 }, settings: { maxPage: 10 } })
    const [agentId] = simulated.sandbox.world.agentIds()
    const truth = truthOf(simulated.sandbox, { throughMs: START_MS }).filter(one => one.agentId === agentId)
    const ids = truth.slice(0, 25).map(({ record }) => String(record.ID))
    expect(truth.length).toBeGreaterThan(ids.length)
    const report = await simulated.sync({ mode: 'selected', ids: [[agentId!, [...ids, 'gone-1', 'gone-2']]] })
    expect(report).toMatchObject({ outcome: 'done', conversations: ids.length })
    expect(await idsIn(simulated)).toEqual([...ids].sort())
    expect(asLines(await warehouseTables(simulated.rows))).toEqual(asLines(expectedTables(truth.slice(0, 25))))
    const [window] = await simulated.rows('SELECT kind, done, returned::INTEGER AS returned FROM _windows')
    expect(window).toEqual({ kind: 'selected', done: true, returned: ids.length })
    await simulated.sync()
    expect(await idsIn(simulated)).toEqual(trueIds(simulated))

    const purged = (await idsIn(simulated))[0]!
    const [row] = await simulated.rows<{ agent_id: string }>(
      `SELECT agent_id FROM conversations WHERE conversation_id = '${purged}'`,
    )
    // The sandbox finds no conversation under the address of another agent, so it answers as if the conversation were purged.
    const other = simulated.sandbox.world.agentIds().find(id => id !== row!.agent_id)!
    await simulated.rows(`UPDATE conversations SET agent_id = '${other}' WHERE conversation_id = '${purged}'`)
    simulated.advance(60_000)
    await simulated.sync({ mode: 'selected', ids: [[other, [purged]]] })
    const kept = await simulated.rows(
      `SELECT epoch_ms(_missing_since)::DOUBLE AS since FROM conversations WHERE conversation_id = '${purged}'`,
    )
    expect(kept).toEqual([{ since: expect.closeTo(START_MS + 60_000, -4) as number }])
  })
})
