// Schedules on Temporal: created from the configuration, paused, deleted; their syncs and backfills.
import type { Client } from '@temporalio/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { checkRange } from '../../src/cli/schedule.ts'
import { readConfig } from '../../src/config.ts'
import { DAY, HOUR } from '../../src/core/time.ts'
import { askForSync, ownerId } from '../../src/run/temporal/client/owner.ts'
import {
  changeSchedule,
  deleteUnconfigured,
  ensureSchedule,
  scheduledSync,
  scheduleState,
} from '../../src/run/temporal/client/schedules.ts'
import { inProcess } from '../cli/in-process.ts'
import { connected, describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { until } from '../until.ts'
import { timeMs, truthOf } from '../workflows/simulated/truth.ts'
import { repeatedRequests } from './expectations.ts'
import { reportOf, startWorkerAt } from './hosts.ts'
import { scene, TOKEN, WORKSPACE } from './scene.ts'
import { writeConfig } from './workers/worker-process.ts'

const NOW_MS = Date.UTC(2026, 5, 1)

describe('the range of a backfill', () => {
  it.each([
    [{}, 'A backfill needs --since.'],
    [{ since: NOW_MS + DAY }, '--since lies in the future.'],
    [{ since: NOW_MS - DAY, until: NOW_MS - 2 * DAY }, '--since is not before --until.'],
    [{ since: NOW_MS - DAY, until: NOW_MS + DAY }, '--until lies in the future.'],
  ])('is refused: %j', (flags, what) => expect(() => checkRange(flags, NOW_MS)).toThrow(what))
})

describeWithTemporal('a schedule', ({ place, env: temporal }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  it('matches the configuration however often it is ensured, and stays paused', async () => {
    const { config } = await scene()
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
    for (const cron of ['99 * * * *', '0 0 * * m']) {
      const { code, stderr } = await schedule('ensure', await writeConfig(config, '2m', { schedule: { cron } }))
      expect([code, stderr]).toEqual([2, expect.stringMatching(/CONFIG_INVALID.*workspace ws_/s)])
    }
    await said('trigger', daily)
    await until(async () => (await said('list', daily)).lastRun?.outcome === 'unanswered')
    const none = await writeConfig(config, '2m')
    expect(await said('ensure', none)).toMatchObject({ ensured: 'deleted' })
    expect(await said('list', none)).toMatchObject({ schedule: null })
    const missing = await schedule('trigger', none)
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('SCHEDULE_MISSING')])
  })

  it('that was created by default is kept if the configuration names none, until it is deleted', async () => {
    const { config } = await scene({ settings: { schedule: null } })
    const [workspace] = config.workspaces
    const ensure = (more: object = {}) => ensureSchedule(client, { config, workspace: workspace!, ...more })
    const otherwise = { everyMs: HOUR, jitterMs: 0 }
    const named = { ...workspace!, schedule: otherwise }
    expect(await ensure({ otherwise })).toBe('created')
    expect([await ensure(), await ensure({ otherwise })]).toEqual(['kept', 'unchanged'])
    // A configured schedule replaces the default one; it is deleted once it is no longer configured.
    expect(await ensure({ workspace: named })).toBe('updated')
    expect([await ensure(), await ensure()]).toEqual(['deleted', 'none'])
    expect(await ensure({ otherwise })).toBe('created')
    await changeSchedule(client, WORKSPACE, 'delete')
    expect(await ensure()).toBe('none')
  })

  it('of a workspace that is no longer configured is deleted, but none of another configuration', async () => {
    const { config } = await scene()
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
    // The call is repeated, because Temporal's list of schedules is eventually consistent.
    await until(async () => (await deleteUnconfigured(client, config)).includes('ws_gone'))
    expect(await deleteUnconfigured(client, config)).toEqual([])
    const left = ['ws_gone', 'ws_elsewhere', WORKSPACE].map(id => scheduleState(client, id))
    expect((await Promise.all(left)).map(({ schedule }) => schedule !== null)).toEqual([false, true, true])
    for (const id of ['ws_elsewhere', WORKSPACE]) await changeSchedule(client, id, 'delete')
  })

  it('syncs through the same owner workflow as manual syncs; a backfill exports what is missing in its range, and nothing twice', async () => {
    const there = await scene({ sandbox: { latencyMs: 20 }, settings: { maxPage: 10 } })
    const path = await writeConfig(there.config, '2m', { since: '30d', schedule: { every: '1h', jitter: '0s' } })
    const { app } = await startWorkerAt(path, place)
    const run = (...args: string[]) =>
      inProcess([...args, '--config', path], { env: { WORKER_TOKEN: TOKEN, ...temporal } })
    const done = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(...args)
      expect(code, stderr).toBe(0)
      return stdout
    }
    const missing = await run('schedule', 'backfill', '--since', '60d')
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('SCHEDULE_MISSING')])
    await done('schedule', 'ensure')
    const schedule = client.schedule.getHandle(ownerId(WORKSPACE))
    onTestFinished(() => schedule.delete())

    const [workspace] = readConfig({ path, env: { WORKER_TOKEN: TOKEN } }).workspaces
    const request = scheduledSync(workspace!, Date.now())
    const byHand = await askForSync(client, { queues: there.config.temporal.queues, request })
    await byHand.handle.executeUpdate('pause')
    for (const _ of ['once', 'again']) await changeSchedule(client, WORKSPACE, 'trigger')
    // The test waits, because the workflow of the tick starts shortly after the trigger.
    await until(async () => / running +\d+ s +\d$/m.test(await done('schedule', 'list')))
    await byHand.handle.executeUpdate('resume')
    expect(await reportOf(byHand.handle)).toMatchObject({ outcome: 'done', run: byHand.run })
    const owners: string[] = []
    for await (const { workflowId } of client.workflow.list({ query: "WorkflowType = 'syncWorkspace'" }))
      owners.push(workflowId)
    expect(owners).toEqual([ownerId(WORKSPACE)])
    const { rows } = app!.warehouse.writer
    expect(await rows('SELECT run FROM _runs')).toEqual([{ run: byHand.run }])

    const held = async () => Number((await rows('SELECT count(*) AS n FROM conversations'))[0]!.n)
    const all = truthOf(there.sandbox, { throughMs: there.sandbox.clock.now() })
    const recent = await held()
    expect(recent).toBeLessThan(all.length)
    const sinceMs = Math.floor((Date.now() - 60 * DAY) / 1_000) * 1_000
    const inRange = all.filter(({ record }) => (timeMs(record.ts) ?? 0) >= sinceMs).length
    const backfill = async (...more: string[]) => {
      const since = ['--since', new Date(sinceMs).toISOString()]
      return JSON.parse((await done('schedule', 'backfill', ...since, ...more, '--json')).trim().split('\n').at(-1)!)
    }
    expect(await backfill()).toMatchObject({ kind: 'report', outcome: 'done', conversations: inRange - recent })
    expect(await held()).toBe(inRange)
    expect(await backfill('--until', '40d')).toMatchObject({ outcome: 'done', conversations: 0, sessions: 0 })

    // Temporal's own backfill: one tick for each hour of a day, all at once.
    const end = new Date(Date.now() - DAY)
    await schedule.backfill({ start: new Date(end.getTime() - DAY), end, overlap: 'ALLOW_ALL' })
    const ticks = async () =>
      (await client.workflow.count("WorkflowType = 'tick' AND ExecutionStatus = 'Completed'")).count
    await until(async () => (await ticks()) >= 24, { everyMs: 100 })
    await client.workflow.getHandle(ownerId(WORKSPACE)).result()
    expect(await held()).toBe(inRange)
    expect(await repeatedRequests(there)).toBe(0)
  })
})
