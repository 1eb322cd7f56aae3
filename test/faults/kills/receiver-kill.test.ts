// Kills the receiver repeatedly under load: every acknowledged event is in the spool exactly once.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Draw } from '../../../src/sandbox/world/random.ts'
import { temporaryFolder } from '../../cli/cli-process.ts'
import { rounds } from '../../tier.ts'
import { until } from '../../until.ts'
import { spooled } from '../spooled.ts'
import { SECRET, webhookCommand } from '../webhook-command.ts'
import { makeSender } from '../webhook-sender.ts'

const KILLS = rounds('RECEIVER_KILLS', { usual: 6, deep: 500 })
/** Receivers that share one spool: while one of them starts, the others are running. */
const RECEIVERS = 3

interface Started {
  child: ChildProcess
  port: number
}

async function startReceiver(home: string): Promise<Started> {
  const child = webhookCommand(home, 'receive', '--port', '0', '--json')
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('a receiver ended before it listened')))
  const [line] = (await Promise.race([once(child.stdout!, 'data'), ended])) as [Buffer]
  return { child, port: (JSON.parse(String(line)) as { port: number }).port }
}

it('a receiver that is killed under load stores every acknowledged event exactly once', {
  timeout: 600_000 + KILLS * 5_000,
}, async () => {
  const home = join(await temporaryFolder(), 'data')
  const sender = makeSender({ secret: SECRET, connections: 6, bytes: 8_000, pauseMs: 5 })
  const draw = new Draw(7, 0, 0)
  let left = KILLS
  let hit = 0

  async function killRepeatedly(): Promise<void> {
    while (left-- > 0) {
      const { child, port } = await startReceiver(home)
      const load = sender.run(port)
      const before = sender.acknowledged.size
      // The kill comes after the first acknowledged event, within the time of several fsyncs and one or two sealed segments.
      await until(() => sender.acknowledged.size !== before, { everyMs: 2 })
      await new Promise(resolve => setTimeout(resolve, draw.unit() ** 3 * 1_300))
      child.kill('SIGKILL')
      await once(child, 'close')
      await load.stop()
      hit += 1
    }
  }

  await Promise.all(Array.from({ length: RECEIVERS }, killRepeatedly))
  const { numbers, ids, abandoned } = await spooled(home, 'ws')
  const found = new Set(numbers)
  expect([hit, [...sender.acknowledged].filter(number => !found.has(number))]).toEqual([KILLS, []])
  // Each event was sent once, so it is stored at most once; an event that was not acknowledged may be stored.
  expect([numbers.length, new Set(ids).size]).toEqual([found.size, found.size])
  expect([...found].filter(number => !sender.sent.has(number))).toEqual([])
  expect(sender.acknowledged.size).toBeGreaterThan(KILLS)
  expect(abandoned).toBeGreaterThanOrEqual(KILLS)
})
