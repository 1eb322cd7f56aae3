// Webhook events change the planning of exports: which conversations are exported first, again, later or not at all.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openRun } from '../../src/app.ts'
import { planLines } from '../../src/cli/plan.ts'
import { workspaceLines } from '../../src/cli/status/status-text.ts'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { workspaceStatus } from '../../src/reports/status.ts'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import { openSpool } from '../../src/spool/spool.ts'
import { dirtyIds, measuredRefreshes } from '../../src/warehouse/planning/refresh.ts'
import { rowsHere } from '../../src/warehouse/query/rows.ts'
import { isDeep } from '../tier.ts'
import { expectedTables } from './simulated/expected-rows.ts'
import {
  openSimulatedApp,
  type SimulatedApp,
  type SimulatedAppOptions,
  START_MS,
  WORKSPACE,
} from './simulated/open-simulated-app.ts'
import { openEventSender } from './simulated/simulated-events.ts'
import { readThrough, truthOf } from './simulated/truth.ts'
import { asLines, warehouseTables } from './simulated/warehouse-tables.ts'

/** Returns a synced workspace. `pass` lets time pass, applies the events of that time, runs `before`, and syncs. */
async function live(options: SimulatedAppOptions) {
  const { simulated, end } = await openSimulatedApp(options)
  const sender = openEventSender(simulated, { dropped: 0 })
  const pass = async (ms: number, before: () => Promise<void> = async () => {}) => {
    const fromMs = simulated.sandbox.clock.now()
    simulated.advance(ms)
    await sender.send(fromMs, simulated.sandbox.clock.now())
    await simulated.drain()
    await before()
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
  }
  await simulated.sync()
  return { simulated, pass, end }
}

const rereads = async ({ rows }: SimulatedApp) =>
  (await rows<{ n: number }>("SELECT count(*)::INTEGER AS n FROM _windows WHERE kind = 'reread'"))[0]!.n

interface Row {
  id: string
  complete: boolean
  /** `ts`, and the last change that an event has reported, ms. */
  beganMs: number
  changedMs: number
  covered: boolean
}

const rowsOf = ({ rows }: SimulatedApp): Promise<Row[]> =>
  rows(`SELECT conversation_id AS id, _complete AS complete, epoch_ms(ts)::DOUBLE AS "beganMs", epoch_ms(_changed_at)::DOUBLE AS "changedMs",
    EXISTS (SELECT 1 FROM _covered v WHERE v.agent_id = c.agent_id AND epoch(ts) BETWEEN v.from_sec AND v.to_sec) AS covered
    FROM conversations c WHERE _changed_at IS NOT NULL`)

describe('conversations that arrive', () => {
  let scene: Awaited<ReturnType<typeof live>>
  beforeAll(async () => {
    scene = await live({
      sandbox: { agents: 2, conversations: 0, arrivalsPerDay: 80, traffic: true },
      settings: { rereadShare: 0.2 },
    })
  })
  afterAll(() => scene.end())

  it('are first exported once events show them quiet for an hour, after six hours at most; until then a row is incomplete and not covered', async () => {
    const { simulated, pass } = scene
    let waited = 0
    for (const hour of [3.5, 7]) {
      let before: Row[] = []
      await pass(3.5 * HOUR, async () => {
        before = await rowsOf(simulated)
      })
      const nowMs = START_MS + hour * HOUR
      const after = new Map((await rowsOf(simulated)).map(row => [row.id, row]))
      for (const { id, complete, beganMs, changedMs, covered } of before) {
        const isActive = changedMs > nowMs - HOUR && beganMs > nowMs - 6 * HOUR
        if (complete || covered || !isActive) continue
        waited++
        expect(after.get(id)).toMatchObject({ complete: false, covered: false })
      }
      for (const { beganMs, covered } of after.values())
        if (beganMs < nowMs - 6 * HOUR - MINUTE) expect(covered).toBe(true)
    }
    expect(waited).toBeGreaterThan(3)
    const [billed] = await simulated.rows<{ twice: number }>(
      `SELECT count(*)::INTEGER AS twice FROM (SELECT 1 FROM conversation_observations WHERE kind = 'head' GROUP BY conversation_id HAVING count(*) > 1)`,
    )
    expect(billed!.twice).toBe(0)
  })

  it.runIf(isDeep)('cause no re-read if events have reported that a person writes only later', async () => {
    const { simulated, pass } = scene
    await pass(29 * HOUR)
    const [skipped] = await simulated.rows<{ n: number }>(
      'SELECT count(*)::INTEGER AS n FROM _requests WHERE scanned > returned',
    )
    expect(skipped!.n).toBeGreaterThan(0)
    expect(await rereads(simulated)).toBe(0)
    const complete = await simulated.rows<{ id: string }>(
      'SELECT conversation_id AS id FROM conversations WHERE _complete',
    )
    const exported = new Set(complete.map(({ id }) => id))
    const quietMs = simulated.clock.now() - 30 * HOUR
    const quiet = truthOf(simulated.sandbox, { atMs: quietMs, throughMs: readThrough(quietMs, 2 * MINUTE) })
    expect(quiet.length).toBeGreaterThan(10)
    expect(quiet.filter(({ record }) => !exported.has(String(record.ID)))).toEqual([])
  })

  it('are not requested if an event has deleted their agent and no list names it any more', async () => {
    const { simulated } = scene
    const { config, clock, sandbox } = simulated
    const [deleted] = sandbox.world.agentIds() as [string]
    const spool = openSpool({ home: config.home, now: Date.now })
    const payload = Buffer.from(JSON.stringify({ event: 'agent_deleted', agentId: deleted, createdAt: clock.now() }))
    const event = { id: 'deleted', type: 'agent_deleted', workspaceId: WORKSPACE, payload }
    await spool.append({ ...event, receivedAtMs: clock.now() })
    await spool.close()
    await simulated.drain()
    sandbox.conditions.set({ gone: [deleted] })
    simulated.advance(HOUR)
    const before = (await simulated.served()).length
    expect((await simulated.sync()).warnings).toBeUndefined()
    const asked = new Set((await simulated.served()).slice(before).map(({ agentId }) => agentId))
    expect(asked.size).toBe(1)
    expect(asked).not.toContain(deleted)
  })
})

