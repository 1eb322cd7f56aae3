// What is exported more than once on purpose: re-reads of ranges that hid conversations, refreshes of changed, named or recent
// ones, and the weekly sample.
import { describe, expect, it } from 'vitest'
import { spoolOf } from '../../src/app/spool.ts'
import { openRun } from '../../src/app.ts'
import { planLines } from '../../src/cli/plan/plan.ts'
import { workspaceLines } from '../../src/cli/status/status-text.ts'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { workspaceStatus } from '../../src/reports/status.ts'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import { dirtyIds, measuredRefreshes } from '../../src/warehouse/planning/refresh.ts'
import { rowsHere } from '../../src/warehouse/query/rows.ts'
import { drainAll } from '../../workflows/ingest.ts'
import { isDeep } from '../tier.ts'
import { expectedTables } from './simulated/expected-rows.ts'
import { type SimulatedApp, START_MS, WORKSPACE } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'
import { openEventSender } from './simulated/simulated-events.ts'
import { readThrough, truthOf } from './simulated/truth.ts'
import { asLines, warehouseTables } from './simulated/warehouse-tables.ts'

/** Number of windows of a kind, and the sums of their billed sessions and returned conversations. */
const windows = (simulated: SimulatedApp, kind: string) =>
  simulated.rows<{ n: number; billed: number; returned: number }>(
    `SELECT count(*)::INTEGER AS n, coalesce(sum(billed), 0)::INTEGER AS billed, coalesce(sum(returned), 0)::INTEGER AS returned
     FROM _windows WHERE kind = '${kind}'`,
  )

const held = async (simulated: SimulatedApp): Promise<Set<string>> =>
  new Set((await simulated.rows<{ id: string }>('SELECT conversation_id AS id FROM conversations')).map(row => row.id))

const ledgerOf = async ({ rows }: SimulatedApp) =>
  (
    await rows<{ scanned: number; skipped: number; held: number }>(
      'SELECT sum(scanned)::INTEGER AS scanned, sum(skipped)::INTEGER AS skipped, sum(held)::INTEGER AS held FROM _ledger',
    )
  )[0]!

/** Ids of the conversations that can be exported at `atMs`, up to the end of a head window opened then. */
function exportable(simulated: SimulatedApp, atMs = simulated.sandbox.clock.now()): string[] {
  const { world } = simulated.sandbox
  const throughMs = readThrough(atMs, 2 * MINUTE)
  return world
    .agentIds()
    .flatMap(agentId =>
      [...world.conversations(agentId, atMs)]
        .filter(({ billableSessions, document }) => billableSessions > 0 && Number(document.ts) <= throughMs)
        .map(({ id }) => id),
    )
}

