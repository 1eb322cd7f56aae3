// Several workspaces, also with `sync --watch`, as processes.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import type { ServedRequest } from '../../../src/sandbox/request-log.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/server.ts'
import { isDeep } from '../../tier.ts'
import { until } from '../../until.ts'
import { jsonLines, start, TOKEN, temporaryFolder } from '../cli-process.ts'
import { inProcess, rowsOf } from '../in-process.ts'

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

/** Number of finished rounds in the `--json` output. */
const reportsIn = (stdout: string) =>
  jsonLines(stdout.slice(0, stdout.lastIndexOf('\n') + 1)).filter(({ kind }) => kind === 'report')

/** Watches until the output satisfies the condition; returns all of it. */
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

describe('several workspaces', { timeout: 90_000 }, () => {
  const SPENT = { conversations: 400, hourlyRequests: 10 }

  it('are synced concurrently: one that waits for its rate limit does not delay the others', async () => {
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
    'are watched concurrently: one that waits for its rate limit does not delay the others',
    async () => {
      const there = await place([SPENT, { agents: 1 }], { pageSize: 10 })
      const roundsOf = (reported: string) =>
        reportsIn(reported).filter(({ workspaceId, outcome }) => workspaceId === 'w2' && outcome === 'done')
      const { code } = await watched(['--watch', '10s'], there, reported => roundsOf(reported).length === 2)
      expect(code).toBe(130)
      expect((await served(there.sandboxes[0]!)).length).toBeLessThanOrEqual(10)
    },
  )

  it('exit with the first code that is not 0, in their order, and an error of one stops none of the others', async () => {
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
