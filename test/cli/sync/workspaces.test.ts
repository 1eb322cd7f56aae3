// Several workspaces in one sync.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import { NO_REFRESH, openScene, type Scene, TOKEN_ENV } from '../../scene.ts'
import { until } from '../../until.ts'
import { jsonLines, start, temporaryFolder } from '../cli-process.ts'
import { inProcess, rowsOf } from '../in-process.ts'

interface Workspaces {
  env: Record<string, string>
  /** One scene for each workspace, of which only the sandbox is used, not the configuration. */
  scenes: Scene[]
}

/** Workspaces w1, w2 … in one data folder, each with its own sandbox. */
async function openWorkspaces(sandboxes: Partial<SandboxOptions>[], settings: object = {}): Promise<Workspaces> {
  const scenes: Scene[] = []
  for (const [index, options] of sandboxes.entries()) {
    const sandbox = { conversations: 60, arrivalsPerDay: 0, ...options }
    const scene = await openScene({ workspaceId: `w${index + 1}`, sandbox })
    onTestFinished(scene.close)
    scenes.push(scene)
  }
  const folder = await temporaryFolder()
  const path = join(folder, 'convohouse.yaml')
  const workspaces = scenes.map(({ sandbox }, index) => ({
    id: `w${index + 1}`,
    apiUrl: sandbox.url,
    token: { env: 'CONVOHOUSE_API_TOKEN' },
    settle: '0s',
    mirrorLag: '0s',
    ...NO_REFRESH,
    ...settings,
  }))
  await writeFile(path, JSON.stringify({ home: join(folder, 'data'), threads: 1, workspaces }))
  return { env: { ...TOKEN_ENV, CONVOHOUSE_CONFIG: path }, scenes }
}

/** The reports of finished rounds in the `--json` output. */
const reportsIn = (stdout: string) =>
  jsonLines(stdout.slice(0, stdout.lastIndexOf('\n') + 1)).filter(({ kind }) => kind === 'report')

describe('several workspaces', () => {
  const SPENT = { conversations: 400, hourlyRequests: 10 }

  it('are synced concurrently: one that waits for its rate limit does not delay the others', async () => {
    const { env, scenes } = await openWorkspaces([SPENT, {}], { pageSize: 10 })
    const [first, second] = scenes
    const syncing = start(['sync', '--json', '--yes'], { env })
    let stdout = ''
    syncing.process.stdout!.on('data', text => {
      stdout += text
    })
    await until(async () => reportsIn(stdout).some(({ workspaceId }) => workspaceId === 'w2'))
    expect(stdout).toContain('"waiting"')
    expect((await first!.served()).length).toBeLessThanOrEqual(10)
    expect((await second!.served()).length).toBeGreaterThan(5)
    syncing.process.kill('SIGINT')
    const { code } = await syncing.ended
    expect(code).toBe(130)
    const reports = reportsIn(stdout)
    expect(reports.map(({ workspaceId, outcome, exitCode }) => [workspaceId, outcome, exitCode])).toEqual([
      ['w2', 'done', 0],
      ['w1', 'interrupted', 130],
    ])
    const [held] = await rowsOf('SELECT count(DISTINCT workspace_id) AS n FROM conversations', env)
    expect(Number(held!.n)).toBe(2)
  })

  it('exit with the first code that is not 0, in their order, and an error of one stops none of the others', async () => {
    const { env } = await openWorkspaces([{ paid: false }, SPENT, {}], { pageSize: 10 })
    const { code, stdout } = await inProcess(['sync', '--json', '--yes', '--no-wait'], { env })
    expect(code).toBe(3)
    const codes = reportsIn(stdout).map(({ workspaceId, exitCode }) => [workspaceId, exitCode])
    expect(codes.sort()).toEqual([
      ['w1', 3],
      ['w2', 7],
      ['w3', 0],
    ])
    const unclear = await inProcess(['sync', '--agent', 'a'], { env })
    expect(unclear.stderr).toContain('--agent needs --workspace: 3 workspaces are configured.')
    const unknown = await inProcess(['sync', '--workspace', 'w4'], { env })
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('error WORKSPACE_UNKNOWN')])
  })
})
