import { expect, it } from 'vitest'
import { conversation } from '../../../src/catalog/conversation/conversation.ts'
import { layoutOf } from '../../../src/catalog/layout.ts'
import { applyStoredPatches } from '../../../src/warehouse/events/patches.ts'
import { AGENT, SENT_AT_MS } from '../landed-pages.ts'
import { LOADED_AT_MS, temporaryWarehouse } from '../temporary-warehouse.ts'
import { applyTo, eventOf } from './events-in.ts'

const app = temporaryWarehouse()

it('patches that are applied from the table again stay one row each', async () => {
  const workspace = app.workspace()
  const ids = Array.from({ length: 150 }, (_, number) => `c${number}`)
  const update = (convoId: string) => ({
    agentId: AGENT,
    convoId,
    createdAt: SENT_AT_MS,
    lightConvoData: { state: 'x' },
  })
  await applyTo(workspace, ...ids.map(id => eventOf('conversation_updated', { ...update(id), channel: 'voice' })))
  const stored = () => workspace.rows('conversation_patches', 'conversation_id, key, value')
  const before = await stored()
  const { writer } = app.warehouse
  await writer.transaction(async () => {
    await writer.run(`CREATE OR REPLACE TEMP TABLE touched AS
      SELECT DISTINCT agent_id, conversation_id FROM conversation_patches WHERE workspace_id = '${workspace.id}'`)
    await applyStoredPatches(writer, { layout: layoutOf(conversation), workspaceId: workspace.id, nowMs: LOADED_AT_MS })
  })
  expect(before).toHaveLength(2 * ids.length)
  expect(await stored()).toEqual(before)
})

it('transcripts are numbered one after the other, so that no number of batches of events runs out of numbers', async () => {
  const place = app.workspace()
  for (const [batch, ids] of [['t1', 't2'], ['t3'], ['t4']].entries())
    await applyTo(
      place,
      ...ids.map(convoId =>
        eventOf('conversation_updated', {
          ...{ agentId: AGENT, convoId, createdAt: SENT_AT_MS + batch },
          turns: [{ role: 'user', text: convoId }],
        }),
      ),
    )
  const numbers = await place.rows('conversation_transcripts', '_record::INTEGER AS number')
  const first = Math.min(...numbers.map(({ number }) => number as number))
  expect(numbers.map(({ number }) => (number as number) - first).sort()).toEqual([0, 1, 2, 3])
  expect(await place.rows('conversation_turns', '_record::INTEGER AS number, text')).toHaveLength(4)
})
