import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runLines } from '../../src/cli/status/status-text.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { RefusalReport } from '../../src/receiver/refusal-report.ts'
import { runsStatus } from '../../src/reports/runs.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { beginRun, endRun } from '../../src/warehouse/runs.ts'
import { freshWindow, landConversations } from '../warehouse/landed-pages.ts'
import { jsonLines } from './cli-process.ts'
import { inProcess, rowsOf } from './in-process.ts'
import { syncedOnce } from './synced-once.ts'

interface RunStatus {
  run: string
  state: string
  origin: string
  pid: number
  success: boolean
  outcome: string | null
  errorCode: string | null
  error: string | null
  hint: string | null
  durationMs: number | null
  endedAt: string | null
  quarantined: number | null
}

type Runs = Record<'lastRun' | 'lastSuccess' | 'lastFailure', RunStatus | null>

async function runsIn(env: Record<string, string>): Promise<Runs> {
  const { stdout } = await inProcess(['status', '--json'], { env })
  return JSON.parse(stdout).workspaces[0]
}

const statusText = async (env: Record<string, string>): Promise<string> => (await inProcess(['status'], { env })).stdout

const synced = syncedOnce({ conversations: 30 })

describe('a sync with a wrong token', () => {
  it('leaves a row with code, hint, duration and origin; status shows it beside the last success, also after a replay; a declined sync is no failure', async () => {
    const { env } = await synced()
    const wrong = { ...env, CONVOHOUSE_API_TOKEN: 'another-token' }
    expect((await inProcess(['sync'], { env: wrong })).code).toBe(3)
    const { lastRun, lastSuccess, lastFailure } = await runsIn(env)
    expect(lastRun).toEqual(lastFailure)
    const success = { outcome: 'done', success: true, origin: 'sync', errorCode: null, state: 'ended' }
    expect(lastSuccess).toMatchObject(success)
    const failure = { outcome: 'failed', errorCode: 'API_UNAUTHORIZED', success: false, origin: 'sync' }
    expect(lastFailure).toMatchObject({ ...failure, hint: expect.stringMatching(/token/) })
    expect(lastFailure!.durationMs).toBeGreaterThanOrEqual(0)
    expect(await statusText(env)).toMatch(
      /last success .+ by sync, took .+\n {2}last failure .+ by sync, after .+\n +API_UNAUTHORIZED: .+\n +→ /,
    )

    const sql = 'SELECT * FROM _runs ORDER BY started_at'
    const before = await rowsOf(sql, env)
    expect(before.map(({ outcome, error_code }) => [outcome, error_code])).toEqual([
      ['done', null],
      ['failed', 'API_UNAUTHORIZED'],
    ])
    expect((await inProcess(['replay'], { env })).code).toBe(0)
    expect(await rowsOf(sql, env)).toEqual(before)

    // A sync that nobody confirmed is stored as declined, and is not a failure.
    expect((await inProcess(['sync', '--full'], { env })).code).toBe(2)
    const declined = await runsIn(env)
    expect(declined.lastRun).toMatchObject({ outcome: 'declined', errorCode: 'CONFIRMATION_NEEDED' })
    expect(declined.lastFailure).toEqual(lastFailure)
  })
})

