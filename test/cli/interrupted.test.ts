import { describe, expect, it } from 'vitest'
import { cli, countConversations, exportable, scene, start } from './cli-process.ts'
import { whileSlowed } from './slowed.ts'

/** Slow enough that a sync is still under way when something else is asked. */
const SLOW = { conversations: 1_200, latencyMs: 150 }

describe('a sync that is under way', () => {
  it('is stopped by Ctrl-C with 130, and the next one completes it', async () => {
    const { env, sandbox } = await scene(SLOW)
    const running = start(['sync'], { env })
    await running.said('reading 3 windows')
    await new Promise(resolve => setTimeout(resolve, 600))
    running.process.kill('SIGINT')
    const { code, stdout, stderr } = await running.ended
    expect(code).toBe(130)
    expect(stderr).toContain('requests in flight still land')
    expect(stdout).toContain('The same command continues where it stopped; nothing is lost.')
    expect((await cli(['sync'], { env })).code).toBe(0)
    expect(await countConversations(env)).toBe(exportable(sandbox))
    // What was asked for before the signal was taken in, so nothing is asked for twice.
    const record = (await (await fetch(`${sandbox.url}/_sandbox/requests?kind=export&summary=true`)).json()) as {
      summary: { count: number }[]
    }
    expect(record.summary.length).toBeGreaterThan(10)
    expect(record.summary.filter(({ count }) => count > 1)).toEqual([])
  })

  it('lets query and status be asked meanwhile, and keeps a second one out', async () => {
    const { env, sandbox } = await scene(SLOW)
    const running = start(['sync'], { env })
    await running.said('reading 3 windows')
    const [query, status, plan] = await whileSlowed(sandbox, () =>
      Promise.all([
        cli(['query', 'SELECT count(*) AS n FROM conversations', '--format', 'json'], { env }),
        cli(['status', '--json'], { env }),
        cli(['plan'], { env }),
      ]),
    )
    expect(running.process.exitCode).toBeNull()
    expect({ query: query.code, status: status.code, plan: plan.code }).toEqual({ query: 0, status: 0, plan: 6 })
    expect(JSON.parse(query.stdout)).toEqual([{ n: expect.any(Number) }])
    expect(JSON.parse(status.stdout).workspaces[0].lastRun).toMatchObject({ endedAt: null })
    expect(plan.stderr).toContain('error WAREHOUSE_LOCKED')
    expect((await running.ended).code).toBe(0)
  })

  it('gives up what is under way at the second Ctrl-C', async () => {
    const { env } = await scene({ conversations: 50, latencyMs: 60_000 })
    const running = start(['sync'], { env })
    // The listing of the agents is under way: the data folder is open.
    await expect.poll(() => cli(['query', 'SELECT 1'], { env }).then(({ code }) => code), { timeout: 30_000 }).toBe(0)
    running.process.kill('SIGINT')
    await running.said('Press Ctrl-C again to abort them')
    const begunMs = performance.now()
    running.process.kill('SIGINT')
    const { code, stderr } = await running.ended
    expect(code).toBe(130)
    expect(stderr).toContain('error INTERRUPTED')
    expect(performance.now() - begunMs).toBeLessThan(30_000)
  })
})