describe('a conversation in which a person writes only later', () => {
  // With this seed, a person writes later in at least one of the conversations that the first sync skips.
  const sandbox = { seed: 3, agents: 2, conversations: 200, historyDays: 2 }

  it('is found by a re-read of its range within the horizon', async () => {
    const simulated = await simulatedApp({ sandbox, settings: { maxPage: 5, rereadShare: 0.2 } })
    await simulated.sync()
    const before = await held(simulated)
    const ledgerBefore = await ledgerOf(simulated)
    simulated.advance(30 * HOUR)
    const hidden = exportable(simulated).filter(id => !before.has(id))
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
    const after = await held(simulated)
    const { world } = simulated.sandbox
    const recent = new Set(
      world
        .agentIds()
        .flatMap(agentId =>
          [...world.conversations(agentId, simulated.sandbox.clock.now())]
            .filter(({ document }) => Number(document.ts) > START_MS - 5 * DAY)
            .map(({ id }) => id),
        ),
    )
    expect(hidden.filter(id => recent.has(id)).length).toBeGreaterThan(0)
    expect(hidden.filter(id => recent.has(id) && !after.has(id))).toEqual([])
    expect((await windows(simulated, 'reread'))[0]!.n).toBeGreaterThan(0)
    // The ledger no longer counts the found conversations as skipped.
    const ledger = await ledgerOf(simulated)
    expect(ledger.skipped).toBeLessThan(ledgerBefore.skipped)
    expect(ledger.held).toBeGreaterThan(ledgerBefore.held)
    const visible = world.agentIds().map(id => world.tally(id, simulated.sandbox.clock.now()).visible)
    expect(ledger.scanned).toBeLessThanOrEqual(visible.reduce((sum, n) => sum + n, 0))
    // A range that was just re-read is not read again.
    expect(await simulated.sync()).toMatchObject({ requests: 0 })
  })

  // Deep tier only: npm test covers the budget in test/core/planning/rereads.test.ts.
  it.runIf(isDeep)('is searched for within the budget of the period', async () => {
    const simulated = await simulatedApp({
      sandbox: { ...sandbox, quotaSessions: 4_000 },
      settings: { maxPage: 5, rereadShare: 0.01 },
    })
    await simulated.sync()
    for (let day = 0; day < 2; day++) {
      simulated.advance(26 * HOUR)
      await simulated.sync()
    }
    const [reread] = await windows(simulated, 'reread')
    expect(reread!.n).toBeGreaterThan(0)
    // The budget is 40 sessions; up to 20 sessions of hidden conversations that the re-reads find are billed in addition.
    expect(reread!.billed).toBeLessThanOrEqual(40 + 20)
  })

  it('causes no re-read if events have reported it, because they also report what the person writes', async () => {
    const simulated = await simulatedApp({
      sandbox: { agents: 1, conversations: 0, arrivalsPerDay: 12, traffic: true },
      settings: { rereadShare: 0.2 },
    })
    const { sandbox: vendor, config, app, clock } = simulated
    const workspace = config.workspaces[0]!
    const spool = spoolOf({ app, home: config.home, workspace, now: clock.now })
    const eventSender = openEventSender(simulated, { dropped: 0 })
    await simulated.sync()
    for (let hour = 0; hour < 48; hour += 24) {
      const fromMs = vendor.clock.now()
      simulated.advance(24 * HOUR)
      await eventSender.send(fromMs, vendor.clock.now())
      await drainAll(spool, WORKSPACE)
      expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
    }
    const [skipped] = await simulated.rows<{ n: number }>(
      'SELECT count(*)::INTEGER AS n FROM _requests WHERE scanned > returned',
    )
    expect(skipped!.n).toBeGreaterThan(0)
    expect((await windows(simulated, 'reread'))[0]!.n).toBe(0)
    const complete = await simulated.rows<{ id: string }>(
      'SELECT conversation_id AS id FROM conversations WHERE _complete',
    )
    const exported = new Set(complete.map(({ id }) => id))
    const quiet = exportable(simulated, vendor.clock.now() - 30 * HOUR)
    expect(quiet.filter(id => !exported.has(id))).toEqual([])
  })

  it.runIf(isDeep)('is in the next head window if ts is the last activity, without a re-read', async () => {
    const simulated = await simulatedApp({
      sandbox: { ...sandbox, ts: 'activity' },
      settings: { maxPage: 5, rereadShare: 0.2 },
    })
    await simulated.sync()
    simulated.advance(30 * HOUR)
    await simulated.sync()
    expect((await windows(simulated, 'reread'))[0]!.n).toBe(0)
    const all = await held(simulated)
    expect(exportable(simulated).filter(id => !all.has(id))).toEqual([])
  })
})

describe('conversations that enter the mirror late', () => {
  it('are detected by re-reading a sample of ranges, and then all recent ranges are re-read', async () => {
    const simulated = await simulatedApp({
      sandbox: { agents: 1, conversations: 60, historyDays: 20, arrivalsPerDay: 120, mirrorLagMs: 40 * MINUTE },
      settings: { mirrorLagMs: 2 * MINUTE, rereadHorizonMs: 20 * DAY, rereadShare: 0.5, sampleShare: 0.002 },
    })
    await simulated.sync()
    for (let hour = 0; hour < 3; hour++) {
      simulated.advance(HOUR)
      await simulated.sync()
    }
    const throughMs = START_MS + 2 * HOUR
    const missed = async () => {
      const all = await held(simulated)
      return exportable(simulated, throughMs).filter(id => !all.has(id)).length
    }
    expect(await missed()).toBeGreaterThan(0)
    simulated.advance(8 * DAY - 3 * HOUR)
    await simulated.sync()
    const late = await simulated.rows<{ n: number }>('SELECT sum(late_at_least)::INTEGER AS n FROM late_rows')
    expect(late[0]!.n).toBeGreaterThan(0)
    await simulated.sync()
    expect(await missed()).toBe(0)
  })
})

