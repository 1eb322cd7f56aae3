import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { requestsTo } from '../../scene.ts'
import { exportable, scene, start } from '../cli-process.ts'
import { whileSlowed } from '../delayed-vendor.ts'
import { countConversations, inProcess } from '../in-process.ts'

/** A server that never answers; `requested` resolves with its first request. */
async function silentVendor(): Promise<{ url: string; requested: Promise<unknown> }> {
  const server = createServer()
  const requested = once(server, 'request')
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requested }
}

describe('a running sync', () => {
  it('answers query, status, ledger, doctor and plan, exits with 130 on Ctrl-C, and is completed by the next one', async () => {
    const { env, sandbox } = await scene({ conversations: 400, latencyMs: 150 }, { pageSize: 20 })
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
    expect(JSON.parse(status.stdout).workspaces[0].lastRun).toMatchObject({ endedAt: null })
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

  it('aborts its requests in flight on the second Ctrl-C', async () => {
    const { url, requested } = await silentVendor()
    const { CONVOHOUSE_CONFIG: _, ...env } = (await scene({ conversations: 1 })).env
    const running = start(['sync'], { env: { ...env, CONVOHOUSE_API_URL: url } })
    await requested
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
