import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { jsonLines, scene, start } from '../cli-process.ts'
import { whileSlowed } from '../delayed-vendor.ts'
import { inProcess, rowsOf } from '../in-process.ts'

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

describe('a sync with a wrong token', () => {
  it('leaves a row with code, hint, duration and origin; status shows it beside the last success, also after a replay; a declined sync is no failure', async () => {
    const { env } = await scene()
    const wrong = { ...env, CONVOHOUSE_API_TOKEN: 'another-token' }
    expect((await inProcess(['sync'], { env: wrong })).code).toBe(3)
    const alone = await runsIn(env)
    expect(alone).toMatchObject({ lastSuccess: null, lastFailure: { run: alone.lastRun!.run, outcome: 'failed' } })
    expect(await statusText(env)).toMatch(
      /last success none yet\n {2}last failure .+ by sync, after .+\n +API_UNAUTHORIZED: .+\n +→ /,
    )

    expect((await inProcess(['sync', '--yes'], { env })).code).toBe(0)
    expect((await inProcess(['sync'], { env: wrong })).code).toBe(3)
    const { lastRun, lastSuccess, lastFailure } = await runsIn(env)
    expect(lastRun).toEqual(lastFailure)
    expect(lastSuccess).toMatchObject({
      outcome: 'done',
      success: true,
      origin: 'sync',
      errorCode: null,
      state: 'ended',
    })
    expect(lastFailure).toMatchObject({ errorCode: 'API_UNAUTHORIZED', success: false, origin: 'sync' })
    expect(lastFailure!.hint).toMatch(/token/)
    expect(lastFailure!.durationMs).toBeGreaterThanOrEqual(0)

    const sql = 'SELECT * FROM _runs ORDER BY started_at'
    const before = await rowsOf(sql, env)
    expect(before.map(({ outcome, error_code }) => [outcome, error_code])).toEqual([
      ['failed', 'API_UNAUTHORIZED'],
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

describe('a sync in progress', () => {
  it('is shown as running, with its process, and as killed once that is gone, which the next sync records', async () => {
    const { env, sandbox } = await scene({ conversations: 400, latencyMs: 200 }, { pageSize: 20 })
    const running = start(['sync', '--yes', '--json'], { env })
    await new Promise<void>(resolve =>
      running.process.stdout!.on('data', text => String(text).includes('planned') && resolve()),
    )
    const [during, text] = await whileSlowed(sandbox, async () => {
      const seen = [await runsIn(env), await statusText(env)] as const
      running.process.kill('SIGKILL')
      await running.ended
      return seen
    })
    expect(during.lastRun).toMatchObject({ state: 'running', pid: running.process.pid, outcome: null, endedAt: null })
    expect(text).toMatch(new RegExp(`last run {5}running, started .+ by sync, PID ${running.process.pid}`))

    const after = await runsIn(env)
    expect(after.lastRun).toMatchObject({
      run: during.lastRun!.run,
      state: 'killed',
      outcome: 'killed',
      success: false,
    })
    expect(after.lastFailure).toEqual(after.lastRun)
    expect(await statusText(env)).toMatch(
      /last failure killed, last seen .+ by sync, PID \d+\n +→ The next sync continues/,
    )

    expect((await inProcess(['sync', '--max-requests', '1'], { env })).code).toBe(0)
    const later = await runsIn(env)
    // The next sync ends the killed run at the time at which it was last seen.
    expect(later.lastFailure).toEqual({ ...after.lastFailure, seenAt: null })
    const killed = await rowsOf("SELECT * FROM _runs WHERE outcome = 'killed'", env)
    expect((await inProcess(['replay'], { env })).code).toBe(0)
    expect(await rowsOf("SELECT * FROM _runs WHERE outcome = 'killed'", env)).toEqual(killed)
    expect(later.lastSuccess).toMatchObject({ outcome: 'limit-reached' })
  })
})

describe('a sync whose records could not all be loaded', () => {
  it('says so in its report, in JSON and in its row; the next one has no warning, and does not call the workspace up to date', async () => {
    const { env } = await scene({ hostile: { 'no-object': 0.05 } })
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
    const { env: all, home } = await scene({ conversations: 5 })
    // Configured by variables only, because the configuration file names no webhook secret.
    const { CONVOHOUSE_CONFIG: _file, ...env } = all
    const refuse = async (count: number) => {
      const secret = { CONVOHOUSE_WEBHOOK_SECRET: 'whsec-canary-3a77' }
      const receiver = start(['receive', '--port', '0', '--json'], { env: { ...env, ...secret } })
      const { url } = await new Promise<{ url: string }>(resolve =>
        receiver.process.stdout!.once('data', text => resolve(JSON.parse(text))),
      )
      const body = JSON.stringify({ event: 'webhook_test', createdAt: 1, workspaceSecret: 'whsec-of-old' })
      for (let n = 0; n < count; n++)
        expect((await fetch(`${url}/webhooks/ws_demo`, { method: 'POST', body })).status).toBe(401)
      // A GET, as from a scanner or a browser, does not count as an event.
      expect((await fetch(`${url}/webhooks/ws_demo`)).status).toBe(405)
      receiver.process.kill('SIGTERM')
      await receiver.ended
    }
    const report = async () => jsonLines((await inProcess(['sync', '--json'], { env })).stdout).at(-1)
    await refuse(3)
    const warning =
      '3 webhook events were refused since the previous sync, and the vendor will not send them again: `convohouse status` shows why'
    expect(await report()).toMatchObject({ kind: 'report', exitCode: 0, webhooksRefused: 3, warnings: [warning] })
    expect(await report()).not.toHaveProperty('webhooksRefused')
    await refuse(1)
    const { stdout } = await inProcess(['sync'], { env })
    expect(stdout).toContain('warning: 1 webhook event was refused since the previous sync')
    // As after a restore of the data folder without its spool: the count restarts, and no negative number is reported.
    await rm(join(home, 'spool', '.refused.json'))
    expect(await report()).not.toHaveProperty('webhooksRefused')
  })
})