describe('a refresh', () => {
  it('exports again the conversations that were active within the given age and whose copy is old, besides new ones', async () => {
    const simulated = await simulatedApp({
      sandbox: { agents: 2, conversations: 150, historyDays: 20, arrivalsPerDay: 20 },
    })
    await simulated.sync()
    simulated.advance(2 * DAY)
    const asked = { refresh: { ids: [], ageMs: 5 * DAY } }
    const nowMs = simulated.sandbox.clock.now()
    const [due] = await simulated.rows<{ n: number }>(
      `SELECT count(*)::INTEGER AS n FROM conversations
       WHERE greatest(ts, last_message_ts, last_modified) >= make_timestamp(${(nowMs - 5 * DAY) * 1_000})`,
    )
    expect(due!.n).toBeGreaterThan(10)
    expect(await simulated.sync(asked)).toMatchObject({ outcome: 'done' })
    expect((await windows(simulated, 'refresh'))[0]).toMatchObject({ returned: due!.n })
    expect((await windows(simulated, 'head'))[0]!.returned).toBeGreaterThan(0)
    const stale = await simulated.rows(
      `SELECT conversation_id FROM conversations WHERE _complete AND _fetched_at < make_timestamp(${(nowMs - DAY) * 1_000})
       AND greatest(ts, last_message_ts, last_modified) >= make_timestamp(${(nowMs - 5 * DAY) * 1_000})`,
    )
    expect(stale).toEqual([])
    // The budget for re-reads is zero here, so no range is re-read for hidden conversations.
    expect((await windows(simulated, 'reread'))[0]!.n).toBe(0)
    // A stored copy that is younger than the quiet time is not exported again.
    expect(await simulated.sync(asked)).toMatchObject({ conversations: 0 })
  })

  it('exports named conversations again, a dirty one once after a quiet time, and one that is gone never', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 60 } })
    await simulated.sync()
    const rows = await simulated.rows<{ agent_id: string; id: string }>(
      'SELECT agent_id, conversation_id AS id FROM conversations ORDER BY id LIMIT 5',
    )
    const ids = rows.map(row => [row.agent_id, [row.id]] as const)
    await simulated.sync({ refresh: { ids, ageMs: null } })
    const [named] = await windows(simulated, 'refresh')
    expect(named).toMatchObject({ returned: 5 })
    await expect(simulated.sync({ refresh: { ids: [['nobody', ['x']]], ageMs: null } })).rejects.toMatchObject({
      code: 'AGENT_UNKNOWN',
    })

    const since = (ms: number) => `make_timestamp(${ms * 1_000})`
    const dirtyMs = simulated.clock.now() + MINUTE
    const [agentId] = simulated.sandbox.world.agentIds()
    await simulated.rows(`UPDATE conversations SET _dirty_since = ${since(dirtyMs)}, _changed_at = ${since(dirtyMs)} WHERE conversation_id IN (
      SELECT conversation_id FROM conversations WHERE agent_id = '${agentId}' ORDER BY 1 LIMIT 3)`)
    await simulated.rows(`INSERT INTO conversations (workspace_id, agent_id, conversation_id, _complete, _version, _as_of, _fetched_at,
        _loaded_at, _source, _dirty_since) VALUES ('ws_demo', '${agentId}', 'purged', false, ${since(START_MS)}, ${since(START_MS)},
        ${since(START_MS)}, ${since(START_MS)}, 'webhook', ${since(dirtyMs)})`)
    simulated.advance(12 * HOUR)
    await simulated.sync()
    expect((await windows(simulated, 'refresh'))[0]).toEqual(named)
    simulated.advance(13 * HOUR)
    await simulated.sync()
    const once = { n: named!.n + 1, returned: 5 + 3 }
    expect((await windows(simulated, 'refresh'))[0]).toMatchObject(once)
    const dirty = await simulated.rows('SELECT conversation_id FROM conversations WHERE _dirty_since IS NOT NULL')
    expect(dirty).toEqual([])
    simulated.advance(2 * DAY)
    await simulated.sync()
    expect((await windows(simulated, 'refresh'))[0]).toMatchObject(once)
  })
})

