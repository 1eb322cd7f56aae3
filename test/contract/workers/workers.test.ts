// Workers in separate processes: the role of each, and the outcome of a sync when they are frozen, killed and ended.
import type { Client } from '@temporalio/client'
import { temporal } from '@temporalio/proto'
import { expect, it, onTestFinished } from 'vitest'
import { openLeaseLog } from '../../../src/landing/lease-log.ts'
import { PLAIN_SYNC } from '../../../src/run/embedded.ts'
import { askForSync, type OwnerHandle } from '../../../src/run/temporal/client/owner.ts'
import { CONCURRENT_WINDOWS } from '../../../workflows/window-loop.ts'
import type { Running } from '../../cli/cli-process.ts'
import { killOnTemporal } from '../../faults/kills/temporal-kills.ts'
import { freePort } from '../../ports.ts'
import { connected, describeWithTemporal } from '../../run/temporal/with-temporal.ts'
import { isDeep, rounds } from '../../tier.ts'
import { until } from '../../until.ts'
import { ended, expectTruth, repeatedRequests } from '../expectations.ts'
import { record } from '../history.ts'
import { reportOf } from '../hosts.ts'
import { type Scene, scene, WORKSPACE } from '../scene.ts'
import { workerProcess, writeConfig } from './worker-process.ts'

const HOUR_MS = 3_600_000
/** Lower than what a sync needs, so that several workers use it up together. */
const RATE = { requests: 30, ms: 4_000 }

const KILLS = rounds('TEMPORAL_KILLS', { usual: 0, deep: 40 })
/** With this seed, the first victims are an export worker, the warehouse worker and the server. */
const SEED = 4

const { EventType } = temporal.api.enums.v1

/** Returns the leases that have begun and not ended, according to the lease log. */
async function openLeases({ config, sandbox }: Scene): Promise<number> {
  const leaseLog = openLeaseLog({ home: config.home, workspaceId: WORKSPACE, run: 'observer' })
  const entries = await leaseLog.recent(sandbox.clock.now(), HOUR_MS)
  await leaseLog.close()
  const over = new Set(entries.flatMap(entry => (entry.kind === 'end' ? [entry.lease] : [])))
  return entries.filter(entry => entry.kind === 'lease' && !over.has(entry.lease)).length
}

/** Freezes the worker while it holds leases; resolves with their number. */
const frozen = (there: Scene, worker: Running): Promise<number> =>
  until(async () => {
    await until(async () => (await openLeases(there)) > 0)
    worker.process.kill('SIGSTOP')
    // The lease may have ended just before the worker froze; then the worker is resumed for another try.
    const held = await openLeases(there)
    if (held === 0) worker.process.kill('SIGCONT')
    return held
  })

/** Returns the activities that timed out on the server. */
async function timedOutActivities(handle: OwnerHandle): Promise<number> {
  const { events } = await handle.fetchHistory()
  return (events ?? []).filter(({ eventType }) => eventType === EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT).length
}

