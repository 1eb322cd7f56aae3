// `sync --full` exports everything again, only on request.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DAY } from '../../../src/core/time.ts'
import { requestsTo } from '../../scene.ts'
import { isDeep } from '../../tier.ts'
import type { Scene } from '../cli-process.ts'
import { inProcess, rowsOf } from '../in-process.ts'
import { copyOf, syncedOnce } from '../synced-once.ts'

/** Returns the export requests that the sandbox has served, and the sessions that they billed. */
async function spent({ sandbox }: Scene): Promise<{ requests: number; sessions: number }> {
  const served = await requestsTo(sandbox).served()
  return { requests: served.length, sessions: served.reduce((sum, { billed }) => sum + billed, 0) }
}

const convohouse = (workspace: Scene, ...args: string[]) => inProcess(args, { env: workspace.env })

/** Returns the sessions that the first sync billed; the workspace must be a copy that has exported nothing since. */
async function sessionsOf({ env }: Scene): Promise<number> {
  const [all] = await rowsOf('SELECT sum(billed)::INTEGER AS n FROM _windows', env)
  return Number(all!.n)
}

/** Returns the windows that are not finished, and the gaps of the coverage. */
async function unfinished({ env }: Scene): Promise<{ openWindows: number; gaps: object[] }> {
  const { stdout } = await inProcess(['status', '--json'], { env })
  const [{ openWindows, agents }] = JSON.parse(stdout).workspaces
  return { openWindows, gaps: agents.flatMap(({ gaps }: { gaps: object[] }) => gaps) }
}

interface PlanOutput {
  plan: { windows: { resumes: boolean }[]; total: Record<string, { low: number; high: number }> }
}

describe('a full export', () => {
  const synced = syncedOnce({ conversations: 180, agents: 6 }, { pageSize: 15 })

  it('does not start without confirmation, and exits with 2 if nobody can be asked', async () => {
    const workspace = await synced()
    const before = await spent(workspace)
    const { code, stderr } = await convohouse(workspace, 'sync', '--full')
    expect([code, stderr]).toEqual([2, expect.stringContaining('error CONFIRMATION_NEEDED')])
    expect(stderr).toContain(`bills ${before.sessions} to `)
    expect(stderr).toContain(
      '`convohouse plan` with the same flags, then confirm with --yes, or limit the sync with --max-sessions.',
    )
    expect((await spent(workspace)).requests).toBe(before.requests)
  })

  it('of one agent is estimated from its stored conversations', async () => {
    const workspace = await synced()
    const [agent] = await rowsOf(
      `SELECT agent_id, count(*)::INTEGER AS n,
         (SELECT sum(billed)::INTEGER FROM _windows w WHERE w.agent_id = c.agent_id) AS sessions
       FROM conversations c GROUP BY agent_id ORDER BY n LIMIT 1`,
      workspace.env,
    )
    const { stdout } = await convohouse(workspace, 'plan', '--agent', String(agent!.agent_id), '--full', '--json')
    const { plan }: PlanOutput = JSON.parse(stdout)
    expect(plan.total.conversations).toEqual({ low: agent!.n, high: agent!.n })
    expect(plan.total.sessions!.low).toBeLessThanOrEqual(Number(agent!.sessions))
    expect(plan.total.sessions!.high).toBeGreaterThanOrEqual(Number(agent!.sessions))
    expect(plan.total.sessions!.high).toBeLessThan(1.4 * Number(agent!.sessions))
  })

  it('that was stopped is reported and is no gap, survives an unconfirmed --drop-full, is continued only by --full, and is billed once; once dropped, it stays dropped after a replay', async () => {
    const workspace = await synced()
    const [before, once] = [await spent(workspace), await sessionsOf(workspace)]
    const stopped = await convohouse(workspace, 'sync', '--full', '--yes', '--max-requests', '4')
    expect(stopped.stdout).toContain('stopped at the given limit')
    const begun = await spent(workspace)
    const refused = await convohouse(workspace, 'sync', '--drop-full', '--full')
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('error CONFIRMATION_NEEDED')])
    const { code, stdout } = await convohouse(workspace, 'sync')
    expect(code).toBe(0)
    expect(stdout).toMatch(/warning: a full export begun at .* is not finished \(\d of 6 agents are left\)/)
    expect(stdout).toContain('`convohouse sync --full` continues it, `convohouse sync --drop-full` drops it')
    expect((await spent(workspace)).sessions).toBe(begun.sessions)
    expect(await unfinished(workspace)).toEqual({ openWindows: expect.any(Number), gaps: [] })
    const dropping = await copyOf(workspace)
    const ended = await convohouse(workspace, 'sync', '--full', '--yes')
    expect([ended.code, ended.stdout]).toEqual([0, expect.not.stringContaining('full export')])
    const after = await spent(workspace)
    // Only the second at which a new generation begins, for example one with smaller pages, is billed twice.
    expect(after.sessions - before.sessions).toBeGreaterThanOrEqual(once)
    expect(after.sessions - before.sessions).toBeLessThan(1.05 * once)
    const dropped = await convohouse(dropping, 'sync', '--drop-full')
    expect(dropped.stdout).toContain('up to date')
    expect(dropped.stdout).not.toContain('full export')
    await rm(join(dropping.home, 'warehouse.duckdb'))
    expect((await convohouse(dropping, 'replay')).code).toBe(0)
    expect(await unfinished(dropping)).toEqual({ openWindows: 0, gaps: [] })
    const { plan }: PlanOutput = JSON.parse((await convohouse(dropping, 'plan', '--full', '--json')).stdout)
    expect(plan.windows.map(({ resumes }) => resumes)).toEqual(Array(6).fill(false))
  })

  it.runIf(isDeep)(
    'of a time range is continued by the command that the warning suggests, and does not start over',
    async () => {
      const workspace = await synced()
      const bounds = ['--since', '20d', '--until', new Date(Date.now() - 3 * DAY).toISOString()]
      const stopped = await convohouse(workspace, 'sync', '--full', ...bounds, '--yes', '--max-requests', '2')
      expect(stopped.stdout).toContain('The same command continues where it stopped.')
      const [, command] =
        /`convohouse (sync --full[^`]*)` continues it/.exec((await convohouse(workspace, 'sync')).stdout) ?? []
      const planned = await convohouse(workspace, 'plan', ...command!.split(' ').slice(1), '--json')
      const { plan }: PlanOutput = JSON.parse(planned.stdout)
      expect(plan.windows.length).toBeLessThan(workspace.sandbox.world.agentIds().length)
    },
  )
})