describe('a change that events report completely', () => {
  it('is not exported again under refreshOn: message, and its record is complete except for fields that no event carries', async () => {
    const simulated = await simulatedApp({
      sandbox: { agents: 1, conversations: 50, historyDays: 3, arrivalsPerDay: 0, traffic: true },
      settings: { refreshOn: 'message' },
    })
    const { sandbox, config, app, clock } = simulated
    const spool = spoolOf({ app, home: config.home, workspace: config.workspaces[0]!, now: clock.now })
    const eventSender = openEventSender(simulated, { dropped: 0 })
    await simulated.sync()
    for (const days of [4, 3]) {
      const fromMs = sandbox.clock.now()
      simulated.advance(days * DAY)
      await eventSender.send(fromMs, sandbox.clock.now())
      await drainAll(spool, WORKSPACE)
      expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
    }
    const [again] = await windows(simulated, 'refresh')
    const [left] = await simulated.rows<{ n: number }>('SELECT count(_dirty_since)::INTEGER AS n FROM conversations')
    expect(again!.returned).toBeGreaterThan(0)
    expect(left!.n).toBeGreaterThan(0)
    const truth = truthOf(sandbox, { throughMs: readThrough(START_MS, 2 * MINUTE) })
    const exported = new Set(truth.map(({ record }) => record.ID))
    // The comparison omits fields that no event carries, fields that change without a message (`lastViewed`, pending answers), and
    // fields that only events carry.
    const alike = ({ conversations }: Record<string, string[]>) =>
      conversations!
        .filter(line => exported.has((JSON.parse(line) as { conversation_id: string }).conversation_id))
        .map(line => line.replace(/"(last_viewed|pending_ai_reply_at|channel)":[^,}]+,?/g, ''))
        .sort()
    expect(alike(asLines(await warehouseTables(simulated.rows)))).toEqual(alike(asLines(expectedTables(truth))))
  })
})

/** What `convohouse status` prints about the workspace. */
async function statusOf({ config, app, clock }: SimulatedApp): Promise<string[]> {
  const rows = rowsHere(app.warehouse.instance, { timeoutMs: MINUTE })
  const landing = app.stores.landing.workspace(WORKSPACE)
  const leaseLog = app.stores.leaseLog({ workspaceId: WORKSPACE, run: 'status' })
  const [nowMs, settings] = [clock.now(), config.workspaces[0]!]
  const asked = {
    home: config.home,
    landing,
    leaseLog,
    workspaceId: WORKSPACE,
    settings,
    rows,
    isHeld: () => false,
    nowMs,
  }
  return workspaceLines(await workspaceStatus(asked), nowMs)
}

/** What `convohouse plan` prints. */
async function planOf({ config, app, clock }: SimulatedApp): Promise<string[]> {
  const workspace = config.workspaces[0]!
  const signal = new AbortController().signal
  const { run, steps, close } = await openRun({ config, workspace, app, signal, clock: clock.within })
  const prepared = await steps.prepare({ ...PLAIN_SYNC, run, workspaceId: WORKSPACE })
  await close()
  return planLines({ workspaceId: WORKSPACE, prepared, resourceRequests: 0, nowMs: clock.now() })
}

