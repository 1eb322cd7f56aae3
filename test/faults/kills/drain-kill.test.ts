// Kills the draining process repeatedly under load: every acknowledged event is applied exactly once.
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { Draw } from '../../../src/sandbox/world/random.ts'
import { openWarehouse } from '../../../src/warehouse/open.ts'
import { temporaryFolder } from '../../cli/cli-process.ts'
import { rounds } from '../../tier.ts'
import { SECRET, webhookCommand } from '../webhook-command.ts'
import { makeSender } from '../webhook-sender.ts'

const KILLS = rounds('DRAIN_KILLS', { usual: 3, deep: 50 })

/** Numbers of the events in a table: the sender uses the number as `createdAt`, which is read as seconds. */
async function numbersIn(home: string, table: string): Promise<number[]> {
  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
  try {
    const rows = await warehouse.writer.rows<{ n: string }>(`SELECT epoch(_as_of)::BIGINT::VARCHAR AS n FROM ${table}`)
    return rows.map(({ n }) => Number(n))
  } finally {
    await warehouse.close()
  }
}

it('a drainer that is killed at random moments applies every acknowledged event exactly once', {
  timeout: 600_000,
}, async () => {
  const home = join(await temporaryFolder(), 'data')
  const receiver = webhookCommand(home, 'receive', '--port', '0', '--json')
  const [line] = (await once(receiver.stdout!, 'data')) as [Buffer]
  const { port } = JSON.parse(String(line)) as { port: number }
  const sender = makeSender({ secret: SECRET, connections: 2, bytes: 2_000, pauseMs: 20 })
  const load = sender.run(port)
  const draw = new Draw(7, 0, 0)
  for (let left = KILLS; left > 0; left--) {
    const drainer = webhookCommand(home, 'sync', '--watch', '1h', '--yes')
    await sleep(300 + draw.unit() * 2_500)
    drainer.kill('SIGKILL')
    await once(drainer, 'close')
  }
  await load.stop()
  receiver.kill('SIGTERM')
  await once(receiver, 'close')
  await once(webhookCommand(home, 'sync', '--yes'), 'close')
  const [all, messages] = [await numbersIn(home, 'webhook_events'), await numbersIn(home, 'messages_received')]
  const found = new Set(all)
  // Leaves out event 0: a `createdAt` of 0 is no time, so the table has its receipt time instead.
  const missing = [...sender.acknowledged].filter(number => number > 0 && !found.has(number))
  expect(missing).toEqual([])
  expect([all.length, messages.length]).toEqual([found.size, found.size])
  expect(sender.acknowledged.size).toBeGreaterThan(KILLS)
})