/** Returns the lines of `convohouse status` about the workspace. */
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

/** Returns the lines of `convohouse plan`. */
async function planOf({ config, app, clock }: SimulatedApp): Promise<string[]> {
  const workspace = config.workspaces[0]!
  const signal = new AbortController().signal
  const { run, steps, close } = await openRun({ config, workspace, app, signal, clock: clock.within })
  const prepared = await steps.prepare({ ...PLAIN_SYNC, run, workspaceId: WORKSPACE })
  await close()
  return planLines({ workspaceId: WORKSPACE, prepared, resourceRequests: 0, nowMs: clock.now() })
}

it('refreshes without a new message are made and measured; once fifty have found nothing they are skipped, as status and plan say', async () => {
  const { simulated, pass, end } = await live({
    sandbox: { agents: 1, conversations: 70, historyDays: 2, arrivalsPerDay: 0, traffic: true },
    settings: { refreshOn: 'auto' },
  })
  onTestFinished(end)
  const { clock } = simulated
  const measured = () =>
    measuredRefreshes(simulated.app.warehouse.writer, WORKSPACE, { nowMs: clock.now(), quietMs: DAY })
  /** Returns conversations that changed without a new message and were not exported again. */
  const left = () =>
    dirtyIds(simulated.app.warehouse.writer, WORKSPACE, {
      ...{ beforeMs: clock.now() - DAY, skipKnown: false, knownOneIn: 1, limit: 1_000 },
    })
  await pass(4 * DAY)
  expect(await left()).toEqual([])
  const found = await measured()
  expect(found).toMatchObject({ changed: 0, skips: false })
  expect(found!.measured).toBeGreaterThan(3)
  await simulated.rows(`INSERT INTO _measured_refreshes
    SELECT '${WORKSPACE}', 'another', i::VARCHAR, '2026-01-01', [] FROM range(50) t(i)`)
  await pass(4 * DAY)
  const skipped = await left()
  expect(skipped.length).toBeGreaterThan(3)
  const now = await measured()
  expect(now).toMatchObject({ changed: 0, skips: true })
  expect(now!.savedSessions).toBeGreaterThanOrEqual(Math.floor(skipped.length * 0.95))
  const says = `refreshes without a new message changed 0 of ${now!.measured} conversations; skipping them saves about ${now!.savedSessions} sessions a month`
  expect(await statusOf(simulated)).toContain(`  economy      ${says}`)
  expect(await planOf(simulated)).toContain(`R${says.slice(1)}.`)
})

it.runIf(isDeep)(
  'a change that events report completely is not exported again under refreshOn: message, and its record is complete',
  async () => {
    const { simulated, pass, end } = await live({
      sandbox: { agents: 1, conversations: 50, historyDays: 3, arrivalsPerDay: 0, traffic: true },
      settings: { refreshOn: 'message' },
    })
    onTestFinished(end)
    await pass(7 * DAY)
    const [made] = await simulated.rows<{ again: number; left: number }>(
      `SELECT (SELECT sum(returned)::INTEGER FROM _windows WHERE kind = 'refresh') AS again,
      count(_dirty_since)::INTEGER AS left FROM conversations`,
    )
    expect(made!.again).toBeGreaterThan(0)
    expect(made!.left).toBeGreaterThan(0)
    const truth = truthOf(simulated.sandbox, { throughMs: readThrough(START_MS, 2 * MINUTE) })
    const quietSinceMs = simulated.clock.now() - simulated.config.workspaces[0]!.quietMs
    const waiting = await simulated.rows<{ id: string }>(
      `SELECT conversation_id AS id FROM conversations WHERE epoch_ms(_dirty_since) > ${quietSinceMs}`,
    )
    const exported = new Set(truth.map(({ record }) => record.ID))
    for (const { id } of waiting) exported.delete(id)
    expect(exported.size).toBeGreaterThan(30)
    // The comparison omits fields that no event carries, fields that change without a message (`lastViewed`, pending
    // answers), and fields that only events carry.
    const alike = ({ conversations }: Record<string, string[]>) =>
      conversations!
        .filter(line => exported.has((JSON.parse(line) as { conversation_id: string }).conversation_id))
        .map(line => line.replace(/"(last_viewed|pending_ai_reply_at|channel)":[^,}]+,?/g, ''))
        .sort()
    expect(alike(asLines(await warehouseTables(simulated.rows)))).toEqual(alike(asLines(await expectedTables(truth))))
  },
)
