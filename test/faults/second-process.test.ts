import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Ended, temporaryFolder } from '../cli/cli-process.ts'
import { whileSlowed } from '../cli/delayed-vendor.ts'
import { isDeep } from '../tier.ts'
import { expectClean, expectError, expectRecovered, faultScene } from './scene.ts'

const LOCKED = { exit: 6, error: 'WAREHOUSE_LOCKED', says: ['PID ', 'Wait until its sync has ended, or stop it.'] }

/** Returns the number of signal listeners in this process, in which the refused commands run. */
const listenersForSignals = () => ['SIGINT', 'SIGTERM', 'SIGHUP'].map(signal => process.listenerCount(signal))

describe('a second process on the same warehouse', () => {
  it('is kept out, while the first sync continues, answers queries, reports and plans with any flags, and bills and records nothing for them; Ctrl-C ends it with 130, and the next one completes it', async () => {
    const scene = await faultScene({ sandbox: { conversations: 150, latencyMs: 150 } })
    const json = async (...args: string[]) => JSON.parse((await scene.run([...args, '--json'])).stdout)
    const running = scene.start(['sync', '--yes'])
    await running.said('reading 3 windows')
    const listeners = listenersForSignals()
    const narrow = ['--agent', scene.sandbox.world.agentIds()[0]!, '--since', '30d']
    const flags = [[], ['--full'], ...(isDeep ? [narrow, ['--refresh', '7d']] : [])]
    const [sync, replay, query, status, ledger, doctor, ...plans] = await whileSlowed(scene.sandbox, () =>
      Promise.all([
        scene.run(['sync', '--yes']),
        scene.run(['replay']),
        scene.run(['query', 'SELECT count(*)::INTEGER AS n FROM conversations', '--format', 'json']),
        json('status'),
        json('ledger'),
        json('doctor', '--offline'),
        ...flags.map(more => scene.run(['plan', ...more])),
      ]),
    )
    expect(running.process.exitCode).toBeNull()
    expect(listenersForSignals()).toEqual(listeners)
    expectError(scene, sync, LOCKED)
    expectError(scene, replay, LOCKED)
    expect(JSON.parse(query.stdout)).toEqual([{ n: expect.any(Number) }])
    const { pid } = running.process
    expect(status.workspaces[0].lastRun).toMatchObject({ state: 'running', pid, endedAt: null })
    expect(ledger.workspaces).toHaveLength(1)
    const checks = doctor.checks as { check: string; state: string; found: string }[]
    expect(checks.filter(({ state }) => state === 'fail')).toEqual([])
    const held = expect.stringContaining('is held by another process, which answers')
    expect(checks).toContainEqual(expect.objectContaining({ check: 'warehouse', found: held }))
    for (const plan of plans as Ended[])
      expect(plan).toEqual({ code: 0, stdout: expect.stringMatching(/^Plan for workspace ws_demo\n/), stderr: '' })

    running.process.kill('SIGINT')
    const { code, stdout, stderr } = await running.ended
    expect(code).toBe(130)
    expect(stderr).toContain('requests in flight still land')
    expect(stdout).toContain('The same command continues where it stopped; nothing is lost.')
    await expectRecovered(scene)
    const { billableUsedThisPeriod: billed } = await scene.usage()
    const sql = `SELECT sum(sessions)::INTEGER AS billed, count(*)::INTEGER AS runs,
      (SELECT count(*) - count(DISTINCT file) FROM _loads)::INTEGER AS repeated FROM _runs`
    const recorded = JSON.parse((await scene.run(['query', sql, '--format', 'json'])).stdout)
    expect(recorded).toEqual([{ billed, runs: 2, repeated: 0 }])
  })
})

/** `test/run/beside-workers.test.ts` tests how a sync reports pages that another process lands. */
describe.runIf(isDeep)('a second sync on the same landing, with a warehouse elsewhere', () => {
  it('loses nothing: each page lands once, and both warehouses end up complete', async () => {
    const scene = await faultScene({ sandbox: { conversations: 50, latencyMs: 150 } })
    const otherHome = join(await temporaryFolder(), 'data')
    await mkdir(join(scene.home, 'landing'), { recursive: true })
    await mkdir(otherHome, { recursive: true })
    await symlink(join(scene.home, 'landing'), join(otherHome, 'landing'))
    const other = await scene.at(otherHome)
    const ended = await Promise.all([scene, other].map(one => one.start(['sync', '--yes']).ended))
    for (const each of ended) {
      expect([0, 6], each.stderr).toContain(each.code)
      if (each.code === 6) expect(each.stderr).toContain('error LANDING_TAKEN')
      expectClean(scene.sandbox, each)
    }
    // A request may be billed twice only if both syncs sent it at the same time: no sync requests a page that has landed.
    const exported = (await scene.exported()).length
    await expectRecovered(scene, { inFlight: exported })
    await expectRecovered(other, { inFlight: exported })
  })
})
