// Workers that are frozen while they hold leases, given up by the server, and then resumed.
import type { Client } from '@temporalio/client'
import { temporal } from '@temporalio/proto'
import { expect, it, onTestFinished } from 'vitest'
import { SECOND } from '../../../src/core/time.ts'
import { openLeaseLog } from '../../../src/landing/lease-log.ts'
import { PLAIN_SYNC } from '../../../src/run/embedded.ts'
import { askForSync, type OwnerHandle } from '../../../src/run/temporal/client/owner.ts'
import type { Running } from '../../cli/cli-process.ts'
import { connected, describeWithTemporal } from '../../run/temporal/with-temporal.ts'
import { isDeep } from '../../tier.ts'
import { until } from '../../until.ts'
import { ended, expectTruth, repeatedRequests } from '../expectations.ts'
import { record } from '../history.ts'
import { reportOf, startWorkerAt } from '../hosts.ts'
import { elsewhere, type Scene, scene, WORKSPACE } from '../scene.ts'
import { workerProcess, writeConfig } from './worker-process.ts'

const WINDOW_LOOPS = 4

const { EventType } = temporal.api.enums.v1

/** Leases that have begun and not ended, according to the lease log. */
async function openLeases({ config, sandbox }: Scene): Promise<number> {
  const leaseLog = openLeaseLog({ home: config.home, workspaceId: WORKSPACE, run: 'observer' })
  const entries = await leaseLog.recent(sandbox.clock.now(), 3_600 * SECOND)
  await leaseLog.close()
  const over = new Set(entries.flatMap(entry => (entry.kind === 'end' ? [entry.lease] : [])))
  return entries.filter(entry => entry.kind === 'lease' && !over.has(entry.lease)).length
}

/** Activities that timed out on the server. */
async function timedOutActivities(handle: OwnerHandle): Promise<number> {
  const { events } = await handle.fetchHistory()
  return (events ?? []).filter(({ eventType }) => eventType === EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT).length
}

describeWithTemporal('a frozen worker', ({ place }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  /** A workspace whose export worker (`victim`) is a process that can be frozen. */
  async function app(lease: string, timeout: string) {
    const there = await scene(elsewhere, { sandbox: { latencyMs: 60, conversations: 400 }, settings: { maxPage: 10 } })
    const path = await writeConfig(there.config, lease, { timeout })
    const victim = () => workerProcess({ place, path, role: 'export' })
    const worker = (role: 'warehouse' | 'export') => startWorkerAt(path, place, role)
    const ask = async (): Promise<OwnerHandle> => {
      const request = { ...PLAIN_SYNC, workspaceId: WORKSPACE }
      const { handle } = await askForSync(client, { queues: there.config.temporal.queues, request })
      onTestFinished(() => handle.terminate().catch(() => {}) as Promise<void>)
      return handle
    }
    return { ...there, victim, worker, ask }
  }

  /** Freezes the worker while it holds leases; resolves with their number. */
  async function frozen(there: Scene, zombie: Running): Promise<number> {
    return until(async () => {
      await until(async () => (await openLeases(there)) > 0)
      zombie.process.kill('SIGSTOP')
      // The lease may have ended just before the worker froze; then the worker is resumed for another try.
      const held = await openLeases(there)
      if (held === 0) zombie.process.kill('SIGCONT')
      return held
    })
  }

  it('that wakes after others have done its work requests nothing more, and then works again', async () => {
    const there = await app('3s', '2s')
    const [warehouse, zombie] = [await there.worker('warehouse'), await there.victim()]
    const handle = await there.ask()
    await until(async () => (await there.exported()).length >= 8)
    const held = await frozen(there, zombie)
    const second = await there.worker('export')
    expect(await reportOf(handle)).toMatchObject({ outcome: 'done', failures: [] })
    expect(await timedOutActivities(handle)).toBeGreaterThanOrEqual(held)
    // Here the server detected the loss after the deadlines of the worker's leases had passed.
    await record(handle, 'held-lease')
    // Requests in flight when the worker froze were billed, but their answers were never stored, so they were repeated.
    expect(await repeatedRequests(there)).toBeLessThanOrEqual(Math.min(held, WINDOW_LOOPS))
    const exported = (await there.exported()).length

    await second.stop()
    zombie.process.kill('SIGCONT')
    // The resumed worker still has its old activities when the next sync starts: they must send no further request.
    const served = (await there.served()).length
    const again = await reportOf(await there.ask())
    expect(again).toMatchObject({ outcome: 'done', sessions: 0 })
    expect((await there.served()).length - served).toBe(again.requests)
    expect((await there.exported()).length - exported).toBeLessThanOrEqual(again.requests)
    expect(await openLeases(there)).toBe(0)
    await ended(zombie)
    await warehouse.stop()
    await expectTruth(there)
  })

  it.runIf(isDeep)('that wakes before its leases expire keeps its results: nothing is billed twice', async () => {
    const there = await app('25s', '25s')
    const [warehouse, zombie] = [await there.worker('warehouse'), await there.victim()]
    const handle = await there.ask()
    await until(async () => (await there.exported()).length >= 8)
    const held = await frozen(there, zombie)
    const second = await there.worker('export')
    await until(async () => (await timedOutActivities(handle)) >= held, { everyMs: 500 })
    zombie.process.kill('SIGCONT')
    expect(await reportOf(handle)).toMatchObject({ outcome: 'done', failures: [] })
    // Here the server detected the loss before the deadlines of the worker's leases: the owner workflow waits until they expire.
    await record(handle, 'lost-lease')
    expect(await openLeases(there)).toBe(0)
    await ended(zombie)
    for (const { stop } of [second, warehouse]) await stop()
    await expectTruth(there)
    expect(await repeatedRequests(there)).toBe(0)
  })
})
