// What a replay means to consumers of the change log.
import { expect, it } from 'vitest'
import type { Config } from '../../src/config.ts'
import { replay } from '../../src/run/replay.ts'
import { registerConsumer } from '../../src/warehouse/changes/consumers.ts'
import type { Watermark } from '../../src/warehouse/changes/log-changes.ts'
import { changesSince } from '../../src/warehouse/changes/read-changes.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'
import { withWriter } from './synced-home.ts'

const since = (config: Config, watermark: Watermark) =>
  withWriter(config, writer => changesSince(writer, { name: 'a', watermark }))

it('a replay makes consumers fill their copies again', async () => {
  const simulated = await simulatedApp({ sandbox: { conversations: 12 } })
  await simulated.sync()
  await simulated.close()
  const { config } = simulated
  const registered = await withWriter(config, writer => registerConsumer(writer, 'a'))
  expect(await since(config, registered)).toMatchObject({ kind: 'changes', tables: [] })
  await replay({ config })
  expect(await since(config, registered)).toMatchObject({ kind: 'refill', reason: 'other epoch', to: { seq: 0 } })
})
