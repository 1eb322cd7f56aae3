// The owner workflow of a workspace: its callers, its answers, and how it continues as new.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, type WorkflowHandle, WorkflowUpdateFailedError } from '@temporalio/client'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { RESOURCE_NAMES } from '../../src/config/resources.ts'
import type { WorkspaceConfig } from '../../src/config.ts'
import type { GovernorState } from '../../src/core/governor/governor.ts'
import { requestsThisHour } from '../../src/core/governor/rate-limit.ts'
import type { IdsByAgent } from '../../src/core/planning/id-windows.ts'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import { connectClient } from '../../src/run/temporal/client/connection.ts'
import { follow } from '../../src/run/temporal/client/follow.ts'
import { askForSync } from '../../src/run/temporal/client/owner.ts'
import { dataConverter } from '../../src/run/temporal/payload-codec.ts'
import { type DevServer, startDevServer } from '../../src/run/temporal/server/dev-server.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { PlanSummary, Progress } from '../../workflows/progress.ts'
import type { AcceptedRequest } from '../../workflows/requests.ts'
import { whileSlowed } from '../cli/delayed-vendor.ts'
import { describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { isDeep, rounds } from '../tier.ts'
import { until } from '../until.ts'
import { expectedTables } from '../workflows/simulated/expected-rows.ts'
import { truthOf } from '../workflows/simulated/truth.ts'
import { asLines, warehouseTables } from '../workflows/simulated/warehouse-tables.ts'
import { record } from './history.ts'
import { reportOf, startWorker } from './hosts.ts'
import { type Asked as AskedOf, elsewhere, type Scene, scene, WORKSPACE } from './scene.ts'

/** Number of pages of a sync that is too long for one workflow history. */
const PAGES = rounds('HISTORY_PAGES', { usual: 70, deep: 5000 })
const PAGE = 2
/** Events after which the server suggests to continue as new: about six leases. By default these are thousands of events. */
const SUGGESTED_EVENTS = 45
/** Limit of one payload: a sixteenth of Temporal's default, so that the plan exceeds it with a sixteenth of the agents. */
const REFUSED_BYTES = 128 * 1024
const AGENTS = 360

describeWithTemporal('the owner workflow of a workspace', ({ command }) => {
  let server: DevServer
  let client: Client
  const dynamicConfig = {
    'limit.historyCount.suggestContinueAsNew': SUGGESTED_EVENTS,
    'limit.blobSize.error': REFUSED_BYTES,
    'limit.blobSize.warn': REFUSED_BYTES / 2,
  }
  beforeAll(async () => {
    server = await startDevServer({ command, dynamicConfig })
    client = await connectClient({ address: server.address })
  })
  afterAll(async () => {
    await client.connection.close()
    await server.stop()
  })

  /** A workspace with a worker, without other resources unless the settings name some: those are half of its CPU time. `ask` requests a sync from the owner workflow, which is terminated when the test ends. */
  async function owned(sandbox: Partial<SandboxOptions> = {}, settings: Partial<WorkspaceConfig> = {}) {
    const there = await scene(elsewhere, {
      sandbox,
      settings: { maxPage: 10, ...settings },
    })
    const { app } = await startWorker(there.config, { address: server.address })
    const rows: Scene['rows'] = sql => app!.warehouse.writer.rows(sql)
    const ask = async (asked: AskedOf = {}) => {
      const request = { ...PLAIN_SYNC, ...asked, workspaceId: WORKSPACE }
      const answer = await askForSync(client, { queues: there.config.temporal.queues, request })
      onTestFinished(() =>
        answer.handle.terminate().then(
          () => {},
          () => {},
        ),
      )
      return answer
    }
    return { ...there, rows, ask }
  }

  /** The runs of a workflow that has continued as new. */
  async function chain(workflowId: string): Promise<WorkflowHandle[]> {
    const runs: WorkflowHandle[] = []
    for await (const { runId } of client.workflow.list({ query: `WorkflowId = '${workflowId}'` }))
      runs.push(client.workflow.getHandle(workflowId, runId))
    return runs
  }

  /** Resolves when the running sync waits for that reason. */
  async function waits(handle: WorkflowHandle, reason: 'hour' | 'paused'): Promise<void> {
    const isWaiting = async () => {
      const { phase, waiting } = await handle.query<Progress>('progress')
      return phase === 'waiting' && waiting?.reason === reason
    }
    await until(isWaiting, { everyMs: 200 })
  }

  /** Expects a single run in `_runs`, with the number of requests that the vendor served and of sessions that it billed. */
  async function expectCounted({ served, rows }: Pick<Scene, 'served' | 'rows'>, outcome: string): Promise<void> {
    const requests = await served()
    const sessions = requests.reduce((sum, { billed }) => sum + billed, 0)
    const runs = await rows('SELECT outcome, requests::INTEGER AS requests, sessions::INTEGER AS sessions FROM _runs')
    expect(runs).toEqual([{ outcome, requests: requests.length, sessions }])
  }

  async function expectTruth({ sandbox, exported, rows }: Pick<Scene, 'sandbox' | 'exported' | 'rows'>): Promise<void> {
    const asked = (await exported()).map(({ agentId, query }) => JSON.stringify([agentId, query]))
    expect(new Set(asked).size).toBe(asked.length)
    const truth = truthOf(sandbox, { throughMs: sandbox.clock.now() })
    expect(asLines(await warehouseTables(rows))).toEqual(asLines(expectedTables(truth)))
  }

  it('carries quota, windows and plan over when it continues as new', { timeout: 600_000 + 250 * PAGES }, async () => {
    const there = await owned(
      { conversations: PAGE * PAGES, hourlyRequests: 2 * PAGES },
      { maxPage: PAGE, requestsPerHour: 2 * PAGES, resources: RESOURCE_NAMES },
    )
    const { handle, run } = await there.ask()
    const report = await reportOf(handle)
    expect(report).toMatchObject({ run, outcome: 'done', windowsLeft: 0, failures: [] })
    expect(report.requests).toBe((await there.served()).length)
    await expectTruth(there)
    const runs = await chain(handle.workflowId)
    expect(runs.length).toBeGreaterThan(2)
    const lengths = (await Promise.all(runs.map(each => each.describe()))).map(({ historyLength }) => historyLength)
    // Activities that are running when the server suggests to continue as new still complete, which adds events.
    expect(Math.max(...lengths)).toBeLessThan(2 * SUGGESTED_EVENTS)
    const plans = await Promise.all(runs.map(each => each.query<PlanSummary | null>('plan')))
    expect(plans[0]!.windows.length).toBeGreaterThan(0)
    for (const plan of plans) expect(plan).toEqual(plans[0])
    await record(client.workflow.getHandle(handle.workflowId), 'carried-over')
  })

  it('plans for more agents than an uncompressed payload could hold', async () => {
    const there = await owned({ agents: AGENTS, conversations: 100 })
    const { handle } = await there.ask({ maxRequests: 2 })
    expect(await reportOf(handle)).toMatchObject({ outcome: 'limit-reached', requests: 2, failures: [] })
    const plan = await handle.query<PlanSummary | null>('plan')
    expect(plan!.windows.length).toBeGreaterThanOrEqual(AGENTS)
    const { events } = await handle.fetchHistory()
    const compressed = events!.flatMap(event => event.activityTaskCompletedEventAttributes?.result?.payloads ?? [])
    const unpacked = await dataConverter.payloadCodecs[0]!.decode(compressed)
    const largest = (payloads: typeof compressed) => Math.max(...payloads.map(({ data }) => data?.length ?? 0))
    expect(largest(unpacked)).toBeGreaterThan(REFUSED_BYTES)
    expect(largest(compressed)).toBeLessThan(REFUSED_BYTES / 4)
  })

  it('is started once for concurrent callers, joins identical requests, and continues its queue behind a sync that cannot start', async () => {
    const there = await owned({ conversations: 60 })
    const { all, wrong, last } = await whileSlowed(there.sandbox, async () => ({
      all: await Promise.all(Array.from({ length: 5 }, () => there.ask())),
      wrong: await there.ask({ agents: ['nobody'] }),
      last: await there.ask({ mode: 'full' }),
    }))
    const first = all.find(({ joined }) => !joined)!
    expect(all.map(({ run, joined }) => [run, joined]).sort()).toEqual(
      [false, true, true, true, true].map(joined => [first.run, joined]),
    )
    expect([wrong.joined, last.joined]).toEqual([false, false])
    const following = { client, workspaceId: WORKSPACE, signal: new AbortController().signal, onProgress: () => {} }
    await expect(follow({ ...following, asked: wrong })).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' })
    expect(await reportOf(last.handle)).toMatchObject({ run: last.run, outcome: 'done' })
    await record(last.handle, 'joined-and-queued')
    const { reports } = await last.handle.query<Progress>('progress')
    // The sync that cannot start is reported first, because the running sync leaves its history until other requests are served.
    expect(reports.map(({ run, outcome }) => [run, outcome])).toEqual([
      [wrong.run, 'failed'],
      [first.run, 'done'],
      [last.run, 'done'],
    ])
    expect(await there.rows("SELECT run FROM _runs WHERE outcome = 'done' ORDER BY started_at")).toEqual([
      { run: first.run },
      { run: last.run },
    ])
  })

  it('requests nothing while it is paused, reports that, and continues when it is resumed, with a queued refresh', async () => {
    const there = await owned({ latencyMs: 30 })
    const { handle, run } = await there.ask()
    await handle.executeUpdate('pause')
    await expect(handle.executeUpdate('refresh', { args: [[]] })).rejects.toThrow(WorkflowUpdateFailedError)
    const [some] = truthOf(there.sandbox, { throughMs: there.sandbox.clock.now() })
    const ids: IdsByAgent = [[some!.agentId, [String(some!.record.ID)]]]
    const refresh = await handle.executeUpdate<AcceptedRequest, [IdsByAgent]>('refresh', { args: [ids] })
    // Leases that were granted earlier still complete.
    let before = -1
    for (let now = 0; now !== before; now = (await there.served()).length) {
      before = now
      await sleep(1_500)
    }
    expect(await handle.query<Progress>('progress')).toMatchObject({ paused: true })
    expect((await client.workflow.getHandle(handle.workflowId).describe()).status.name).toBe('RUNNING')
    const pausedRows = () => there.rows('SELECT run FROM _runs WHERE paused_at IS NOT NULL AND ended_at IS NULL')
    expect(await pausedRows()).toContainEqual({ run })
    await handle.executeUpdate('resume')
    expect(await reportOf(handle)).toMatchObject({ outcome: 'done' })
    await record(handle, 'paused')
    const budget = await handle.query<GovernorState | null>('budget')
    expect(budget?.options.requestsPerHour).toBe(1_500)
    const { reports } = await handle.query<Progress>('progress')
    expect(reports.map(({ outcome }) => outcome)).toEqual(['done', 'done'])
    expect(reports.find(ended => ended.run === refresh.run)).toMatchObject({ conversations: 1 })
    expect(await pausedRows()).toEqual([])
    await expectTruth(there)
  })

  it('ends a sync when the quota is used instead of waiting, and exceeds the quota if packs are allowed during a sync', async () => {
    const there = await owned({ quotaSessions: 60, latencyMs: 40 }, { headReserveShare: 0 })
    const spent = await there.ask({ unattended: true })
    expect(await reportOf(spent.handle)).toMatchObject({ outcome: 'period-spent', failures: [] })
    const { handle } = await there.ask({ mode: 'incremental' })
    await handle.executeUpdate('pause')
    const wrong = handle.executeUpdate('raiseBudget', { args: [{ packs: -1 }] })
    await expect(wrong).rejects.toThrow(WorkflowUpdateFailedError)
    await handle.executeUpdate('raiseBudget', { args: [{ packs: 5 }] })
    await handle.executeUpdate('resume')
    expect(await reportOf(handle)).toMatchObject({ outcome: 'done' })
    await record(handle, 'allowed')
    await expectTruth(there)
  })

  it.runIf(isDeep)(
    'fetches new conversations at each tick while history waits for the rate limit, and continues history in between',
    async () => {
      const there = await owned(
        { agents: 1, arrivalsPerDay: 86_400, conversations: 4_000, hourlyRequests: 400 },
        { maxPage: 2, settleMs: 0, mirrorLagMs: 0, requestsPerHour: 400 },
      )
      const first = await there.ask({ unattended: true })
      await waits(first.handle, 'hour')
      const heads = async () => (await there.exported()).filter(({ query }) => query.sort === 'asc' && query.fromTs)
      const before = (await heads()).length
      // At 400 requests per hour, convohouse polls an agent at most every 12 s.
      await sleep(12_500)
      const second = await there.ask({ unattended: true })
      expect(second).toMatchObject({ joined: true, run: first.run })
      await until(async () => (await heads()).length !== before, { everyMs: 100 })
      // The new conversations are loaded while history continues to wait.
      const loaded = "SELECT 1 FROM _windows WHERE kind = 'head' AND done LIMIT 1"
      await until(async () => (await there.rows(loaded)).length !== 0, { everyMs: 100 })
      await waits(first.handle, 'hour')
      await first.handle.cancel()
      await expect(first.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } })
    },
  )

  it('serves a request at once while history waits for the rate limit, and then continues history', async () => {
    const there = await owned({ conversations: 200, hourlyRequests: 50 }, { maxPage: 2, requestsPerHour: 50 })
    const first = await there.ask({ unattended: true })
    await waits(first.handle, 'hour')
    const [some] = truthOf(there.sandbox, { throughMs: there.sandbox.clock.now() })
    const fetched = (await there.exported()).length
    const named = await there.ask({ mode: 'selected', ids: [[some!.agentId, [String(some!.record.ID)]]] })
    const following = { client, workspaceId: WORKSPACE, signal: new AbortController().signal, onProgress: () => {} }
    expect(await follow({ ...following, asked: named })).toMatchObject({
      run: named.run,
      outcome: 'done',
      conversations: 1,
    })
    // A plain sync with `--no-wait` is also answered at once.
    const hasty = await there.ask({ wait: false })
    expect(await follow({ ...following, asked: hasty })).toMatchObject({ run: hasty.run, outcome: 'hour-spent' })
    // Before history requested another page.
    expect((await there.exported()).length).toBe(fetched + 1)
    await waits(first.handle, 'hour')
    const { run, pages } = await first.handle.query<Progress>('progress')
    expect([run, pages]).toEqual([first.run, (await there.exported()).length - 1])
    await record(first.handle, 'preempted')
    await first.handle.cancel()
    await expect(first.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } })
  })

  it.runIf(isDeep)('runs a refresh or full export only once, even if a tick preempts it', async () => {
    const there = await owned({ conversations: 500, latencyMs: 60, arrivalsPerDay: 0 }, { maxPage: 4 })
    const begun = await there.ask({ maxRequests: 12 })
    await reportOf(begun.handle)
    const [some] = truthOf(there.sandbox, { throughMs: there.sandbox.clock.now() })
    const id = String(some!.record.ID)
    const sinceMs = there.sandbox.clock.now() - 12 * 3_600_000
    const fromTs = String(Math.floor(sinceMs / 1_000) * 1_000)
    const refreshed = async () => (await there.exported()).filter(({ query }) => query.convoIds === id)
    const again = async () => (await there.exported()).filter(({ query }) => query.fromTs === fromTs && !query.cursor)
    const asks: { asked: AskedOf; made: typeof again }[] = [
      {
        asked: { refresh: { ids: [[some!.agentId, [id]]], ageMs: null }, agents: [some!.agentId] },
        made: refreshed,
      },
      { asked: { mode: 'full', sinceMs }, made: again },
    ]
    for (const { asked, made } of asks) {
      const first = await there.ask(asked)
      await until(async () => (await made()).length >= 1, { everyMs: 50 })
      await sleep(1_500)
      const before = (await made()).length
      // Asks for an unattended sync, as the tick of a schedule does.
      const tick = await there.ask({ unattended: true, maxRequests: 1 })
      const following = { client, workspaceId: WORKSPACE, signal: new AbortController().signal, onProgress: () => {} }
      await follow({ ...following, asked: tick })
      await sleep(2_500)
      expect((await made()).length).toBe(before)
      await first.handle.cancel()
      await first.handle.result().catch(() => {})
    }
  })

  it.runIf(isDeep)(
    'ends soon after a cancellation, behind the requests in flight, and counts what they returned',
    async () => {
      const there = await owned({ conversations: 1_000, latencyMs: 400 })
      const { handle } = await there.ask()
      // By then, leases have eight or more pages, each of which takes some time.
      await until(async () => (await there.exported()).length >= 40, { everyMs: 20 })
      const cancelledMs = Date.now()
      await handle.cancel()
      await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } })
      expect(Date.now() - cancelledMs).toBeLessThan(6_000)
      await expectCounted(there, 'interrupted')
    },
  )

  it('lands requests in flight when it is cancelled, and its successor continues; after a termination the successor waits for its leases and recovers what was spent from the lease log', async () => {
    const there = await owned({ conversations: 300, latencyMs: 50 }, { resources: RESOURCE_NAMES })
    const cancelled = (await there.ask()).handle
    await until(async () => (await there.exported()).length >= 4, { everyMs: 20 })
    await cancelled.cancel()
    await expect(cancelled.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } })
    await record(cancelled, 'cancelled')
    await expectCounted(there, 'interrupted')

    const exported = (await there.exported()).length
    const { handle } = await there.ask()
    await until(async () => (await there.exported()).length >= exported + 4, { everyMs: 20 })
    // Slow answers, so that the workflow holds leases when it is terminated, and its successor has sent no request when its budget
    // is read.
    const { next, budget, made } = await whileSlowed(there.sandbox, async () => {
      await handle.terminate()
      const successor = await there.ask()
      expect(successor.joined).toBe(false)
      const before = (await there.served()).length
      const state = await until(() => successor.handle.query<GovernorState | null>('budget'))
      return { next: successor, budget: state, made: before }
    })
    expect(budget.spent).toEqual({ requests: 0, sessions: 0 })
    expect(requestsThisHour(budget.rateLimit, Date.now())).toBeGreaterThanOrEqual(made)
    expect(await reportOf(next.handle)).toMatchObject({ outcome: 'done' })
    await expectTruth(there)
  })
})
