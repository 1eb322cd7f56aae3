import { describe, expect, it } from 'vitest'
import { payloadAddress, quarantinedEvent, retryEvent } from '../../../src/warehouse/events/apply.ts'
import { retryQuarantined } from '../../../src/warehouse/maintenance/quarantine-retry.ts'
import { applyTo, eventOf, RECEIVED_MS } from '../events/events-in.ts'
import { AGENT, landConversations } from '../landed-pages.ts'
import { recordRows } from '../record-rows.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const RECORDS = [
  { ID: 'c1', tags: ['a'], title: 't' },
  { ID: 'c2', tags: ['b'], messagesNum: 'many', title: 'u' },
  { ID: 'c3' },
]

const TABLES = ['conversation_observations', '_loads', '_quarantine', '_requests', '_windows', '_issues', '_drift']

async function everything(workspace: Workspace): Promise<object> {
  const books = await Promise.all(
    TABLES.map(async table => [table, await workspace.rows(table, '* EXCLUDE (workspace_id)')]),
  )
  return { records: await recordRows(workspace), books: Object.fromEntries(books) }
}

/** Makes the tables of an older version that could not load this element: only `_quarantine` has it. */
async function quarantine(
  workspace: Workspace,
  file: string,
  { element, id }: { element: number; id: string },
): Promise<void> {
  const { writer } = app.warehouse
  const here = `workspace_id = '${workspace.id}'`
  for (const table of ['conversations', 'conversation_tags', 'conversation_observations'])
    await writer.run(`DELETE FROM ${table} WHERE ${here} AND conversation_id = '${id}'`)
  await writer.run(`UPDATE _loads SET records = records - 1 WHERE ${here}`)
  await writer.run(
    `INSERT INTO _quarantine VALUES ('${workspace.id}', 'conversation', '${file}', ${element}, 'Conversion Error in column value', '2026-01-01')`,
  )
}

describe('a quarantined record that is retried', () => {
  it('is loaded if possible, and the tables are as if it had never been quarantined', async () => {
    const workspace = app.workspace()
    const page = await landConversations(workspace.landing, { records: RECORDS })
    await workspace.load(page)
    const before = await everything(workspace)
    await quarantine(workspace, page.address, { element: 2, id: 'c2' })
    expect(await everything(workspace)).not.toEqual(before)
    expect(await retryQuarantined(workspace.context, page, [2])).toEqual([{ element: 2, reason: null }])
    expect(await everything(workspace)).toEqual(before)
  })

  it('does not replace a newer version of its conversation', async () => {
    const workspace = app.workspace()
    const page = await landConversations(workspace.landing, { records: [{ ID: 'c1', summary: 'old' }] })
    await workspace.load(page)
    await quarantine(workspace, page.address, { element: 1, id: 'c1' })
    const sentAtMs = page.head.sentAtServerMs + 1_000
    await workspace.load(
      await landConversations(workspace.landing, { records: [{ ID: 'c1', summary: 'new' }], sentAtMs }),
    )
    await retryQuarantined(workspace.context, page, [1])
    expect(await workspace.rows('conversations', 'summary')).toEqual([{ summary: 'new' }])
    expect(await workspace.rows('_quarantine')).toEqual([])
  })

  it('stays if it still cannot be loaded, with the current reason', async () => {
    const workspace = app.workspace()
    const page = await landConversations(workspace.landing, { records: [{ ID: 'c1' }, { id: 'none' }] })
    await workspace.load(page)
    await app.warehouse.writer.run(`UPDATE _quarantine SET reason = 'once' WHERE workspace_id = '${workspace.id}'`)
    const reason = 'object without a usable ID'
    expect(await retryQuarantined(workspace.context, page, [2])).toEqual([{ element: 2, reason }])
    expect(await workspace.rows('_quarantine', 'element, reason')).toEqual([{ element: 2, reason }])
    expect(await workspace.rows('conversations', 'conversation_id')).toHaveLength(1)
  })
})

describe('an event that was quarantined', () => {
  it('is applied when it is retried', async () => {
    const workspace = app.workspace()
    const { writer } = app.warehouse
    const event = eventOf('message_received', {
      agentId: AGENT,
      convoId: 'c1',
      createdAt: RECEIVED_MS,
      messageContent: 'hi',
    })
    await applyTo(workspace, event)
    // Simulates that everything except the event itself had been rejected.
    const here = `workspace_id = '${workspace.id}'`
    for (const table of ['messages_received', 'conversations']) await writer.run(`DELETE FROM ${table} WHERE ${here}`)
    const file = `${event.file}#${event.id}`
    await writer.run(
      `INSERT INTO _quarantine VALUES ('${workspace.id}', 'webhook_event', '${file}', 1, 'refused', now())`,
    )
    const address = await payloadAddress(writer, workspace.id, quarantinedEvent(file))
    expect(address).toEqual({ file: event.file, offset: event.offset })
    expect(await retryEvent(workspace.context, event, file)).toBeNull()
    expect(await workspace.rows('messages_received', 'message_content')).toEqual([{ message_content: 'hi' }])
    expect(await workspace.rows('webhook_events', 'count(*)::INTEGER AS n')).toEqual([{ n: 1 }])
    expect(await workspace.rows('_quarantine', 'reason')).toEqual([])
  })
})
