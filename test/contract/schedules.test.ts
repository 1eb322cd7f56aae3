// Schedules on Temporal: created from the configuration, paused, deleted, and their syncs.
import type { Client } from '@temporalio/client'
import { expect, it, onTestFinished } from 'vitest'
import { HOUR } from '../../src/core/time.ts'
import { askForSync, ownerId } from '../../src/run/temporal/client/owner.ts'
import {
  changeSchedule,
  deleteUnconfigured,
  ensureSchedule,
  scheduledSync,
  scheduleState,
} from '../../src/run/temporal/client/schedules.ts'
import type { SyncReport } from '../../workflows/steps.ts'
import { inProcess } from '../cli/in-process.ts'
import { connected, describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { until } from '../until.ts'
import { reportOf, startWorker } from './hosts.ts'
import { elsewhere, scene, TOKEN, WORKSPACE } from './scene.ts'
import { writeConfig } from './workers/worker-process.ts'

describeWithTemporal('a schedule', ({ place, env: temporal }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  it('matches the configuration however often it is ensured, and stays paused', async () => {
    const { config } = await scene(elsewhere)
    const schedule = async (action: string, path: string) => {
      const env = { WORKER_TOKEN: TOKEN, ...temporal }
      return inProcess(['schedule', action, '--json', '--config', path], { env })
    }
    const said = async (action: string, path: string) => {
      const { code, stdout, stderr } = await schedule(action, path)
      expect(code, stderr).toBe(0)
      return JSON.parse(stdout) as {
        ensured?: string
        schedule?: { paused: boolean; next: string } | null
        lastRun?: { outcome: string } | null
      }
    }
    const hourly = await writeConfig(config, '2m', { schedule: { every: '1h' } })
    expect(await said('ensure', hourly)).toMatchObject({ ensured: 'created' })
    expect(await said('ensure', hourly)).toMatchObject({ ensured: 'unchanged' })
    const { schedule: first } = await said('list', hourly)
    expect(Date.parse(first!.next)).toBeLessThan(Date.now() + 61 * 60_000)
    await said('pause', hourly)
    const daily = await writeConfig(config, '2m', { schedule: { cron: '0 4 * * *' } })
    expect(await said('ensure', daily)).toMatchObject({ ensured: 'updated' })
    const note = 'by `convohouse schedule pause`'
    expect(await said('list', daily)).toMatchObject({ schedule: { paused: true, note }, lastRun: null })
    await said('resume', daily)
    const { schedule: second } = await said('list', daily)
    expect(second).toMatchObject({ when: [{ cron: '0 4 * * *' }], paused: false, note: null })
    expect(second!.next).toMatch(/T04:0/)
    await said('trigger', daily)
    await until(async () => (await said('list', daily)).lastRun?.outcome === 'unanswered')
    const none = await writeConfig(config, '2m')
    expect(await said('ensure', none)).toMatchObject({ ensured: 'deleted' })
    expect(await said('list', none)).toMatchObject({ schedule: null })
    const missing = await schedule('trigger', none)
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('SCHEDULE_MISSING')])
  })

  it('that was created by default is kept if the configuration names none, until it is deleted', async () => {
    const { config } = await scene(elsewhere, { settings: { schedule: null } })
    const [workspace] = config.workspaces
    const ensure = (more: object = {}) => ensureSchedule(client, { config, workspace: workspace!, ...more })
    const otherwise = { everyMs: HOUR, jitterMs: 0 }
    const named = { ...workspace!, schedule: otherwise }
    expect(await ensure({ otherwise })).toBe('created')
    expect([await ensure(), await ensure({ otherwise })]).toEqual(['kept', 'unchanged'])
    // A configured schedule replaces the default one, and is deleted once it is no longer configured.
    expect(await ensure({ workspace: named })).toBe('updated')
    expect([await ensure(), await ensure()]).toEqual(['deleted', 'none'])
    expect(await ensure({ otherwise })).toBe('created')
    await changeSchedule(client, WORKSPACE, 'delete')
    expect(await ensure()).toBe('none')
  })

  it('of a workspace that is no longer configured is deleted, but none of another configuration', async () => {
    const { config } = await scene(elsewhere)
    const [workspace] = config.workspaces
    const schedule = { everyMs: HOUR, jitterMs: 0 }
    const made = (id: string, queues: string) =>
      ensureSchedule(client, {
        config: { ...config, temporal: { ...config.temporal, queues } },
        workspace: { ...workspace!, id, schedule },
      })
    await made('ws_gone', config.temporal.queues)
    await made('ws_elsewhere', 'another-configuration')
    await made(WORKSPACE, config.temporal.queues)
    // Repeated, because Temporal's list of schedules is eventually consistent.
    await until(async () => (await deleteUnconfigured(client, config)).includes('ws_gone'))
    expect(await deleteUnconfigured(client, config)).toEqual([])
    const left = ['ws_gone', 'ws_elsewhere', WORKSPACE].map(id => scheduleState(client, id))
    expect((await Promise.all(left)).map(({ schedule }) => schedule !== null)).toEqual([false, true, true])
    for (const id of ['ws_elsewhere', WORKSPACE]) await changeSchedule(client, id, 'delete')
  })

  it('syncs through the same owner workflow as manual syncs', async () => {
    const there = await scene(elsewhere, {
      sandbox: { latencyMs: 40 },
      settings: { maxPage: 10, since: '80d', schedule: { everyMs: HOUR, jitterMs: 0 } },
    })
    const { config } = there
    const { app } = await startWorker(config, place)
    const [workspace] = config.workspaces
    expect(await ensureSchedule(client, { config, workspace: workspace! })).toBe('created')
    onTestFinished(() => client.schedule.getHandle(ownerId(WORKSPACE)).delete())

    const request = scheduledSync(workspace!, Date.now())
    const byHand = await askForSync(client, { queues: config.temporal.queues, request })
    await byHand.handle.executeUpdate('pause')
    await changeSchedule(client, WORKSPACE, 'trigger')
    await changeSchedule(client, WORKSPACE, 'trigger')
    const path = await writeConfig(config, '2m')
    const list = () => inProcess(['schedule', 'list', '--config', path], { env: { WORKER_TOKEN: TOKEN, ...temporal } })
    // Waits, because the workflow of the tick starts a little after the trigger.
    await until(async () => / running +\d+ s +\d$/m.test((await list()).stdout))
    await byHand.handle.executeUpdate('resume')
    const report: SyncReport = await reportOf(byHand.handle)
    expect(report).toMatchObject({ outcome: 'done', run: byHand.run })
    const owners: string[] = []
    for await (const { workflowId } of client.workflow.list({ query: "WorkflowType = 'syncWorkspace'" }))
      owners.push(workflowId)
    expect(owners).toEqual([ownerId(WORKSPACE)])
    const runs = () => app!.warehouse.writer.rows('SELECT run FROM _runs')
    expect(await runs()).toEqual([{ run: byHand.run }])

    await changeSchedule(client, WORKSPACE, 'trigger')
    await until(async () => (await runs()).length >= 2, { everyMs: 100 })
  })
})
