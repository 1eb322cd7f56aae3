// `sync --on temporal`, with a worker and without one, and the command's other messages about Temporal.
import { type Client, ServiceError } from '@temporalio/client'
import { expect, it, onTestFinished } from 'vitest'
import { DAY, HOUR } from '../../src/core/time.ts'
import { failedForWantOfWorker, hasPollers } from '../../src/run/temporal/client/await-worker.ts'
import { ownerId } from '../../src/run/temporal/client/owner.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { exportQueue, warehouseQueue } from '../../workflows/activities.ts'
import { type Running, start } from '../cli/cli-process.ts'
import { whileSlowed } from '../cli/delayed-vendor.ts'
import { inProcess } from '../cli/in-process.ts'
import { connected, describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { until } from '../until.ts'
import { startWorkerAt } from './hosts.ts'
import { scene, TOKEN, WORKSPACE } from './scene.ts'
import { writeConfig } from './workers/worker-process.ts'

interface Line {
  kind: string
  outcome?: string
  pages?: number
  run?: string
}

const lines = (stdout: string): Line[] =>
  stdout
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Line)

/** The message is one line and names the command that starts a worker. */
const NO_WORKER =
  /No worker has answered yet, and none polls the queue contract-\S+-warehouse: start one with `convohouse worker` or/g

/** Returns the output of a command that succeeded and reported once that no worker is running. */
async function endOf(running: Running): Promise<string> {
  const { code, stdout, stderr } = await running.ended
  expect(code, stderr).toBe(0)
  expect(stderr.match(NO_WORKER)).toHaveLength(1)
  return stdout
}

