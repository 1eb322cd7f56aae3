import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Ended, Running } from '../cli/cli-process.ts'
import { rounds } from '../tier.ts'
import { boughtTwice, expectClean, expectMended, expectWhole, type FaultScene, faultScene } from './scene.ts'

const SEED = 20_260_601
/** For each signal. */
const MOMENTS = rounds('SIGNALS', { usual: 3, deep: 50 })
/** Longer than what is under way may take (ten seconds), and far shorter than an hour that is waited for. */
const SOON = { timeout: 120_000 + MOMENTS * 10_000 }

/** Numbers that are the same in each run of the tests. */
const seeded = (count: number, { from, to }: { from: number; to: number }): number[] =>
  fc.sample(fc.integer({ min: from, max: to }), { numRuns: count, seed: SEED })

/** It has told how it ended: a signal that comes while the process itself ends finds nobody who listens. */
const hasTold = ({ stdout, stderr }: Ended): boolean =>
  /up to date|stopped on request/.test(stdout) || stderr.includes('nothing to read')

/** A sync that got a signal ends as it should: stopped, done, or before it could listen at all. */
async function expectStopped(scene: FaultScene, running: Running): Promise<void> {
  const ended = await running.ended
  if (running.process.signalCode !== null) expect(ended.stderr === '' || hasTold(ended), ended.stderr).toBe(true)
  else expect([0, 130], ended.stderr).toContain(ended.code)
  expect(ended.stderr).not.toContain('error ')
  expectClean(scene.sandbox, ended)
}

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', signal => {
  it(
    'at any moment ends a sync in good order: what was asked for has landed, and the next one goes on',
    SOON,
    async () => {
      const scene = await faultScene({ sandbox: { conversations: 300, latencyMs: 80 } })
      // From before the process can listen, over opening, planning and fetching, to the end of its work.
      for (const delayMs of seeded(MOMENTS, { from: 20, to: 2_500 })) {
        const running = scene.start(['sync', '--yes'])
        await sleep(delayMs)
        running.process.kill(signal)
        await expectStopped(scene, running)
        expect(await boughtTwice(scene)).toEqual([])
      }
      await expectMended(scene)
    },
  )

  it('while the hour is waited for ends it at once', SOON, async () => {
    const scene = await faultScene({ sandbox: { hourlyRequests: 8 } })
    const running = scene.start(['sync', '--yes'])
    await running.said('waiting')
    running.process.kill(signal)
    const ended = await running.ended
    expect(ended.code, ended.stderr).toBe(130)
    expect(await boughtTwice(scene)).toEqual([])
  })
})

describe('a second signal', () => {
  it('while a sync is stopping gives up what is under way, once, and loses nothing that has landed', SOON, async () => {
    const scene = await faultScene({ sandbox: { conversations: 300, latencyMs: 200 } })
    let signalled = 0
    for (const pauseMs of seeded(2, { from: 0, to: 250 })) {
      const running = scene.start(['sync', '--yes'])
      await running.said('reading')
      await sleep(pauseMs * 2)
      running.process.kill('SIGINT')
      await sleep(pauseMs)
      running.process.kill('SIGINT')
      await expectStopped(scene, running)
      signalled += 1
    }
    // Four requests are under way at each, at most. That they were given up is no fault of the vendor, who is not spared for it.
    const { stderr } = await expectMended(scene, { underWay: 4 * signalled })
    expect(stderr).not.toContain('waiting')
  })
})

describe('a terminal that is closed', () => {
  it('(SIGHUP) is taken for a request to stop', SOON, async () => {
    const scene = await faultScene({ sandbox: { latencyMs: 100 } })
    const running = scene.start(['sync', '--yes'])
    await running.said('reading')
    running.process.kill('SIGHUP')
    running.process.stdout!.destroy()
    running.process.stderr!.destroy()
    expect((await running.ended).code).toBe(130)
    await expectMended(scene)
  })
})

describe('a reader who has gone', () => {
  it('stops a sync in good order, and ends a query quietly', SOON, async () => {
    const scene = await faultScene({ sandbox: { latencyMs: 60 } })
    const running = scene.start(['sync', '--yes', '--json'])
    // One line, as `| head -1` takes it.
    await new Promise(resolve => running.process.stdout!.once('data', resolve))
    running.process.stdout!.destroy()
    const ended = await running.ended
    expect([0, 130], ended.stderr).toContain(ended.code)
    expectClean(scene.sandbox, ended)
    await expectMended(scene)

    const query = scene.start(['query', 'FROM conversations, range(40)', '--format', 'csv'])
    await new Promise(resolve => query.process.stdout!.once('data', resolve))
    query.process.stdout!.destroy()
    const answered = await query.ended
    expect(answered.code, answered.stderr).toBe(0)
    expect(answered.stderr).toBe('')
    await expectWhole(scene)
  })

  it('of how it goes (standard error) does not disturb a sync', SOON, async () => {
    const scene = await faultScene({ sandbox: { latencyMs: 60 } })
    const running = scene.start(['sync', '--yes'])
    running.process.stderr!.destroy()
    const ended = await running.ended
    expect(ended.code).toBe(0)
    await expectWhole(scene)
  })
})

describe('standard output that cannot be written', () => {
  it.skipIf(process.platform !== 'linux')('is told as that', async () => {
    const scene = await faultScene()
    const ended = await scene.run(['status'], { through: ['sh', '-c', 'exec "$@" > /dev/full', 'sh'] })
    expect(ended.code).toBe(6)
    expect(ended.stderr).toContain('error HOME_UNUSABLE: Standard output cannot be written: the disk is full (ENOSPC).')
    expectClean(scene.sandbox, ended)
  })
})
