// `schedule backfill`: its range, and what it exports; also Temporal's own backfill of a schedule.
import type { Client } from '@temporalio/client'
import { describe, expect, it } from 'vitest'
import { checkRange } from '../../src/cli/schedule.ts'
import { DAY } from '../../src/core/time.ts'
import { ownerId } from '../../src/run/temporal/client/owner.ts'
import { inProcess } from '../cli/in-process.ts'
import { connected, describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { until } from '../until.ts'
import { timeMs } from '../workflows/simulated/expected-rows.ts'
import { truthOf } from '../workflows/simulated/truth.ts'
import { startWorkerAt } from './hosts.ts'
import { elsewhere, scene, TOKEN, WORKSPACE } from './scene.ts'
import { writeConfig } from './workers/worker-process.ts'

const NOW_MS = Date.UTC(2026, 5, 1)

describe('the range of a backfill', () => {
  it.each([
    [{}, 'A backfill needs --since.'],
    [{ since: NOW_MS + DAY }, '--since lies in the future.'],
    [{ since: NOW_MS - DAY, until: NOW_MS - 2 * DAY }, '--since is not before --until.'],
    [{ since: NOW_MS - DAY, until: NOW_MS + DAY }, '--until lies in the future.'],
  ])('is refused: %j', (flags, what) => expect(() => checkRange(flags, NOW_MS)).toThrow(what))

  it('may end now or earlier', () => {
    checkRange({ since: NOW_MS - DAY }, NOW_MS)
    checkRange({ since: NOW_MS - 2 * DAY, until: NOW_MS - DAY }, NOW_MS)
  })
})

describeWithTemporal('a backfill', ({ place, env: temporal }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  /** A workspace with a worker and an hourly schedule; `truth` counts the conversations since a given time. */
  async function app() {
    const there = await scene(elsewhere, { settings: { maxPage: 10 } })
    const path = await writeConfig(there.config, '3s', { since: '30d', schedule: { every: '1h' } })
    const { app } = await startWorkerAt(path, place)
    const env = { WORKER_TOKEN: TOKEN, ...temporal }
    const run = (...args: string[]) => inProcess([...args, '--config', path], { env })
    const done = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(...args)
      expect(code, stderr).toBe(0)
      return stdout
    }
    const report = async (...args: string[]) => JSON.parse((await done(...args, '--json')).trim().split('\n').at(-1)!)
    const held = async () => Number((await app!.warehouse.writer.rows('SELECT count(*) AS n FROM conversations'))[0]!.n)
    const all = truthOf(there.sandbox, { throughMs: there.sandbox.clock.now() })
    const truth = (sinceMs: number) => all.filter(({ record }) => (timeMs(record.ts) ?? 0) >= sinceMs).length
    return { ...there, run, done, report, held, truth }
  }

  it('exports what is missing in its range, and nothing twice', async () => {
    const there = await app()
    const missing = await there.run('schedule', 'backfill', '--since', '60d')
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('SCHEDULE_MISSING')])
    await there.done('schedule', 'ensure')
    await there.done('sync', '--on', 'temporal')
    const recent = await there.held()
    expect(recent).toBeLessThan(there.truth(0))
    const sinceMs = Math.floor((Date.now() - 60 * DAY) / 1_000) * 1_000
    const range = ['--since', new Date(sinceMs).toISOString()]
    const first = await there.report('schedule', 'backfill', ...range)
    expect(first).toMatchObject({ kind: 'report', outcome: 'done', conversations: there.truth(sinceMs) - recent })
    expect(await there.held()).toBe(there.truth(sinceMs))
    const again = await there.report('schedule', 'backfill', ...range, '--until', '40d')
    expect(again).toMatchObject({ outcome: 'done', conversations: 0, sessions: 0 })

    // Temporal's own backfill: one tick for each hour of two days, all at once.
    const handle = client.schedule.getHandle(ownerId(WORKSPACE))
    const end = new Date(Date.now() - DAY)
    await handle.backfill({ start: new Date(end.getTime() - 2 * DAY), end, overlap: 'ALLOW_ALL' })
    const ticks = async () =>
      (await client.workflow.count("WorkflowType = 'tick' AND ExecutionStatus = 'Completed'")).count
    await until(async () => (await ticks()) >= 48, { everyMs: 100 })
    await client.workflow.getHandle(ownerId(WORKSPACE)).result()
    expect(await there.held()).toBe(there.truth(sinceMs))
    const asked = (await there.exported()).map(({ agentId, query }) => JSON.stringify([agentId, query]))
    expect(new Set(asked).size).toBe(asked.length)
  })
})
