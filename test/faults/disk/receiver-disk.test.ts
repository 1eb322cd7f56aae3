// A receiver whose disk fills up under load answers 503 while the disk is full, and keeps every acknowledged event.
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../cli/cli-process.ts'
import { isDeep } from '../../tier.ts'
import { until } from '../../until.ts'
import { spooled } from '../spooled.ts'
import { SECRET, startReceiver } from '../webhook-command.ts'
import { makeSender } from '../webhook-sender.ts'
import { type SmallDisk, smallDisks, whyNoDisk } from './small-disk.ts'

const noDisk = whyNoDisk()
if (noDisk) console.warn(`skipped, a receiver on a full disk: ${noDisk}`)

async function receiverOn(disk: SmallDisk, home: string) {
  const { running, port, url } = await startReceiver(home, { through: disk.through })
  const isReady = async () => (await fetch(`${url}/ready`)).status === 200
  const refused = async () => {
    const text = await (await fetch(`${url}/metrics`)).text()
    return Number(/refused_total\{reason="disk-refuses",workspace="ws"\} (\d+)/.exec(text)?.[1] ?? 0)
  }
  return { running, port, isReady, refused }
}

describe.skipIf(noDisk)('a receiver on a disk that fills up', () => {
  it('answers 503, recovers by itself when there is space, and keeps every acknowledged event', async () => {
    const home = join(await temporaryFolder(), 'data')
    const disk = await smallDisks([home])
    const { running, port, isReady, refused } = await receiverOn(disk, home)
    const sender = makeSender({ secret: SECRET, connections: 4, bytes: 2_000 })
    const load = sender.run(port)
    for (let time = 1; time <= (isDeep ? 3 : 1); time++) {
      // The disk fills up in the middle of a spool line, at a different position each time.
      const atOnce = await refused()
      await disk.fill(home, 200_000 + time * 1_000)
      await until(async () => (await refused()) >= atOnce + 5, { everyMs: 5 })
      expect(await isReady()).toBe(false)
      const kept = sender.acknowledged.size
      await disk.free(home)
      await until(() => sender.acknowledged.size >= kept + 50, { everyMs: 5 })
      expect(await isReady()).toBe(true)
    }
    await load.stop()
    running.process.kill('SIGTERM')
    expect((await running.ended).code).toBe(0)
    const { numbers } = await spooled(await disk.copyOut(home), 'ws')
    const found = new Set(numbers)
    expect([...sender.acknowledged].filter(number => !found.has(number))).toEqual([])
    expect(numbers.length).toBe(found.size)
  })
})
