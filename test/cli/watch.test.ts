// `sync --watch`, and several workspaces, as processes.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { isDeep } from '../tier.ts'
import { until } from '../until.ts'
import { jsonLines, start, TOKEN, temporaryFolder } from './cli-process.ts'
import { inProcess, rowsOf } from './in-process.ts'

/** One begins every second. */
const ARRIVALS = { agents: 1, arrivalsPerDay: 86_400 }

interface Place {
  env: Record<string, string>
  sandboxes: Sandbox[]
}

/** A workspace for each of these sandboxes, in one data folder. */
async function place(sandboxes: Partial<SandboxOptions>[], settings: object = {}): Promise<Place> {
  const started: Sandbox[] = []
  for (const [index, options] of sandboxes.entries()) {
    const still = { port: 0, token: TOKEN, workspaceId: `w${index + 1}`, conversations: 60, arrivalsPerDay: 0 }
    const sandbox = await startSandbox({ ...still, ...options })
    onTestFinished(() => sandbox.close())
    started.push(sandbox)
  }
  const folder = await temporaryFolder()
  const path = join(folder, 'convohouse.yaml')
  const of = ({ url }: Sandbox, index: number) => ({
    id: `w${index + 1}`,
    apiUrl: url,
    token: { env: 'CONVOHOUSE_API_TOKEN' },
    settle: '0s',
    mirrorLag: '0s',
    rereadShare: 0,
    sampleShare: 0,
    ...settings,
  })
  await writeFile(path, JSON.stringify({ home: join(folder, 'data'), threads: 1, workspaces: started.map(of) }))
  return { env: { CONVOHOUSE_API_TOKEN: TOKEN, CONVOHOUSE_CONFIG: path }, sandboxes: started }
}

async function served({ url }: Sandbox): Promise<ServedRequest[]> {
  const answer = await fetch(`${url}/_sandbox/requests?kind=export`)
  return ((await answer.json()) as { requests: ServedRequest[] }).requests
}

/** Rounds that the `--json` output has told the end of. */
const reportsIn = (stdout: string) =>
  jsonLines(stdout.slice(0, stdout.lastIndexOf('\n') + 1)).filter(({ kind }) => kind === 'report')

/** Watches until it has printed enough; all of it. */
async function watched(args: string[], { env }: Place, enough: (stdout: string) => boolean) {
  const watching = start(['sync', '--json', '--yes', ...args], { env })
  let stdout = ''
  watching.process.stdout!.on('data', text => {
    stdout += text
  })
  await until(async () => enough(stdout), { everyMs: 500 })
  watching.process.kill('SIGINT')
  return watching.ended
}

/** Conversations of head windows, by the run that brought them. */
const newByRun = ({ env }: Place) =>
  rowsOf(
    `SELECT run, sum(returned)::INTEGER AS n FROM _requests WHERE "window" LIKE '%-head-%' GROUP BY run HAVING n > 0`,
    env,
  )

describe('sync --watch', { timeout: 90_000 }, () => {
  it('fetches new conversations in each round while history has no sessions left in the period', async () => {
    const roundsOf = (told: string) => reportsIn(told).filter(({ outcome }) => outcome === 'period-spent')
    const there = await place([{ ...ARRIVALS, conversations: 400, quotaSessions: 200 }], { headReserve: 0.5 })
    const { code, stdout, stderr } = await watched(['--watch', '10s'], there, told => roundsOf(told).length === 3)
    expect(code, stderr).toBe(130)
    expect(roundsOf(stdout)[0]!.windowsLeft).toBeGreaterThan(0)
    expect((await newByRun(there)).length).toBeGreaterThanOrEqual(2)
    expect((await served(there.sandboxes[0]!)).every(({ status }) => status === 200)).toBe(true)
  })

  it('fetches new conversations in each round while history waits for the hour', async () => {
    const there = await place([{ ...ARRIVALS, conversations: 1_200, hourlyRequests: 400 }], { pageSize: 2 })
    const { code, stdout, stderr } = await watched(['--watch', '12s'], there, told => {
      const waited = told.indexOf('"waiting"')
      return waited > 0 && reportsIn(told.slice(told.indexOf('\n', waited))).length >= 3
    })
    expect(code, stderr).toBe(130)
    expect(reportsIn(stdout)[0]).toMatchObject({ outcome: 'preempted', exitCode: 0 })
    expect((await newByRun(there)).length).toBeGreaterThanOrEqual(2)
    const requests = await served(there.sandboxes[0]!)
    expect(requests.every(({ status }) => status === 200)).toBe(true)
  })
})

describe('several workspaces', { timeout: 90_000 }, () => {
  const SPENT = { conversations: 400, hourlyRequests: 10 }

  it('are synced side by side: one that waits for its hour keeps none of the others waiting', async () => {
    const there = await place([SPENT, {}], { pageSize: 10 })
    const [first, second] = there.sandboxes
    const syncing = start(['sync', '--json', '--yes'], { env: there.env })
    let stdout = ''
    syncing.process.stdout!.on('data', text => {
      stdout += text
    })
    await until(async () => reportsIn(stdout).some(({ workspaceId }) => workspaceId === 'w2'))
    expect(stdout).toContain('"waiting"')
    expect((await served(first!)).length).toBeLessThanOrEqual(10)
    expect((await served(second!)).length).toBeGreaterThan(5)
    syncing.process.kill('SIGINT')
    const { code } = await syncing.ended
    expect(code).toBe(130)
    const reports = reportsIn(stdout)
    expect(reports.map(({ workspaceId, outcome, exitCode }) => [workspaceId, outcome, exitCode])).toEqual([
      ['w2', 'done', 0],
      ['w1', 'interrupted', 130],
    ])
    const [held] = await rowsOf('SELECT count(DISTINCT workspace_id) AS n FROM conversations', there.env)
    expect(Number(held!.n)).toBe(2)
  })

  it.runIf(isDeep)(
    'are watched side by side: one that waits for its hour keeps none of the others waiting',
    async () => {
      const there = await place([SPENT, { agents: 1 }], { pageSize: 10 })
      const roundsOf = (told: string) =>
        reportsIn(told).filter(({ workspaceId, outcome }) => workspaceId === 'w2' && outcome === 'done')
      const { code } = await watched(['--watch', '10s'], there, told => roundsOf(told).length === 2)
      expect(code).toBe(130)
      expect((await served(there.sandboxes[0]!)).length).toBeLessThanOrEqual(10)
    },
  )

  it('end with the first exit code that is not 0, in their order, and an error of one ends none of the others', async () => {
    const there = await place([{ paid: false }, SPENT, {}], { pageSize: 10 })
    const { code, stdout } = await inProcess(['sync', '--json', '--yes', '--no-wait'], { env: there.env })
    expect(code).toBe(3)
    const codes = reportsIn(stdout).map(({ workspaceId, exitCode }) => [workspaceId, exitCode])
    expect(codes.sort()).toEqual([
      ['w1', 3],
      ['w2', 7],
      ['w3', 0],
    ])
  })
})
