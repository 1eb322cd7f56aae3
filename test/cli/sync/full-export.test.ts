// `sync --full` exports everything again, only on request.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DAY } from '../../../src/core/time.ts'
import { exportable, jsonLines, type Scene, scene } from '../cli-process.ts'
import { countConversations, inProcess, rowsOf } from '../in-process.ts'
import { syncedOnce } from '../synced-once.ts'

/** Export requests that the sandbox has served, and the sessions that they billed. */
async function spent({ sandbox }: Scene): Promise<{ requests: number; sessions: number; requested: string[] }> {
  const answer = await fetch(`${sandbox.url}/_sandbox/requests?kind=export`)
  const { requests } = (await answer.json()) as { requests: { agentId: string; query: object; billed: number }[] }
  return {
    requests: requests.length,
    sessions: requests.reduce((sum, { billed }) => sum + billed, 0),
    requested: requests
      .filter(({ billed }) => billed > 0)
      .map(({ agentId, query }) => JSON.stringify([agentId, query])),
  }
}

const convohouse = (workspace: Scene, ...args: string[]) => inProcess(args, { env: workspace.env })

/** Sessions that the first sync billed; the workspace must be a copy that has exported nothing since. */
async function sessionsOf({ env }: Scene): Promise<number> {
  const [all] = await rowsOf('SELECT sum(billed)::INTEGER AS n FROM _windows', env)
  return Number(all!.n)
}

/** Billed export requests that were sent more than once. */
const twice = (requested: string[]): string[] => requested.filter((one, index) => requested.indexOf(one) !== index)

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
    const [{ plan }] = jsonLines(stdout) as [{ plan: { total: Record<string, { low: number; high: number }> } }]
    expect(plan.total.conversations).toEqual({ low: agent!.n, high: agent!.n })
    expect(plan.total.sessions!.low).toBeLessThanOrEqual(Number(agent!.sessions))
    expect(plan.total.sessions!.high).toBeGreaterThanOrEqual(Number(agent!.sessions))
    expect(plan.total.sessions!.high).toBeLessThan(1.4 * Number(agent!.sessions))
  })

  it('that was stopped is reported, survives an unconfirmed --drop-full, is continued only by --full, and is billed once', async () => {
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
    expect((await convohouse(workspace, 'sync', '--full', '--yes')).code).toBe(0)
    const after = await spent(workspace)
    // Billed twice is only the second at which a new generation begins, for example one with smaller pages.
    expect(after.sessions - before.sessions).toBeGreaterThanOrEqual(once)
    expect(after.sessions - before.sessions).toBeLessThan(1.05 * once)
    expect((await convohouse(workspace, 'sync')).stdout).not.toContain('full export')
  })

  it('of a time range is continued by the command that the warning suggests, and does not start over', async () => {
    const workspace = await synced()
    const bounds = ['--since', '20d', '--until', new Date(Date.now() - 3 * DAY).toISOString()]
    const stopped = await convohouse(workspace, 'sync', '--full', ...bounds, '--yes', '--max-requests', '2')
    expect(stopped.stdout).toContain('The same command continues where it stopped.')
    const [, command] =
      /`convohouse (sync --full[^`]*)` continues it/.exec((await convohouse(workspace, 'sync')).stdout) ?? []
    const planned = await convohouse(workspace, 'plan', ...command!.split(' ').slice(1), '--json')
    const [{ plan }] = jsonLines(planned.stdout) as [{ plan: { windows: unknown[] } }]
    expect(plan.windows.length).toBeLessThan(workspace.sandbox.world.agentIds().length)
  })

  it('that was stopped in a new workspace leaves only the pages that have not landed to the next sync', async () => {
    const workspace = await scene({ conversations: 180 }, { pageSize: 20 })
    await convohouse(workspace, 'sync', '--full', '--yes', '--max-requests', '6')
    expect((await convohouse(workspace, 'sync', '--yes')).code).toBe(0)
    expect(await countConversations(workspace.env)).toBe(exportable(workspace.sandbox))
    const { sessions, requested } = await spent(workspace)
    expect(twice(requested)).toEqual([])
    const [once] = await rowsOf('SELECT sum(returned)::INTEGER AS n FROM _requests', workspace.env)
    // Conversations of the second at which the full export stopped are exported again.
    expect(Number(once!.n) - exportable(workspace.sandbox)).toBeLessThanOrEqual(3)
    expect(sessions).toBeGreaterThan(0)
  })

  it('that was stopped or dropped leaves no gap in the coverage; once dropped, it is no longer reported, also after a replay, and the next one starts over', async () => {
    const workspace = await scene(
      { conversations: 150, arrivalsPerDay: 12, startMs: Date.now() - 86_400_000 },
      { pageSize: 25 },
    )
    await convohouse(workspace, 'sync')
    const first = await spent(workspace)
    workspace.sandbox.clock.advance(86_400_000)
    const stopped = await convohouse(workspace, 'sync', '--full', '--yes', '--max-requests', '4')
    expect(stopped.stdout).toContain('left. The same command continues where it stopped.')
    const shown = async () => {
      const { stdout } = await convohouse(workspace, 'status', '--json')
      const { workspaces } = JSON.parse(stdout) as {
        workspaces: { openWindows: number; agents: { gaps: object[] }[] }[]
      }
      const [{ openWindows, agents }] = workspaces as [(typeof workspaces)[0]]
      return { openWindows, gaps: agents.flatMap(({ gaps }) => gaps) }
    }
    const nothing = { openWindows: 0, gaps: [] }
    expect((await convohouse(workspace, 'sync')).stdout).toContain('up to date')
    const left = await shown()
    expect(left).toEqual({ openWindows: expect.any(Number), gaps: [] })
    expect(left.openWindows).toBeGreaterThan(0)
    const dropped = await convohouse(workspace, 'sync', '--drop-full')
    expect(dropped.stdout).toContain('up to date')
    expect(dropped.stdout).not.toContain('full export')
    expect(await shown()).toEqual(nothing)
    await rm(join(workspace.home, 'warehouse.duckdb'))
    expect((await convohouse(workspace, 'replay')).code).toBe(0)
    expect(await shown()).toEqual(nothing)
    await convohouse(workspace, 'sync', '--full', '--yes', '--max-requests', '3')
    const begun = await spent(workspace)
    expect((await convohouse(workspace, 'sync', '--drop-full', '--full', '--yes')).code).toBe(0)
    expect((await spent(workspace)).sessions - begun.sessions).toBeGreaterThanOrEqual(first.sessions)
  })
})
