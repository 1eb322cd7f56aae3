import { afterEach, expect, it } from 'vitest'
import { registerConsumer, removeConsumer } from '../../../src/warehouse/changes/consumers.ts'
import { eraseRecords } from '../../../src/warehouse/maintenance/erase-records.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

afterEach(() => removeConsumer(app.warehouse.writer, 'a'))

/** Fills every table that can hold something of a conversation. */
async function fill(workspace: Workspace, id: string): Promise<void> {
  const ts = Date.UTC(2026, 3, 1)
  const records = [{ ID: id, ts, tags: ['a'], lastModified: SENT_AT_MS - 1 }]
  await workspace.load(await landConversations(workspace.landing, { records, facts: { missing: [`${id}-missing`] } }))
  const common = { agentId: AGENT, convoId: id, createdAt: SENT_AT_MS }
  await applyTo(
    workspace,
    eventOf('message_received', { ...common, messageContent: 'hello' }),
    eventOf('form_submitted', { ...common, formType: 'ui_engine_form', formData: { question: 'answer' } }),
    eventOf('conversation_updated', {
      ...common,
      lightConvoData: { state: 'new', lastModified: SENT_AT_MS },
      turns: [{ role: 'user', text: 'hello' }],
      messagesHistory: [{ role: 'user', content: 'hello' }],
    }),
    eventOf('no_such_type', { convoId: id, createdAt: SENT_AT_MS }),
  )
}

/** Tables with a row that names one of the ids, or that belongs to an event that does, with the number of rows. */
async function rowsOf(workspace: Workspace, id: string): Promise<Record<string, number>> {
  const { writer } = app.warehouse
  const columns = await writer.rows<{ name: string; found: string }>(
    `SELECT table_name AS name, min(column_name) AS found FROM duckdb_columns() JOIN duckdb_tables() USING (database_oid, table_oid, table_name)
     WHERE NOT temporary AND column_name IN ('conversation_id', 'event_id') AND duckdb_columns.database_name = current_database() GROUP BY ALL`,
  )
  const events = `SELECT DISTINCT event_id FROM ever WHERE conversation_id = '${id}'`
  await writer.run(
    'CREATE TEMP TABLE IF NOT EXISTS ever AS SELECT event_id, conversation_id FROM webhook_events LIMIT 0',
  )
  await writer.run('INSERT INTO ever SELECT event_id, conversation_id FROM webhook_events')
  const counts: Record<string, number> = {}
  for (const { name, found } of columns) {
    const where = found === 'event_id' ? `event_id IN (${events})` : `conversation_id = '${id}'`
    const [row] = await workspace.rows(name, `count(*) FILTER (${where})::INTEGER AS n`)
    if (row!.n !== 0) counts[name] = row!.n as number
  }
  return counts
}

it('erases a conversation from every table, and from the log but for its deletion', async () => {
  const { writer } = app.warehouse
  const workspace = app.workspace()
  await registerConsumer(writer, 'a')
  await fill(workspace, 'erased')
  await fill(workspace, 'kept')
  const before = await rowsOf(workspace, 'kept')
  const held = await rowsOf(workspace, 'erased')
  expect(held).toEqual(before)
  for (const table of ['conversation_tags', 'conversation_patches', 'conversation_turns', 'form_submission_answers'])
    expect(held[table], table).toBeGreaterThan(0)
  await workspace.load(
    await landConversations(workspace.landing, {
      records: [],
      facts: { missing: ['erased'] },
      sentAtMs: SENT_AT_MS + 1,
    }),
  )
  const erased = await eraseRecords(writer, {
    workspaceId: workspace.id,
    records: [{ table: 'conversations', key: [AGENT, 'erased'] }],
  })
  expect(erased).toContainEqual({ table: 'webhook_events', rows: 4 })
  expect(await rowsOf(workspace, 'erased')).toEqual({})
  expect(await rowsOf(workspace, 'kept')).toEqual(before)
  expect(await workspace.rows('_absences', 'id')).toEqual([{ id: 'erased-missing' }, { id: 'kept-missing' }])
  expect(
    await writer.rows(
      `SELECT DISTINCT table_name AS "table", op, partition_before AS before FROM _changes WHERE list_contains(key, 'erased') ORDER BY ALL`,
    ),
  ).toEqual([
    { table: 'conversation_model_histories', op: 'delete', before: null },
    ...['2026-11-01', null].map(before => ({ table: 'conversation_observations', op: 'delete', before })),
    { table: 'conversation_transcripts', op: 'delete', before: null },
    ...['2026-04-01', null].map(before => ({ table: 'conversations', op: 'delete', before })),
  ])
})

it('refuses a table and a key that can name no record, and erases nothing', async () => {
  const { writer } = app.warehouse
  const workspace = app.workspace()
  await fill(workspace, 'kept')
  const before = await rowsOf(workspace, 'kept')
  const erase = (table: string, key: string[]) =>
    eraseRecords(writer, {
      workspaceId: workspace.id,
      records: [
        { table: 'conversations', key: [AGENT, 'kept'] },
        { table, key },
      ],
    })
  await expect(erase('conversation', [AGENT, 'kept'])).rejects.toMatchObject({ code: 'TABLE_UNKNOWN' })
  await expect(erase('conversation_tags', [AGENT, 'kept'])).rejects.toMatchObject({ code: 'TABLE_UNKNOWN' })
  await expect(erase('conversations', [AGENT])).rejects.toThrow('agent_id, conversation_id')
  expect(await rowsOf(workspace, 'kept')).toEqual(before)
})
