import { expect, it } from 'vitest'
import { storedByDay } from '../../../src/warehouse/planning/full-exports.ts'
import { AGENT, landConversations } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

it('the stored conversations of a day reach from the second of the first one to that of the last one', async () => {
  const workspace = app.workspace()
  const noon = Date.UTC(2026, 10, 19, 12)
  const records = [700, 5_000, 9_600].map(ms => ({ ID: `c${ms}`, ts: noon + ms }))
  await workspace.load(await landConversations(workspace.landing, { records }))
  const second = noon / 1_000
  expect((await storedByDay(app.warehouse.writer, workspace.id)).get(AGENT)).toMatchObject([
    { range: { from: second, to: second + 9 }, conversations: 3 },
  ])
})
