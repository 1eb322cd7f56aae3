import { describe, expect, it } from 'vitest'
import { requestsTo } from '../../scene.ts'
import { exportable, scene, start } from '../cli-process.ts'
import { whileSlowed } from '../delayed-vendor.ts'
import { countConversations, inProcess } from '../in-process.ts'

describe('a running sync', () => {
  it('answers query, status, ledger, doctor and plan, exits with 130 on Ctrl-C, and is completed by the next one', async () => {
    const { env, sandbox } = await scene({ conversations: 100, latencyMs: 150 }, { pageSize: 6 })
    const running = start(['sync'], { env })
    await running.said('reading 3 windows')
    const run = async (...args: string[]) => inProcess(args, { env })
    const [query, status, ledger, doctor, plan] = await whileSlowed(sandbox, () =>
      Promise.all([
        run('query', 'SELECT count(*) AS n FROM conversations', '--format', 'json'),
        run('status', '--json'),
        run('ledger', '--json'),
        run('doctor', '--offline', '--json'),
        run('plan'),
      ]),
    )
    expect(running.process.exitCode).toBeNull()
    expect([query, status, ledger, doctor, plan].map(({ code }) => code)).toEqual([0, 0, 0, 0, 0])
    expect(JSON.parse(query.stdout)).toEqual([{ n: expect.any(Number) }])
    const { pid } = running.process
    expect(JSON.parse(status.stdout).workspaces[0].lastRun).toMatchObject({ state: 'running', pid, endedAt: null })
    expect(JSON.parse(ledger.stdout).workspaces).toHaveLength(1)
    const checks = JSON.parse(doctor.stdout).checks as { check: string; state: string; found: string }[]
    expect(checks.filter(({ state }) => state === 'fail')).toEqual([])
    const found = (name: string) => checks.find(({ check }) => check === name)!.found
    expect(found('warehouse')).toContain(`is held by another process, which answers`)
    expect(plan.stdout).toContain('Plan for workspace ws_demo')

    running.process.kill('SIGINT')
    const { code, stdout, stderr } = await running.ended
    expect(code).toBe(130)
    expect(stderr).toContain('requests in flight still land')
    expect(stdout).toContain('The same command continues where it stopped; nothing is lost.')
    expect((await inProcess(['sync'], { env })).code).toBe(0)
    expect(await countConversations(env)).toBe(exportable(sandbox))
    // No request of the two syncs was sent twice.
    const served = await requestsTo(sandbox).served()
    const asked = served.map(({ agentId, query }) => JSON.stringify([agentId, query]))
    expect(asked.length).toBeGreaterThan(10)
    expect(new Set(asked).size).toBe(asked.length)
  })
})
