// Several workspaces in one sync.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { exitCodeOfAll } from '../../../src/cli/sync/report.ts'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import { NO_REFRESH, openScene, type Scene, TOKEN_ENV } from '../../scene.ts'
import { until } from '../../until.ts'
import { jsonLines, start, temporaryFolder } from '../cli-process.ts'
import { inProcess, rowsOf } from '../in-process.ts'

interface Workspaces {
  env: Record<string, string>
  /** One scene for each workspace; only its sandbox is used, not its configuration. */
  scenes: Scene[]
}

/** Opens workspaces w1, w2 … in one data folder, each with a separate sandbox. */
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
    resources: 'none',
    ...NO_REFRESH,
    ...settings,
  }))
  await writeFile(path, JSON.stringify({ home: join(folder, 'data'), threads: 1, workspaces }))
  return { env: { ...TOKEN_ENV, CONVOHOUSE_CONFIG: path }, scenes }
}

/** Returns the reports of finished rounds in the `--json` output. */
const reportsIn = (stdout: string) =>
  jsonLines(stdout.slice(0, stdout.lastIndexOf('\n') + 1)).filter(({ kind }) => kind === 'report')

describe('several workspaces', () => {
  it('are synced concurrently: neither one that waits for its rate limit nor one that fails delays the others', async () => {
    const { env, scenes } = await openWorkspaces([{ conversations: 400, hourlyRequests: 10 }, {}, { paid: false }], {
      pageSize: 10,
    })
    const [first, second] = scenes
    const syncing = start(['sync', '--json', '--yes'], { env })
    let stdout = ''
    syncing.process.stdout!.on('data', text => {
      stdout += text
    })
    await until(async () => reportsIn(stdout).length === 2)
    expect(stdout).toContain('"waiting"')
    expect((await first!.served()).length).toBeLessThanOrEqual(10)
    expect((await second!.served()).length).toBeGreaterThan(5)
    syncing.process.kill('SIGINT')
    const { code } = await syncing.ended
    expect(code).toBe(130)
    const reports = reportsIn(stdout).map(({ workspaceId, outcome, exitCode }) => [workspaceId, outcome, exitCode])
    expect(reports.at(-1)).toEqual(['w1', 'interrupted', 130])
    expect(reports.slice(0, 2).sort()).toEqual([
      ['w2', 'done', 0],
      ['w3', 'failed', 3],
    ])
    const [held] = await rowsOf('SELECT count(DISTINCT workspace_id) AS n FROM conversations', env)
    expect(Number(held!.n)).toBe(2)
  })

  it('are named in errors, of which the first in their order is the exit code; an agent needs the name of its workspace', async () => {
    const folder = await temporaryFolder()
    const config = join(folder, 'convohouse.yaml')
    const workspaces = ['w1', 'w2'].map(id => ({ id, apiUrl: 'http://127.0.0.1:9', token: { env: id } }))
    await writeFile(config, JSON.stringify({ home: join(folder, 'data'), threads: 1, workspaces }))
    const sync = (...args: string[]) => inProcess(['sync', ...args, '--config', config])
    const { code, stdout, stderr } = await sync()
    expect([code, stdout]).toEqual([2, ''])
    for (const id of ['w1', 'w2']) expect(stderr).toMatch(new RegExp(`^${id}: error TOKEN_MISSING: .*${id}`, 'm'))
    const errors = jsonLines((await sync('--json')).stderr) as { workspaceId: string; error: { code: string } }[]
    expect(errors.map(({ workspaceId, error }) => [workspaceId, error.code]).sort()).toEqual([
      ['w1', 'TOKEN_MISSING'],
      ['w2', 'TOKEN_MISSING'],
    ])
    expect((await sync('--agent', 'a')).stderr).toContain('--agent needs --workspace: 2 workspaces are configured.')
    expect((await sync('--workspace', 'w4')).stderr).toContain('error WORKSPACE_UNKNOWN')
    expect(exitCodeOfAll([0, 3, 7])).toBe(3)
    expect(exitCodeOfAll([3, 130])).toBe(130)
  })
})