describeWithTemporal('sync --on temporal', ({ place, env }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  /** Returns a workspace without a worker. Commands run in this process (`run`) or in their own (`begin`). */
  async function app(sandbox: Partial<SandboxOptions>) {
    const there = await scene({ sandbox, settings: { maxPage: 10 } })
    const path = await writeConfig(there.config, '2m', { schedule: { every: '1h' } })
    const options = { env: { WORKER_TOKEN: TOKEN, ...env } }
    const args = (...words: string[]) => [...words, '--config', path]
    onTestFinished(
      () =>
        client.workflow
          .getHandle(ownerId(WORKSPACE))
          .terminate()
          .catch(() => {}) as Promise<void>,
    )
    return {
      ...there,
      queue: warehouseQueue(there.config.temporal.queues),
      startWorker: () => startWorkerAt(path, place),
      run: (...words: string[]) => inProcess(args(...words), options),
      begin: (...words: string[]) => start(args(...words), options),
    }
  }

  it('and other commands wait for a worker, until their sync has ended, or until Ctrl-C; cancel and a tick are accepted; a sync shows planning and progress and ends with its report, as an embedded one does, and is refused without --yes if it exports stored conversations again', async () => {
    const there = await app({ latencyMs: 30, startMs: Date.now() - 2 * DAY })
    const { run, begin, queue } = there
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
    const waiting = begin('sync', '--on', 'temporal')
    await waiting.said('Still waiting.')
    expect(await hasPollers(client, queue)).toBe(false)
    const query = client.withDeadline(Date.now() + 300, () => owner.query('progress'))
    const error: unknown = await query.catch(error => error)
    expect([error, failedForWantOfWorker(error)]).toEqual([expect.any(ServiceError), true])
    const given = begin('sync', '--on', 'temporal')
    await given.said('Still waiting.')
    given.process.kill('SIGINT')
    const { code, stderr } = await given.ended
    const interrupted = 'error INTERRUPTED: Stopped before a worker answered'
    expect([code, stderr]).toEqual([130, expect.stringContaining(interrupted)])

    await there.startWorker()
    expect(await endOf(waiting)).toContain(`${WORKSPACE}: up to date`)
    // A tick that is accepted while that sync runs asks for nothing more; on a busy machine it may come later, and is a sync of its own.
    for await (const { workflowId } of client.workflow.list({
      query: `WorkflowType = 'tick' AND TaskQueue = '${queue}'`,
    }))
      await client.workflow.getHandle(workflowId).result()
    await client.workflow.getHandle(ownerId(WORKSPACE)).result()
    // The check is repeated, because the server knows of a worker only after its first poll.
    await until(async () => (await hasPollers(client, queue)) === true)
    // The worker polls the export queue for activities only; `hasPollers` counts only polls for workflow tasks.
    expect(await hasPollers(client, exportQueue(there.config.temporal.queues))).toBe(false)
    const unknown: unknown = await owner.query('nothing').catch(error => error)
    expect(failedForWantOfWorker(unknown)).toBe(false)

    there.sandbox.clock.advance(HOUR)
    const before = (await there.exported()).length
    const followed = await run('sync', '--on', 'temporal', '--json')
    expect(followed.code, followed.stderr).toBe(0)
    const updates = lines(followed.stdout)
    expect(updates.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['planned', 'progress', 'report']))
    expect(updates.at(-1)).toMatchObject({ kind: 'report', outcome: 'done' })
    expect(updates.at(-1)!.pages).toBe((await there.exported()).length - before)
    const full = await run('sync', '--on', 'temporal', '--full')
    expect([full.code, full.stderr]).toEqual([
      2,
      expect.stringMatching(/which bills [\d,]+( to [\d,]+)? sessions again/),
    ])
    expect((await there.exported()).length).toBe(before + updates.at(-1)!.pages!)
    const beside = await run('sync')
    expect([beside.code, beside.stderr]).toEqual([6, expect.stringContaining('sync --on temporal')])

    there.sandbox.clock.advance(DAY)
    const running = await whileSlowed(there.sandbox, async () => {
      const begun = begin('sync', '--on', 'temporal')
      await begun.said('ws_demo: planning: listing the agents')
      return begun
    })
    const planned = await running.ended
    expect(planned.code, planned.stderr).toBe(0)
    expect(planned.stderr.match(/planning/g)).toHaveLength(1)
    expect(planned.stderr).toMatch(/planning[\s\S]*reading 3 windows/)
  })

  it('continues after its follower detaches, and can be joined, paused, resumed and cancelled', async () => {
    const there = await app({ latencyMs: 1_000, conversations: 300 })
    await there.startWorker()
    const first = there.begin('sync', '--on', 'temporal')
    await until(async () => (await there.exported()).length >= 2, { everyMs: 20 })
    expect((await there.run('pause')).stdout).toContain('paused')
    first.process.kill('SIGINT')
    const { code, stderr } = await first.ended
    expect([code, stderr]).toEqual([0, expect.stringContaining('The sync continues on Temporal')])
    expect((await there.run('allow', '--overage-packs', '3')).stdout).toContain('new limits accepted')
    const nothing = await there.run('allow')
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('No limit is given')])
    const second = there.begin('sync', '--on', 'temporal')
    await second.said('an identical sync is already running')
    await second.said('paused: no requests')
    const behind = there.begin('sync', '--on', 'temporal', '--full', '--yes')
    await behind.said('ws_demo: waiting behind sync ')
    expect((await there.run('resume')).stdout).toContain('resumed')
    expect((await there.run('cancel')).stdout).toContain('cancellation requested')
    const ended = await second.ended
    expect([ended.code, ended.stdout]).toEqual([130, expect.stringContaining('stopped')])
    const waited = await behind.ended
    expect([waited.code, waited.stderr]).toEqual([
      130,
      expect.stringMatching(/^ws_demo: waiting behind sync [0-9a-f]{8}, which is paused \(`convohouse resume`\)$/m),
    ])
    expect(waited.stderr.match(/waiting behind/g)).toHaveLength(1)
    await until(async () => (await there.run('cancel')).stdout.includes('no sync is running'))
  })
})
