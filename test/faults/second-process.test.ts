import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../cli/cli-process.ts'
import { whileSlowed } from '../cli/delayed-vendor.ts'
import { isDeep } from '../tier.ts'
import { expectClean, expectComplete, expectError, expectRecovered, exportedTwice, faultScene } from './scene.ts'

const SLOW = { sandbox: { conversations: 50, latencyMs: 150 } }
const LOCKED = { exit: 6, error: 'WAREHOUSE_LOCKED', says: ['PID ', 'Wait until its sync has ended, or stop it.'] }

/** Returns the number of signal listeners in this process, in which the refused commands run. */
const listenersForSignals = () => ['SIGINT', 'SIGTERM', 'SIGHUP'].map(signal => process.listenerCount(signal))

describe('a second process on the same warehouse', () => {
  it('is kept out and stops listening for signals, while the first one continues and answers queries', async () => {
    const scene = await faultScene(SLOW)
    const running = scene.start(['sync', '--yes'])
    await running.said('reading')
    const listeners = listenersForSignals()
    const [sync, replay, query] = await whileSlowed(scene.sandbox, () =>
      Promise.all([
        scene.run(['sync', '--yes']),
        scene.run(['replay']),
        scene.run(['query', 'SELECT count(*) AS n FROM conversations', '--format', 'json']),
      ]),
    )
    expect(running.process.exitCode).toBeNull()
    expect(listenersForSignals()).toEqual(listeners)
    expectError(scene, sync, LOCKED)
    expectError(scene, replay, LOCKED)
    expect(query.code, query.stderr).toBe(0)
    expect((await running.ended).code).toBe(0)
    expect(await exportedTwice(scene)).toEqual([])
    await expectComplete(scene)
  })
})

/** `test/run/beside-workers.test.ts` tests how a sync reports pages that another process lands. */
describe.runIf(isDeep)('a second sync on the same landing, with a warehouse elsewhere', () => {
  it('loses nothing: each page lands once, and both warehouses end up complete', async () => {
    const scene = await faultScene(SLOW)
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
