// What a sync reports if no worker is running to execute it.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, ServiceError, type WorkflowExecutionDescription } from '@temporalio/client'
import { temporal } from '@temporalio/proto'
import { Worker } from '@temporalio/worker'
import { expect, it, onTestFinished } from 'vitest'
import { failedForWantOfWorker, hasPollers } from '../../../src/run/temporal/client/await-worker.ts'
import { ownerId } from '../../../src/run/temporal/client/owner.ts'
import { workflowCode } from '../../../src/run/workflow-code.ts'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import { exportQueue, warehouseQueue } from '../../../workflows/activities.ts'
import { type Running, start } from '../../cli/cli-process.ts'
import { whileSlowed } from '../../cli/delayed-vendor.ts'
import { inProcess } from '../../cli/in-process.ts'
import { connected, describeWithTemporal } from '../../run/temporal/with-temporal.ts'
import { until } from '../../until.ts'
import { startWorkerAt } from '../hosts.ts'
import { elsewhere, scene, TOKEN, WORKSPACE } from '../scene.ts'
import { workerProcess, writeConfig } from './worker-process.ts'

/** The message is one line and names the command that starts a worker. */
const NO_WORKER =
  /No worker has answered yet, and none polls the queue contract-\S+-warehouse: start one with `convohouse worker` or/g

type PendingActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number]

const { PENDING_ACTIVITY_STATE_STARTED: STARTED } = temporal.api.enums.v1.PendingActivityState

const isFetching = ({ activityType, state }: PendingActivity): boolean =>
  activityType?.name === 'fetchPages' && state === STARTED

describeWithTemporal('without a worker', ({ place, env }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  /** A configured workspace without a worker, and its commands. */
  async function app(sandbox: Partial<SandboxOptions> = {}) {
    const there = await scene(elsewhere, { sandbox, settings: { maxPage: 10 } })
    const path = await writeConfig(there.config, '3s', { schedule: { every: '1h' } })
    const options = { env: { WORKER_TOKEN: TOKEN, ...env } }
    const args = (...words: string[]) => [...words, '--config', path]
    const queue = warehouseQueue(there.config.temporal.queues)
    const terminate = () => client.workflow.getHandle(ownerId(WORKSPACE)).terminate()
    onTestFinished(async () => void (await terminate().catch(() => {})))
    return {
      ...there,
      queue,
      worker: () => startWorkerAt(path, place),
      victim: () => workerProcess({ place, path, role: 'all' }),
      run: (...words: string[]) => inProcess(args(...words), options),
      begin: (...words: string[]) => start(args(...words), options),
      /** Starts an owner workflow for which no worker runs. */
      startOwner: () =>
        client.workflow.start('syncWorkspace', {
          workflowId: ownerId(WORKSPACE),
          taskQueue: queue,
          args: [{ workspaceId: WORKSPACE }],
        }),
    }
  }

  /** The output of a command that succeeded and reported once that no worker is running. */
  async function endOf(running: Running): Promise<string> {
    const { code, stdout, stderr } = await running.ended
    expect(code, stderr).toBe(0)
    expect(stderr.match(NO_WORKER)).toHaveLength(1)
    return stdout
  }

  it('pause, allow and resume report that none runs and wait for one, or until the sync has ended; unpolled queues and unanswered queries are recognised', async () => {
    const there = await app()
    const gone = await there.startOwner()
    const unheard = there.begin('pause')
    await unheard.said('Still waiting.')
    await gone.terminate()
    expect(await endOf(unheard)).toBe(`${WORKSPACE}: no sync is running\n`)

    const owner = await there.startOwner()
    const waiting = [there.begin('pause'), there.begin('allow', '--overage-packs', '2'), there.begin('resume')]
    for (const { said } of waiting) await said('Still waiting.')
    expect(await hasPollers(client, there.queue)).toBe(false)
    const query = client.withDeadline(Date.now() + 300, () => owner.query('progress'))
    const error: unknown = await query.catch(error => error)
    expect([error, failedForWantOfWorker(error)]).toEqual([expect.any(ServiceError), true])
    await there.worker()
    const said = await Promise.all(waiting.map(endOf))
    expect(said).toEqual([`${WORKSPACE}: paused\n`, `${WORKSPACE}: new limits accepted\n`, `${WORKSPACE}: resumed\n`])
    // Repeated, because the server knows of a worker only when its poll has arrived.
    await until(async () => (await hasPollers(client, there.queue)) === true)
    // The worker polls the export queue for activities only; `hasPollers` counts only polls for workflow tasks.
    expect(await hasPollers(client, exportQueue(there.config.temporal.queues))).toBe(false)
    const unknown: unknown = await owner.query('nothing').catch(error => error)
    expect(failedForWantOfWorker(unknown)).toBe(false)
  })

  it('cancel and a tick are accepted by the server and report that none runs; a sync reports it and waits for one, or until Ctrl-C', async () => {
    const there = await app()
    const owner = await there.startOwner()
    const cancelled = await there.run('cancel')
    expect([cancelled.code, cancelled.stdout]).toEqual([0, `${WORKSPACE}: cancellation requested\n`])
    expect(cancelled.stderr).toContain(
      `${there.queue}: start one with \`convohouse worker\` or \`convohouse up\`. The sync ends once`,
    )
    expect((await there.run('schedule', 'ensure')).code).toBe(0)
    const trigger = await there.run('schedule', 'trigger')
    expect([trigger.code, trigger.stderr]).toEqual([0, expect.stringMatching(NO_WORKER)])
    expect((await there.run('schedule', 'delete')).stderr).toBe('')
    await owner.terminate()

    const given = there.begin('sync', '--on', 'temporal')
    await given.said('Still waiting.')
    given.process.kill('SIGINT')
    const { code, stderr } = await given.ended
    expect([code, stderr]).toEqual([
      130,
      expect.stringContaining('error INTERRUPTED: Stopped before a worker answered'),
    ])
    const waiting = there.begin('sync', '--on', 'temporal')
    await waiting.said('Still waiting.')
    await there.worker()
    expect(await endOf(waiting)).toContain(`${WORKSPACE}: up to date`)
  })

  it('a follower is informed and follows again once one runs, and a query that was waiting for it causes no nondeterminism', async () => {
    const there = await app({ latencyMs: 300 })
    const worker = await there.victim()
    const following = there.begin('sync', '--on', 'temporal')
    const handle = client.workflow.getHandle(ownerId(WORKSPACE))
    await until(async () => (await there.exported()).length >= 2)
    // The kill must hit a running activity: between two leases there is none, and the server could not detect the loss.
    await whileSlowed(there.sandbox, async () => {
      await sleep(1_000)
      await until(async () => ((await handle.describe()).raw.pendingActivities ?? []).some(isFetching))
      worker.process.kill('SIGKILL')
      await worker.ended
    })
    // The server holds the query for half a minute, for the next worker.
    const query = handle.query('progress')
    await following.said('No worker has answered yet on the queue')
    const lost = async () =>
      ((await handle.fetchHistory()).events ?? []).some(event => event.activityTaskTimedOutEventAttributes)
    await until(lost, { everyMs: 1_000 })
    await there.worker()
    expect(await query).toMatchObject({ phase: 'syncing' })
    const { code, stdout, stderr } = await following.ended
    expect([code, stdout], stderr).toEqual([0, expect.stringContaining(`${WORKSPACE}: up to date`)])
    await Worker.runReplayHistory(
      { workflowBundle: await workflowCode() },
      await handle.fetchHistory(),
      handle.workflowId,
    )
  })
})