describe('refreshes without a new message, by default', () => {
  it('are made and measured, alike by a replay; once fifty have found nothing they are skipped, as status and plan say', async () => {
    const simulated = await simulatedApp({
      sandbox: { agents: 1, conversations: 200, historyDays: 2, arrivalsPerDay: 0, traffic: true },
      settings: { refreshOn: 'auto' },
    })
    const { sandbox, config, clock } = simulated
    const eventSender = openEventSender(simulated, { dropped: 0 })
    const measured = () =>
      measuredRefreshes(simulated.app.warehouse.writer, WORKSPACE, { nowMs: clock.now(), quietMs: DAY })
    /** Lets four days pass and syncs. @returns the conversations that changed without a new message and were not exported again */
    const pass = async () => {
      const fromMs = sandbox.clock.now()
      simulated.advance(4 * DAY)
      await eventSender.send(fromMs, sandbox.clock.now())
      const { app } = simulated
      await drainAll(spoolOf({ app, home: config.home, workspace: config.workspaces[0]!, now: clock.now }), WORKSPACE)
      expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
      const due = { beforeMs: clock.now() - DAY, skipKnown: false, knownOneIn: 1, limit: 1_000 }
      return dirtyIds(app.warehouse.writer, WORKSPACE, due)
    }
    await simulated.sync()
    expect(await pass()).toEqual([])
    const found = await measured()
    expect(found).toMatchObject({ changed: 0, skips: false })
    expect(found!.measured).toBeGreaterThan(5)
    await simulated.replay()
    expect(await measured()).toEqual(found)

    await simulated.rows(`INSERT INTO _measured_refreshes
      SELECT '${WORKSPACE}', 'another', i::VARCHAR, '2026-01-01', [] FROM range(50) t(i)`)
    const skipped = await pass()
    expect(skipped.length).toBeGreaterThan(3)
    const now = await measured()
    expect(now).toMatchObject({ changed: 0, skips: true })
    expect(now!.savedSessions).toBeGreaterThanOrEqual(Math.floor(skipped.length * 0.95))
    const says = `refreshes without a new message changed 0 of ${now!.measured} conversations; skipping them saves about ${now!.savedSessions} sessions a month`
    expect(await statusOf(simulated)).toContain(`  economy      ${says}`)
    const plan = await planOf(simulated)
    expect(plan).toContain(`R${says.slice(1)}.`)
  })
})

describe('a sample', () => {
  it('is exported once a week within its share, and measures how many conversations have changed', async () => {
    const simulated = await simulatedApp({
      sandbox: { agents: 2, conversations: 200, historyDays: 10, quotaSessions: 10_000 },
      settings: { sampleShare: 0.02 },
    })
    await simulated.sync()
    simulated.advance(3 * DAY)
    await simulated.sync()
    const [sample] = await windows(simulated, 'sample')
    const count = Math.floor((10_000 * 0.02 * 7) / 31)
    expect(sample!.returned).toBe(count)
    simulated.advance(2 * DAY)
    await simulated.sync()
    expect((await windows(simulated, 'sample'))[0]).toEqual(sample)

    const { world } = simulated.sandbox
    const changed = new Set<string>()
    for (const agentId of world.agentIds()) {
      const then = new Map([...world.conversations(agentId, START_MS)].map(one => [one.id, one.document.lastModified]))
      for (const { id, document } of world.conversations(agentId, START_MS + 3 * DAY))
        if (then.has(id) && then.get(id) !== document.lastModified) changed.add(id)
    }
    const sampled = await simulated.rows<{ id: string }>(
      `SELECT conversation_id AS id FROM conversation_observations WHERE kind = 'sample'`,
    )
    const [staleness] = await simulated.rows<Record<string, number>>(
      'SELECT sampled::INTEGER AS sampled, stale::INTEGER AS stale, share, low, high FROM staleness',
    )
    const stale = sampled.filter(({ id }) => changed.has(id)).length
    expect(stale).toBeGreaterThan(0)
    expect(staleness).toMatchObject({ sampled: count, stale })
    expect(staleness!.low).toBeLessThan(stale / count)
    expect(staleness!.high).toBeGreaterThan(stale / count)
  })
})