describeWithTemporal('workers', ({ place, command }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  /** Returns a workspace whose workers are processes of the built command. */
  async function app(lease: string, timeout: string) {
    const there = await scene({
      sandbox: { conversations: isDeep ? 400 : 240, latencyMs: 60, hourlyRequests: RATE.requests, hourMs: RATE.ms },
      settings: { maxPage: 10 },
    })
    const hour = { hour: `${RATE.ms / 1_000}s`, requestsPerHour: RATE.requests }
    const path = await writeConfig(there.config, lease, { timeout, ...hour })
    const worker = (role: 'export' | 'warehouse', more: string[] = []) => workerProcess({ place, path, role, more })
    const ask = async (): Promise<OwnerHandle> => {
      const request = { ...PLAIN_SYNC, workspaceId: WORKSPACE }
      const { handle } = await askForSync(client, { queues: there.config.temporal.queues, request })
      onTestFinished(() => handle.terminate().catch(() => {}) as Promise<void>)
      return handle
    }
    const more = async (count: number) => {
      const before = (await there.exported()).length
      await until(async () => (await there.exported()).length >= before + count)
    }
    return { ...there, worker, ask, more }
  }

  it('share the work by role and one hourly limit; a frozen export worker costs its requests in flight, all of which are counted; a killed warehouse worker costs nothing; their successors serve metrics, log their syncs and end cleanly', async () => {
    const there = await app('3s', '2s')
    const first = { warehouse: await there.worker('warehouse'), export: await there.worker('export') }
    const handle = await there.ask()
    await there.more(8)
    const held = await frozen(there, first.export)
    const metrics = `127.0.0.1:${await freePort()}`
    const second = await there.worker('export')
    await there.more(2)
    await first.warehouse.kill()
    const warehouse = await there.worker('warehouse', ['--telemetry', metrics])
    const before = await reportOf(handle)
    expect(before).toMatchObject({ outcome: 'done', failures: [] })
    expect(await timedOutActivities(handle)).toBeGreaterThanOrEqual(held)
    // Here the server detected the loss after the deadlines of the worker's leases had passed.
    await record(handle, 'held-lease')
    // Requests in flight when the worker froze were billed, but their answers were never stored, so they were repeated.
    expect(await repeatedRequests(there)).toBeLessThanOrEqual(Math.min(held, CONCURRENT_WINDOWS))

    await ended(second)
    first.export.process.kill('SIGCONT')
    const again = await reportOf(await there.ask())
    expect(again).toMatchObject({ outcome: 'done', failures: [], sessions: 0 })
    // The first sync counted one request in flight for each lease of the frozen worker, and that is all that it may have sent since. In
    // `faults/frozen-lease` it is known that none was in flight, so that none may follow.
    expect((await there.served()).length).toBeLessThanOrEqual(before.requests + again.requests)
    expect((await there.served()).filter(({ status }) => status !== 200)).toEqual([])
    expect(await openLeases(there)).toBe(0)

    const scraped = await (await fetch(`http://${metrics}/metrics`)).text()
    // The alerts about Temporal use these metrics and labels.
    expect(scraped).toMatch(/^temporal_workflow_completed\{.*workflow_type="syncWorkspace"/m)
    expect(scraped).toMatch(/^temporal_num_pollers\{.*poller_type="workflow_task".*task_queue="\S+-warehouse"/m)
    for (const one of [warehouse, first.export]) await ended(one)
    const lines = (await warehouse.ended).stderr.trim().split('\n')
    expect(lines.filter(line => !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ./.test(line))).toEqual([])
    const logged = lines.flatMap(line => /ws_demo: sync \S+ (.*)/.exec(line)?.[1] ?? [])
    const end = expect.stringMatching(
      /^ended: done; \d+ conversations in \d+ pages, \d+ requests, \d+ sessions billed$/,
    )
    expect(logged.slice(-3)).toEqual([end, expect.stringMatching(/^begins: \d windows? to read$/), end])
    await expectTruth(there)
  })

  it.runIf(isDeep)('that wake before their leases expire keep their results: nothing is billed twice', async () => {
    const there = await app('25s', '25s')
    const [warehouse, zombie] = [await there.worker('warehouse'), await there.worker('export')]
    const handle = await there.ask()
    await there.more(8)
    const held = await frozen(there, zombie)
    const second = await there.worker('export')
    await until(async () => (await timedOutActivities(handle)) >= held, { everyMs: 500 })
    zombie.process.kill('SIGCONT')
    expect(await reportOf(handle)).toMatchObject({ outcome: 'done', failures: [] })
    // Here the server detected the loss before the deadlines of the worker's leases: the owner workflow waits until they expire.
    await record(handle, 'lost-lease')
    expect(await openLeases(there)).toBe(0)
    for (const one of [zombie, second, warehouse]) await ended(one)
    await expectTruth(there)
    expect(await repeatedRequests(there)).toBe(0)
  })

  it.runIf(KILLS > 0)(
    'that are killed at random points, with their server, lose and duplicate nothing, and repeat only requests in flight',
    { timeout: 600_000 + KILLS * 40_000 },
    async () => {
      const { maxRebilledPerKill, ...report } = await killOnTemporal({ command, kills: KILLS, seed: SEED })
      expect(report).toEqual({ lost: 0, doubled: 0, exportedTwice: 0 })
      // A kill may interrupt one request of each window loop.
      expect(maxRebilledPerKill).toBeLessThanOrEqual(CONCURRENT_WINDOWS)
    },
  )
})
