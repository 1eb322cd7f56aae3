// How `status` reports a run on Temporal that a newer request preempted.
import { expect, it } from 'vitest'
import { runLines } from '../../../src/cli/status/status-text.ts'
import { runsStatus } from '../../../src/reports/runs.ts'
import { beginRun, endRun } from '../../../src/warehouse/runs.ts'
import { temporaryWarehouse } from '../../warehouse/temporary-warehouse.ts'

const app = temporaryWarehouse()
const NOW = Date.UTC(2026, 10, 20, 12)

it('a preempted run is shown as running or as waiting for a worker, not as ended', async () => {
  const { writer } = app.warehouse
  const record = { run: 'long', startedMs: NOW - 60_000, host: 'temporal', origin: 'sync', pid: 1 } as const
  await beginRun(writer, 'ws', record, NOW - 60_000)
  const end = { outcome: 'preempted', success: true, requests: 3, sessions: 2, pages: 3, conversations: 2 }
  await endRun(writer, 'ws', { run: 'long', end, endedMs: NOW - 30_000, unlessEnded: false })
  const statusIf = (isHeld: boolean) =>
    runsStatus(
      sql => writer.rows(sql),
      "workspace_id = 'ws'",
      () => isHeld,
    )
  const running = await statusIf(true)
  expect(running.lastRun).toMatchObject({ state: 'running', endedAt: null, outcome: null, success: null })
  expect(runLines(running, NOW)[0]).toMatch(/^ {2}last run {5}running, started/)
  expect((await statusIf(false)).lastRun).toMatchObject({ state: 'waiting', endedAt: null })
})
