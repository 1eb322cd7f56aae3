import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Ended, Running } from '../cli/cli-process.ts'
import { isDeep, rounds } from '../tier.ts'
import { expectClean, expectRecovered, exportedTwice, type FaultScene, faultScene } from './scene.ts'

const SEED = 20_260_601
const MOMENTS = rounds('SIGNALS', { usual: 0, deep: 100 })
/** Timeout: longer than requests in flight may take (ten seconds each), and far shorter than a wait for the rate limit. */
const SOON = { timeout: 600_000 + MOMENTS * 10_000 }

/** Returns random numbers that are the same in each run of the tests. */
const seeded = (count: number, { from, to }: { from: number; to: number }): number[] =>
  fc.sample(fc.integer({ min: from, max: to }), { numRuns: count, seed: SEED })

/** True if the process has printed its result: then it is exiting, and no longer handles signals. */
const hasPrintedResult = ({ stdout, stderr }: Ended): boolean =>
  /up to date|stopped on request/.test(stdout) || stderr.includes('nothing to read')

/** Expects that a sync that got a signal stopped, completed, or was killed while it had no handler for signals. */
async function expectStopped(scene: FaultScene, running: Running): Promise<void> {
  const ended = await running.ended
  if (running.process.signalCode !== null)
    expect(ended.stderr === '' || hasPrintedResult(ended), ended.stderr).toBe(true)
  else expect([0, 130], ended.stderr).toContain(ended.code)
  expect(ended.stderr).not.toContain('error ')
  expectClean(scene.sandbox, ended)
}

describe('a signal', () => {
  it(
    'of a terminal that closes ends a sync cleanly, as does a reader that closes its pipe: requests in flight land, and the next sync continues; a second one aborts them, once; a closed pipe ends a query quietly, and that of standard error disturbs no sync',
    SOON,
    async () => {
      const scene = await faultScene({ sandbox: { conversations: isDeep ? 900 : 150, latencyMs: 200 } })
      const closed = scene.start(['sync', '--yes'])
      await closed.said('reading')
      // Acts like a terminal that closes: sends SIGHUP and closes both output pipes.
      closed.process.kill('SIGHUP')
      closed.process.stdout!.destroy()
      closed.process.stderr!.destroy()
      expect((await closed.ended).code).toBe(130)
      const reading = scene.start(['sync', '--yes', '--json'])
      // Reads one line and closes the pipe, as `| head -1` does.
      await new Promise(resolve => reading.process.stdout!.once('data', resolve))
      reading.process.stdout!.destroy()
      const stopped = await reading.ended
      expect([0, 130], stopped.stderr).toContain(stopped.code)
      expectClean(scene.sandbox, stopped)
      const pauses = seeded(isDeep ? 10 : 1, { from: 0, to: 250 })
      for (const pauseMs of pauses) {
        const running = scene.start(['sync', '--yes'])
        await running.said('reading')
        await sleep(pauseMs * 2)
        running.process.kill('SIGINT')
        await sleep(pauseMs)
        running.process.kill('SIGINT')
        await expectStopped(scene, running)
        // No sync has yet repeated requests that were aborted.
        if (!isDeep) expect(await exportedTwice(scene)).toEqual([])
      }
      const unheard = () => {
        const running = scene.start(['sync', '--yes', '--json'])
        running.process.stderr!.destroy()
        return running.ended
      }
      // Each sync has at most four requests in flight. Aborted ones do not count as vendor failures, so the next sync need not wait.
      const { stdout } = await expectRecovered(scene, { inFlight: 4 * pauses.length, sync: unheard })
      expect(stdout).not.toContain('"waiting"')

      const query = scene.start(['query', 'FROM conversations, range(40)', '--format', 'csv'])
      await new Promise(resolve => query.process.stdout!.once('data', resolve))
      query.process.stdout!.destroy()
      const answered = await query.ended
      expect(answered.code, answered.stderr).toBe(0)
      expect(answered.stderr).toBe('')
    },
  )

  // The signals arrive at any time from process start through opening, planning and fetching to the end of the sync.
  it.runIf(isDeep)('at any moment ends a sync cleanly, and requests in flight land', SOON, async () => {
    const scene = await faultScene({ sandbox: { latencyMs: 100 } })
    for (const [round, delayMs] of seeded(MOMENTS, { from: 20, to: 2_500 }).entries()) {
      const running = scene.start(['sync', '--yes'])
      await sleep(delayMs)
      running.process.kill(round % 2 === 0 ? 'SIGTERM' : 'SIGINT')
      await expectStopped(scene, running)
    }
    await expectRecovered(scene)
  })

  // In `npm test`, `test/cli/sync/workspaces.test.ts` sends a signal during such a wait.
  it.runIf(isDeep)('during a wait for the rate limit ends the sync at once', SOON, async () => {
    const scene = await faultScene({ sandbox: { hourlyRequests: 8 } })
    const running = scene.start(['sync', '--yes'])
    await running.said('waiting')
    running.process.kill('SIGTERM')
    const ended = await running.ended
    expect(ended.code, ended.stderr).toBe(130)
    expect(await exportedTwice(scene)).toEqual([])
  })
})

describe('standard output that cannot be written', () => {
  it.skipIf(process.platform !== 'linux')('is reported as such', async () => {
    const scene = await faultScene()
    const ended = await scene.run(['status'], { through: ['sh', '-c', 'exec "$@" > /dev/full', 'sh'] })
    expect(ended.code).toBe(6)
    expect(ended.stderr).toContain('error HOME_UNUSABLE: Standard output cannot be written: the disk is full (ENOSPC).')
    expectClean(scene.sandbox, ended)
  })
})
