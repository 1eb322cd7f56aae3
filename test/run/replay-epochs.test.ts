// What a replay means to consumers of the change log.
import { expect, it } from 'vitest'
import type { Config } from '../../src/config.ts'
import { replay } from '../../src/run/replay.ts'
import { replayTables } from '../../src/run/replay-tables.ts'
import { registerConsumer } from '../../src/warehouse/changes/consumers.ts'
import type { Watermark } from '../../src/warehouse/changes/epoch.ts'
import { changesSince } from '../../src/warehouse/changes/read-changes.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'
import { withWriter } from './synced-home.ts'

const since = (config: Config, watermark: Watermark) =>
  withWriter(config, writer => changesSince(writer, { name: 'a', watermark }))

it('a replay of the warehouse or of a published table makes consumers fill their copies again, and logs nothing', async () => {
  const simulated = await simulatedApp({ sandbox: { conversations: 12 } })
  await simulated.sync()
  await simulated.close()
  const { config } = simulated
  const registered = await withWriter(config, writer => registerConsumer(writer, 'a'))
  await replayTables({ config, tables: ['_requests'] })
  expect(await since(config, registered)).toMatchObject({ kind: 'changes', tables: [] })
  await replayTables({ config, tables: ['conversation_tags'] })
  const first = await since(config, registered)
  expect(first).toMatchObject({ kind: 'refill', reason: 'other epoch', to: { seq: 0 } })
  await replay({ config })
  expect(await since(config, first.to)).toMatchObject({ kind: 'refill', reason: 'other epoch', to: { seq: 0 } })
})
