// The owner workflow of a workspace: its callers, its answers, and how it continues as new.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, type WorkflowHandle, WorkflowUpdateFailedError } from '@temporalio/client'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { WorkspaceConfig } from '../../src/config.ts'
import type { GovernorState } from '../../src/core/governor/governor.ts'
import { requestsThisHour } from '../../src/core/governor/rate-limit.ts'
import type { IdsByAgent } from '../../src/core/planning/id-windows.ts'
import { HOUR, SECOND } from '../../src/core/time.ts'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import { connectClient } from '../../src/run/temporal/client/connection.ts'
import { follow } from '../../src/run/temporal/client/follow.ts'
import { askForSync } from '../../src/run/temporal/client/owner.ts'
import { type DevServer, startDevServer } from '../../src/run/temporal/server/dev-server.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { Row } from '../../src/warehouse/connection.ts'
import type { PlanSummary, Progress } from '../../workflows/progress.ts'
import { whileSlowed } from '../cli/delayed-vendor.ts'
import { describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { isDeep, rounds } from '../tier.ts'
import { until } from '../until.ts'
import { expectRows, repeatedRequests } from './expectations.ts'
import { record } from './history.ts'
import { reportOf, startWorker } from './hosts.ts'
import { type Asked, scene, WORKSPACE } from './scene.ts'

/** Number of pages of a sync that is too long for one workflow history. */
const PAGES = rounds('HISTORY_PAGES', { usual: 0, deep: 5000 })
const PAGE = 2
/** Number of events after which the server suggests to continue as new: about six leases. The default is thousands. */
const SUGGESTED_EVENTS = 45

const CANCELLED = { cause: { name: 'CancelledFailure' } }

describeWithTemporal('the owner workflow of a workspace', ({ command }) => {
  let server: DevServer
  let client: Client
  beforeAll(async () => {
    const dynamicConfig = { 'limit.historyCount.suggestContinueAsNew': SUGGESTED_EVENTS }
    server = await startDevServer({ command, dynamicConfig })
    client = await connectClient({ address: server.address })
  })
  afterAll(async () => {
    await client.connection.close()
    await server.stop()
  })

  /** Returns a workspace with a worker. `ask` requests a sync from the owner workflow, which is terminated when the test ends. */
  async function owned(sandbox: Partial<SandboxOptions> = {}, settings: Partial<WorkspaceConfig> = {}) {
    const there = await scene({ sandbox, settings: { maxPage: 10, ...settings } })
    const { app } = await startWorker(there.config, { address: server.address })
    const rows = <R = Row>(sql: string): Promise<R[]> => app!.warehouse.writer.rows(sql)
    const ask = async (asked: Asked = {}) => {
      const request = { ...PLAIN_SYNC, ...asked, workspaceId: WORKSPACE }
      const answer = await askForSync(client, { queues: there.config.temporal.queues, request })
      onTestFinished(() => answer.handle.terminate().catch(() => {}) as Promise<void>)
      return answer
    }
    const following = { client, workspaceId: WORKSPACE, signal: new AbortController().signal, onProgress: () => {} }
    const [some] = there.sandbox.world
      .agentIds()
      .flatMap(agentId =>
        [...there.sandbox.world.conversations(agentId, there.sandbox.clock.now())].map(({ id }) => ({ agentId, id })),
      )
    const one: IdsByAgent = [[some!.agentId, [some!.id]]]
    return { ...there, rows, ask, following, one }
  }

  type Owned = Awaited<ReturnType<typeof owned>>

  /** Expects the vendor's data in the tables, and that no request was made twice. */
  async function expectTruth(there: Owned): Promise<void> {
    expect(await repeatedRequests(there)).toBe(0)
    await expectRows(there.sandbox, there.rows)
  }

  /** Returns the runs of a workflow that has continued as new. */
  async function chain(handle: WorkflowHandle): Promise<WorkflowHandle[]> {
    const { workflowId } = handle
    const { taskQueue } = await handle.describe()
    const runs: WorkflowHandle[] = []
    // Each test has its own worker, and so its own queue.
    for await (const { runId } of client.workflow.list({
      query: `WorkflowId = '${workflowId}' AND TaskQueue = '${taskQueue}'`,
    }))
      runs.push(client.workflow.getHandle(workflowId, runId))
    return runs
  }

  /** Expects that the workflow has continued as new before its history became long, and that its runs know the plan. */
  async function expectCarriedOver(handle: WorkflowHandle): Promise<void> {
    const runs = await chain(handle)
    expect(runs.length).toBeGreaterThan(1)
    const lengths = (await Promise.all(runs.map(each => each.describe()))).map(({ historyLength }) => historyLength)
    // Activities that are running when the server suggests to continue as new still complete, which adds events.
    expect(Math.max(...lengths)).toBeLessThan(2 * SUGGESTED_EVENTS)
    // A query replays its run, and a long sync has hundreds.
    const some = [runs[0]!, runs[runs.length >> 1]!, runs.at(-1)!]
    const plans = await Promise.all(some.map(each => each.query<PlanSummary | null>('plan')))
    expect(plans[0]!.windows.length).toBeGreaterThan(0)
    for (const plan of plans) expect(plan).toEqual(plans[0])
  }

  /** Resolves when the running sync is waiting for the rate limit. */
  const waitsForHour = (handle: WorkflowHandle) =>
    until(
      async () => {
        const { phase, waiting } = await handle.query<Progress>('progress')
        return phase === 'waiting' && waiting?.reason === 'hour'
      },
      { everyMs: 200 },
    )

  it.runIf(isDeep)(
    'carries quota, windows and plan over when it continues as new',
    { timeout: 600_000 + 250 * PAGES },
    async () => {
      const there = await owned(
        { conversations: PAGE * PAGES, hourlyRequests: 2 * PAGES },
        { maxPage: PAGE, requestsPerHour: 2 * PAGES },
      )
      const { handle, run } = await there.ask()
      const report = await reportOf(handle)
      expect(report).toMatchObject({ run, outcome: 'done', windowsLeft: 0, failures: [] })
      expect(report.requests).toBe((await there.served()).length)
      await expectTruth(there)
      await expectCarriedOver(handle)
      await record(client.workflow.getHandle(handle.workflowId), 'carried-over')
    },
  )

  it('carries quota, windows and plan over when it continues as new; serves a request at once while history waits for the rate limit, and then continues history', async () => {
    const there = await owned({ conversations: 60, hourlyRequests: 20 }, { maxPage: 2, requestsPerHour: 20 })
    const first = await there.ask({ unattended: true })
    await waitsForHour(first.handle)
    await expectCarriedOver(first.handle)
    const fetched = (await there.exported()).length
    const named = await there.ask({ mode: 'selected', ids: there.one })
    const { following } = there
    expect(await follow({ ...following, asked: named })).toMatchObject({
      run: named.run,
      outcome: 'done',
      conversations: 1,
    })
    // A sync with `--no-wait` is also answered at once.
    const hasty = await there.ask({ wait: false })
    expect(await follow({ ...following, asked: hasty })).toMatchObject({ run: hasty.run, outcome: 'hour-spent' })
    // The answer came before history requested another page.
    expect((await there.exported()).length).toBe(fetched + 1)
    await waitsForHour(first.handle)
    const { run, pages } = await first.handle.query<Progress>('progress')
    expect([run, pages]).toEqual([first.run, (await there.exported()).length - 1])
    expect(await repeatedRequests(there)).toBe(0)
    await record(first.handle, 'preempted')
    await first.handle.cancel()
    await expect(first.handle.result()).rejects.toMatchObject(CANCELLED)
  })

  it.runIf(isDeep)('runs a refresh or full export only once, even if a tick preempts it', async () => {
    const there = await owned({ conversations: 500, latencyMs: 60 }, { maxPage: 4 })
    await reportOf((await there.ask({ maxRequests: 12 })).handle)
    const [, [id]] = there.one[0]!
    const sinceMs = there.sandbox.clock.now() - 12 * HOUR
    const fromTs = String(Math.floor(sinceMs / SECOND) * SECOND)
    const asks: { asked: Asked; isFirstPage(query: Record<string, string>): boolean }[] = [
      {
        asked: { mode: 'selected', ids: there.one },
        isFirstPage: query => query.convoIds === id,
      },
      { asked: { mode: 'full', sinceMs }, isFirstPage: query => query.fromTs === fromTs && !query.cursor },
    ]
    for (const { asked, isFirstPage } of asks) {
      const made = async () => (await there.exported()).filter(({ query }) => isFirstPage(query)).length
      const first = await there.ask(asked)
      await until(made)
      await sleep(1_500)
      const before = await made()
      // Requests an unattended sync, as the tick of a schedule does.
      const tick = await there.ask({ unattended: true, maxRequests: 1 })
      await follow({ ...there.following, asked: tick })
      await sleep(2_500)
      expect(await made()).toBe(before)
      await first.handle.cancel()
      await first.handle.result().catch(() => {})
    }
  })

  it('lands requests in flight when it is cancelled; after a termination its successor waits for its leases and recovers what was spent from the lease log; concurrent callers join it, and its queue goes on behind a sync that cannot start, of which a failed run remains', async () => {
    const there = await owned({ conversations: 150, latencyMs: 50 })
    const cancelled = (await there.ask()).handle
    await until(async () => (await there.exported()).length >= 4, { everyMs: 20 })
    await cancelled.cancel()
    await expect(cancelled.result()).rejects.toMatchObject(CANCELLED)
    await record(cancelled, 'cancelled')
    const requests = await there.served()
    const sessions = requests.reduce((sum, { billed }) => sum + billed, 0)
    expect(
      await there.rows('SELECT outcome, requests::INTEGER AS requests, sessions::INTEGER AS sessions FROM _runs'),
    ).toEqual([{ outcome: 'interrupted', requests: requests.length, sessions }])

    const exported = (await there.exported()).length
    const { handle } = await there.ask()
    await until(async () => (await there.exported()).length >= exported + 4, { everyMs: 20 })
    // Answers are slow, so that the workflow holds leases when it is terminated, and its successor has sent no request
    // when its budget is read.
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

    const { all, wrong, last } = await whileSlowed(there.sandbox, async () => ({
      all: await Promise.all(Array.from({ length: 5 }, () => there.ask())),
      wrong: await there.ask({ agents: ['nobody'], origin: 'schedule' }),
      last: await there.ask({ mode: 'full', sinceMs: there.sandbox.clock.now() - HOUR }),
    }))
    const negative = last.handle.executeUpdate('raiseBudget', { args: [{ packs: -1 }] })
    await expect(negative).rejects.toThrow(WorkflowUpdateFailedError)
    const first = all.find(({ joined }) => !joined)!
    expect(all.map(({ run, joined }) => [run, joined]).sort()).toEqual(
      [false, true, true, true, true].map(joined => [first.run, joined]),
    )
    expect([wrong.joined, last.joined]).toEqual([false, false])
    await expect(follow({ ...there.following, asked: wrong })).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' })
    expect(await reportOf(last.handle)).toMatchObject({ run: last.run, outcome: 'done' })
    await record(last.handle, 'joined-and-queued')
    const { reports } = await last.handle.query<Progress>('progress')
    expect(reports.map(({ run, outcome }) => [run, outcome])).toEqual([
      [first.run, 'done'],
      [wrong.run, 'failed'],
      [last.run, 'done'],
    ])
    expect(await there.rows("SELECT run FROM _runs WHERE outcome = 'done' ORDER BY started_at")).toEqual(
      [next, first, last].map(({ run }) => ({ run })),
    )
    expect(await there.rows("SELECT run, origin, error_code FROM _runs WHERE outcome = 'failed'")).toEqual([
      { run: wrong.run, origin: 'schedule', error_code: 'AGENT_UNKNOWN' },
    ])
  })
})
