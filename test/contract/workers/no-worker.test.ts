// What commands report if no worker is running to execute a sync.
import { type Client, ServiceError } from '@temporalio/client'
import { expect, it, onTestFinished } from 'vitest'
import { failedForWantOfWorker, hasPollers } from '../../../src/run/temporal/client/await-worker.ts'
import { ownerId } from '../../../src/run/temporal/client/owner.ts'
import { exportQueue, warehouseQueue } from '../../../workflows/activities.ts'
import { type Running, start } from '../../cli/cli-process.ts'
import { inProcess } from '../../cli/in-process.ts'
import { connected, describeWithTemporal } from '../../run/temporal/with-temporal.ts'
import { until } from '../../until.ts'
import { startWorkerAt } from '../hosts.ts'
import { scene, TOKEN, WORKSPACE } from '../scene.ts'
import { writeConfig } from './worker-process.ts'

/** The message is one line and names the command that starts a worker. */
const NO_WORKER =
  /No worker has answered yet, and none polls the queue contract-\S+-warehouse: start one with `convohouse worker` or/g

describeWithTemporal('without a worker', ({ place, env }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  /** The output of a command that succeeded and reported once that no worker is running. */
  async function endOf(running: Running): Promise<string> {
    const { code, stdout, stderr } = await running.ended
    expect(code, stderr).toBe(0)
    expect(stderr.match(NO_WORKER)).toHaveLength(1)
    return stdout
  }

  it('commands report that none runs: cancel and a tick are accepted; pause, resume and a sync wait for one, until their sync has ended, or until Ctrl-C', async () => {
    const { config } = await scene({ settings: { maxPage: 10 } })
    const path = await writeConfig(config, '3s', { schedule: { every: '1h' } })
    const options = { env: { WORKER_TOKEN: TOKEN, ...env } }
    const run = (...words: string[]) => inProcess([...words, '--config', path], options)
    const begin = (...words: string[]) => start([...words, '--config', path], options)
    const queue = warehouseQueue(config.temporal.queues)
    onTestFinished(
      () =>
        client.workflow
          .getHandle(ownerId(WORKSPACE))
          .terminate()
          .catch(() => {}) as Promise<void>,
    )
    const startOwner = () =>
      client.workflow.start('syncWorkspace', {
        workflowId: ownerId(WORKSPACE),
        taskQueue: queue,
        args: [{ workspaceId: WORKSPACE }],
      })

    const gone = await startOwner()
    const unheard = begin('pause')
    await unheard.said('Still waiting.')
    const cancelled = await run('cancel')
    expect([cancelled.code, cancelled.stdout]).toEqual([0, `${WORKSPACE}: cancellation requested\n`])
    expect(cancelled.stderr).toContain(
      `${queue}: start one with \`convohouse worker\` or \`convohouse up\`. The sync ends`,
    )
    await gone.terminate()
    expect(await endOf(unheard)).toBe(`${WORKSPACE}: no sync is running\n`)
    expect((await run('schedule', 'ensure')).code).toBe(0)
    const trigger = await run('schedule', 'trigger')
    expect([trigger.code, trigger.stderr]).toEqual([0, expect.stringMatching(NO_WORKER)])
    expect((await run('schedule', 'delete')).stderr).toBe('')

    const owner = await startOwner()
    const waiting = ['pause', 'resume'].map(word => begin(word))
    for (const { said } of waiting) await said('Still waiting.')
    expect(await hasPollers(client, queue)).toBe(false)
    const query = client.withDeadline(Date.now() + 300, () => owner.query('progress'))
    const error: unknown = await query.catch(error => error)
    expect([error, failedForWantOfWorker(error)]).toEqual([expect.any(ServiceError), true])
    const [given, synced] = [begin('sync', '--on', 'temporal'), begin('sync', '--on', 'temporal')]
    for (const { said } of [given, synced]) await said('Still waiting.')
    given.process.kill('SIGINT')
    const { code, stderr } = await given.ended
    const interrupted = 'error INTERRUPTED: Stopped before a worker answered'
    expect([code, stderr]).toEqual([130, expect.stringContaining(interrupted)])

    await startWorkerAt(path, place)
    expect(await Promise.all(waiting.map(endOf))).toEqual([`${WORKSPACE}: paused\n`, `${WORKSPACE}: resumed\n`])
    expect(await endOf(synced)).toContain(`${WORKSPACE}: up to date`)
    // Repeated, because the server knows of a worker only when its poll has arrived.
    await until(async () => (await hasPollers(client, queue)) === true)
    // The worker polls the export queue for activities only; `hasPollers` counts only polls for workflow tasks.
    expect(await hasPollers(client, exportQueue(config.temporal.queues))).toBe(false)
    const unknown: unknown = await owner.query('nothing').catch(error => error)
    expect(failedForWantOfWorker(unknown)).toBe(false)
  })
})
