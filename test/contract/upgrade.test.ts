// Workers are upgraded during a sync: the sync ends as it would have without the upgrade, and nothing is billed twice.
import type { Client } from '@temporalio/client'
import { temporal } from '@temporalio/proto'
import { Worker } from '@temporalio/worker'
import { expect, it, onTestFinished } from 'vitest'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import { askForSync, type OwnerHandle } from '../../src/run/temporal/client/owner.ts'
import type { Role } from '../../src/run/temporal/worker/worker.ts'
import { whileSlowed } from '../cli/delayed-vendor.ts'
import { connected, describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { isDeep } from '../tier.ts'
import { until } from '../until.ts'
import { ended, expectTruth, repeatedRequests } from './expectations.ts'
import { payloadTexts } from './history.ts'
import { reportOf } from './hosts.ts'
import { installRelease, PATCH } from './releases.ts'
import { elsewhere, scene, WORKSPACE } from './scene.ts'
import { workerProcess, writeConfig } from './workers/worker-process.ts'

const { WorkflowTaskFailedCause } = temporal.api.enums.v1

const eventsOf = async (handle: OwnerHandle) => (await handle.fetchHistory()).events ?? []

/** The build that completed each of the workflow's tasks, in order. */
async function buildsOf(handle: OwnerHandle): Promise<string[]> {
  const events = await eventsOf(handle)
  return events.flatMap(
    ({ workflowTaskCompletedEventAttributes: completed }) => completed?.workerVersion?.buildId ?? [],
  )
}

const isLater = (text: string): boolean => text.includes(PATCH)

/** The number of tasks that `build` had completed when the first patch was recorded; null if no patch was recorded. */
async function patchedAfter(handle: OwnerHandle, build: string): Promise<number | null> {
  const events = await eventsOf(handle)
  const at = events.findIndex(
    ({ markerRecordedEventAttributes: marker }) => marker && payloadTexts(marker).some(isLater),
  )
  if (at < 0) return null
  return events
    .slice(0, at)
    .filter(event => event.workflowTaskCompletedEventAttributes?.workerVersion?.buildId === build).length
}

async function isStuck(handle: OwnerHandle): Promise<boolean> {
  const cause = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR
  return (await eventsOf(handle)).some(event => event.workflowTaskFailedEventAttributes?.cause === cause)
}

describeWithTemporal('an upgrade', ({ place }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  /** A workspace whose workers are processes of the built command or of another release. */
  async function app() {
    const there = await scene(elsewhere, { sandbox: { conversations: 240 }, settings: { maxPage: 10 } })
    const path = await writeConfig(there.config, '2m', { timeout: '60s' })
    const worker = (role: Role, main?: string) =>
      workerProcess({ place, path, role, ...(main !== undefined && { main }) })
    const ask = async (): Promise<OwnerHandle> => {
      const request = { ...PLAIN_SYNC, workspaceId: WORKSPACE }
      const { handle } = await askForSync(client, { queues: there.config.temporal.queues, request })
      onTestFinished(() => handle.terminate().catch(() => {}) as Promise<void>)
      return handle
    }
    return { ...there, worker, ask }
  }

  it('continues a running sync: earlier decisions stay, and versioned changes apply from there on', async () => {
    const [there, next] = [await app(), await installRelease('patched')]
    const old = [await there.worker('warehouse'), await there.worker('export')]
    const handle = await there.ask()
    await until(async () => (await there.exported()).length >= 8)
    // Slow answers keep the sync running while workers are replaced.
    const warehouse = await whileSlowed(there.sandbox, async () => {
      await ended(old[0]!)
      expect((await handle.describe()).status.name).toBe('RUNNING')
      return there.worker('warehouse', next.main)
    })
    const exporting = await there.worker('export', next.main)
    await ended(old[1]!)
    expect(await reportOf(handle)).toMatchObject({ outcome: 'done', failures: [], windowsLeft: 0 })
    const builds = await buildsOf(handle)
    const before = builds.filter(build => build === builds[0]).length
    expect(new Set(builds).size).toBe(2)
    expect(before).toBeGreaterThan(0)
    expect(await patchedAfter(handle, builds[0]!)).toBe(before)
    // The new release can replay the complete history, as it would after another restart.
    await Worker.runReplayHistory(
      { workflowBundle: next.workflowBundle },
      await handle.fetchHistory(),
      handle.workflowId,
    )

    const later = await there.ask()
    expect(await reportOf(later)).toMatchObject({ outcome: 'done', sessions: 0 })
    expect(await patchedAfter(later, builds[0]!)).toBe(0)
    for (const one of [exporting, warehouse]) await ended(one)
    await expectTruth(there)
    expect(await repeatedRequests(there)).toBe(0)
  })

  it.runIf(isDeep)(
    'to a release with unversioned workflow changes loses nothing: workflows wait until it is rolled back',
    async () => {
      const [there, careless] = [await app(), await installRelease('careless')]
      const [first, exporting] = [await there.worker('warehouse'), await there.worker('export')]
      const handle = await there.ask()
      await until(async () => (await there.exported()).length >= 8)
      const wrong = await whileSlowed(there.sandbox, async () => {
        await ended(first)
        return there.worker('warehouse', careless.main)
      })
      await until(() => isStuck(handle), { everyMs: 500 })
      expect((await handle.describe()).status.name).toBe('RUNNING')
      await ended(wrong)
      const again = await there.worker('warehouse')
      expect(await reportOf(handle)).toMatchObject({ outcome: 'done', failures: [], windowsLeft: 0 })
      for (const one of [exporting, again]) await ended(one)
      await expectTruth(there)
      expect(await repeatedRequests(there)).toBe(0)
    },
  )
})
