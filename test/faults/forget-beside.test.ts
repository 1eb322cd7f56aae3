// `forget` beside processes that hold the warehouse: a supervised child restarts to erase and continues its sync, a publication of
// `serve` gives way, and of two erasures at once one waits for the other.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { erasures } from '../../src/landing/tombstones.ts'
import { NO_REFRESH } from '../scene.ts'
import { isDeep } from '../tier.ts'
import { until } from '../until.ts'
import { expectWithout, firstLoaded, forget, storedIn } from './forget-conversation.ts'
import { exportedTwice, faultScene, syncedScenes } from './scene.ts'

const synced = syncedScenes({ sandbox: { conversations: 40 } })

describe('forget beside `sync --watch`', () => {
  const watching = async () => {
    const scene = await faultScene({ sandbox: { conversations: 60, latencyMs: 150 }, workspace: NO_REFRESH })
    const running = scene.start(['sync', '--watch', '1h', '--yes'])
    return { scene, running, first: await firstLoaded(scene.home) }
  }

  it('makes the process that holds the warehouse restart at once and erase; the sync goes on, and requests nothing twice', async () => {
    const { scene, running, first } = await watching()
    const { code, stdout, stderr } = await scene.run(forget(first))
    expect([code, JSON.parse(stdout)], stderr).toEqual([0, { erasure: expect.any(String), erased: false }])
    await running.said('restarts, to erase what')
    await until(async () => (await erasures(scene.home))[0]?.erasedMs)
    let since = ''
    running.process.stderr!.on('data', text => {
      since += text
    })
    await until(() => since.includes('next round at'))
    running.process.kill('SIGTERM')
    const ended = await running.ended
    expect(ended.code, ended.stderr).toBe(130)
    expect(ended.stderr).not.toContain('restarting it in')
    await expectWithout(scene, [first])
    expect(await exportedTwice(scene)).toEqual([])
  })

  it.runIf(isDeep)('ends with the usual exit code if it is stopped before it erases; the next sync does', async () => {
    const { scene, running, first } = await watching()
    expect((await scene.run(forget(first))).code).toBe(0)
    running.process.kill('SIGTERM')
    expect((await running.ended).code).toBe(130)
    expect((await scene.run(['sync', '--yes'])).code).toBe(0)
    await expectWithout(scene, [first])
    expect(await exportedTwice(scene)).toEqual([])
  })
})

it.runIf(isDeep)('two people who are forgotten at once are both erased', async () => {
  const scene = await synced()
  const [one, other] = await storedIn(scene.home)
  const commands = [one!, other!].map(gone => scene.start(forget(gone)).ended)
  for (const { code, stderr } of await Promise.all(commands)) expect(code, stderr).toBe(0)
  await expectWithout(scene, [one!, other!])
})

it.runIf(isDeep)(
  'a publication of `serve` gives way to forget, and its snapshot no longer has the person',
  async () => {
    const scene = await synced()
    const [gone] = await storedIn(scene.home)
    const running = scene.start(['serve', '--json', '--address', '127.0.0.1:0'])
    const folder = join(scene.home, 'serve')
    await until(async () => (await readdir(folder).catch(() => [])).some(name => name.endsWith('.next')))
    const { code, stderr } = await scene.run(forget(gone!), {})
    expect(code, stderr).toBe(0)
    const snapshot = await readFile(join(folder, 'snapshot.duckdb')).catch(() => '')
    expect(snapshot.includes(gone!.id)).toBe(false)
    await running.kill('SIGTERM')
    await expectWithout(scene, [gone!])
  },
)