describe('a run without an end', () => {
  it('is shown as killed once no process holds the warehouse, which the next sync records', async () => {
    const { env, home } = await synced()
    const nowMs = Date.now()
    const { writer, close } = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
    const begun = { run: 'gone', startedMs: nowMs, host: 'embedded', origin: 'sync', pid: 4_711 } as const
    await beginRun(writer, 'ws_demo', begun, nowMs).finally(close)
    const after = await runsIn(env)
    expect(after.lastRun).toMatchObject({ run: 'gone', state: 'killed', outcome: 'killed', success: false })
    expect(after.lastFailure).toEqual(after.lastRun)
    expect(await statusText(env)).toMatch(
      /last failure killed, last seen .+ by sync, PID 4711\n +→ The next sync continues/,
    )

    expect((await inProcess(['sync', '--max-requests', '1'], { env })).code).toBe(0)
    const later = await runsIn(env)
    // The next sync ends the killed run at the time at which it was last seen.
    expect(later.lastFailure).toEqual({ ...after.lastFailure, seenAt: null })
  })

  it('is shown as running or as waiting for a worker if another request preempted it on Temporal', async () => {
    const { home } = await synced()
    const [nowMs, beganMs] = [Date.now(), Date.now() - 60_000]
    const { writer, close } = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
    onTestFinished(close)
    const record = { run: 'long', startedMs: nowMs, host: 'temporal', origin: 'sync', pid: 1 } as const
    await beginRun(writer, 'ws_demo', record, beganMs)
    const end = { outcome: 'preempted', success: true, requests: 3, sessions: 2, pages: 3, conversations: 2 }
    await endRun(writer, 'ws_demo', { run: 'long', end, endedMs: nowMs, unlessEnded: false })
    const statusIf = (isHeld: boolean) =>
      runsStatus(
        sql => writer.rows(sql),
        "workspace_id = 'ws_demo'",
        () => isHeld,
      )
    const running = await statusIf(true)
    expect(running.lastRun).toMatchObject({ state: 'running', endedAt: null, outcome: null, success: null })
    expect(runLines(running, nowMs)[0]).toMatch(/^ {2}last run {5}running, started/)
    expect((await statusIf(false)).lastRun).toMatchObject({ state: 'waiting', endedAt: null })
  })
})

describe('a sync whose records could not all be loaded', () => {
  it('says so in its report, in JSON and in its row; the next one has no warning, and does not call the workspace up to date', async () => {
    const { env, home } = await synced()
    const page = { records: ['no object', 7], window: freshWindow({ kind: 'head' }) }
    await landConversations(openLanding(home).workspace('ws_demo'), page)
    const { stdout, code } = await inProcess(['sync', '--json'], { env })
    const report = jsonLines(stdout).at(-1) as { quarantined: number; warnings: string[] }
    expect(code).toBe(0)
    const [row] = await rowsOf('SELECT count(*)::INTEGER AS n FROM _quarantine', env)
    expect(report.quarantined).toBe(row!.n)
    expect(report.quarantined).toBeGreaterThan(1)
    expect(report.warnings).toEqual([
      expect.stringMatching(/records could not be loaded and are quarantined: `convohouse quarantine list`/),
    ])
    expect((await runsIn(env)).lastSuccess).toMatchObject({ quarantined: report.quarantined })
    const next = await inProcess(['sync'], { env })
    expect(next.stdout).not.toContain('warning')
    expect(next.stdout).toContain('ended, but not everything is stored')
    expect(next.stdout).toMatch(/\d+ conversation records cannot be stored: `convohouse quarantine list`/)
  })
})

describe('a sync after webhook events were refused', () => {
  it('reports how many since the previous sync, in JSON and as a warning', async () => {
    const { env, home } = await synced()
    const refuse = async (count: number) => {
      const refusals = new RefusalReport({ home, log: () => {} })
      for (let n = 0; n < count; n++) refusals.refuse('wrong-secret', 'ws_demo')
      await refusals.close()
    }
    const report = async () => jsonLines((await inProcess(['sync', '--json'], { env })).stdout).at(-1)
    await refuse(3)
    const warning =
      '3 webhook events were refused since the previous sync, and the vendor will not send them again: `convohouse status` shows why'
    expect(await report()).toMatchObject({ kind: 'report', exitCode: 0, webhooksRefused: 3, warnings: [warning] })
    await refuse(1)
    const { stdout } = await inProcess(['sync'], { env })
    expect(stdout).toContain('warning: 1 webhook event was refused since the previous sync')
    // Simulates a restored data folder without its spool: the count restarts, and no negative number is reported.
    await rm(join(home, 'spool', '.refused.json'))
    expect(await report()).not.toHaveProperty('webhooksRefused')
  })
})
