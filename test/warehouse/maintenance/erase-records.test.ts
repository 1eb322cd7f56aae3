import { afterEach, expect, it } from 'vitest'
import { openWindow, type WindowProgress } from '../../../src/core/planning/windows.ts'
import { DAY } from '../../../src/core/time.ts'
import { registerConsumer, removeConsumer } from '../../../src/warehouse/changes/consumers.ts'
import { eraseRecords } from '../../../src/warehouse/maintenance/erase-records.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

afterEach(() => removeConsumer(app.warehouse.writer, 'a'))

/** Fills every table that can contain data of a conversation. */
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
  await app.warehouse.writer.run(
    `INSERT INTO _measured_refreshes VALUES ('${workspace.id}', '${AGENT}', '${id}', '2026-11-20', [])`,
  )
}

/** Quarantines an event of each conversation, with a table that cannot store it. */
async function quarantine(workspace: Workspace, ids: readonly string[]): Promise<void> {
  const { writer } = app.warehouse
  const column = 'ALTER TABLE bug_reports ALTER COLUMN bug_description TYPE'
  await writer.run(`${column} INTEGER`)
  try {
    const common = { agentId: AGENT, createdAt: SENT_AT_MS, bugDescription: 'no number' }
    await applyTo(workspace, ...ids.map(convoId => eventOf('bug_reported', { ...common, convoId })))
  } finally {
    await writer.run(`${column} VARCHAR`)
  }
}

/** Returns tables with a row that names one of the ids, or that belongs to an event that does, with the number of rows. */
async function rowsOf(workspace: Workspace, id: string): Promise<Record<string, number>> {
  const { writer } = app.warehouse
  const columns = await writer.rows<{ name: string; found: string }>(
    `SELECT duckdb_columns.schema_name || '.' || table_name AS name, min(column_name) AS found FROM duckdb_columns() JOIN duckdb_tables() USING (database_oid, table_oid, table_name)
     WHERE NOT temporary AND column_name IN ('conversation_id', 'event_id') AND duckdb_columns.database_name = current_database() GROUP BY ALL`,
  )
  const events = `SELECT DISTINCT event_id FROM ever WHERE conversation_id = '${id}'`
  await writer.run(
    'CREATE TEMP TABLE IF NOT EXISTS ever AS SELECT event_id, conversation_id FROM webhook_events LIMIT 0',
  )
  await writer.run('INSERT INTO ever SELECT event_id, conversation_id FROM webhook_events')
  const counts = columns.map(({ name, found }) => {
    const named = found === 'event_id' ? `event_id IN (${events})` : `conversation_id = '${id}'`
    return `SELECT '${name.replace(/^main\./, '')}' AS name, count(*)::INTEGER AS n FROM ${name} WHERE workspace_id = '${workspace.id}' AND ${named}`
  })
  const found = await writer.rows<{ name: string; n: number }>(counts.join(' UNION ALL '))
  return Object.fromEntries(found.filter(({ n }) => n > 0).map(({ name, n }) => [name, n]))
}

it('erases a conversation from every table, and from the log except for its deletion', async () => {
  const { writer } = app.warehouse
  const workspace = app.workspace()
  await registerConsumer(writer, 'a')
  await fill(workspace, 'erased')
  await fill(workspace, 'kept')
  await quarantine(workspace, ['erased', 'kept'])
  expect(await workspace.rows('_quarantine', 'record')).toHaveLength(2)
  const [kept] = await writer.rows(
    `SELECT event_id FROM webhook_events WHERE type = 'bug_reported' AND conversation_id = 'kept'`,
  )
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
    nowMs: SENT_AT_MS,
  })
  expect(erased).toContainEqual({ table: 'webhook_events', rows: 5 })
  expect(await rowsOf(workspace, 'erased')).toEqual({})
  expect(await rowsOf(workspace, 'kept')).toEqual(before)
  expect(await workspace.rows('_quarantine', "string_split(file, '#')[-1] AS event_id")).toEqual([kept])
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

it('erases a conversation from windows by id, except from one that a sync still resumes', async () => {
  const { writer } = app.warehouse
  const workspace = app.workspace()
  const open = async (ids: string[], asked: number, openedAtMs: number) => {
    const window = openWindow({ agentId: AGENT, kind: 'refresh', fromSec: null, toSec: 0, openedAtMs, ids })
    const records = ids.slice(0, asked).map(ID => ({ ID }))
    await workspace.load(await landConversations(workspace.landing, { window, records, facts: { limit: asked } }))
  }
  await open(['a', 'erased', 'b'], 3, SENT_AT_MS)
  await open(['erased', 'c', 'd', 'e'], 2, SENT_AT_MS - 2 * DAY)
  await open(['erased', 'f'], 1, SENT_AT_MS - 1)
  const erase = (nowMs: number) => {
    const records = ['erased', 'd'].map(id => ({ table: 'conversations', key: [AGENT, id] }))
    return eraseRecords(writer, { workspaceId: workspace.id, records, nowMs })
  }
  const idsIn = async () => {
    const rows = await workspace.rows('_windows', 'opened_at, progress')
    return rows.map(row => {
      const { window, asked, done } = JSON.parse(row.progress as string) as WindowProgress
      return { ids: window.ids, asked, done }
    })
  }
  const [old, resumable, finished] = [
    { ids: ['c', 'e'], asked: 1, done: false },
    { ids: ['erased', 'f'], asked: 1, done: false },
    { ids: ['a', 'b'], asked: 2, done: true },
  ]
  await erase(SENT_AT_MS)
  expect(await idsIn()).toEqual([old, resumable, finished])
  await erase(SENT_AT_MS + DAY)
  expect(await idsIn()).toEqual([old, { ids: ['f'], asked: 0, done: false }, finished])
})

it('refuses a table and a key that can name no record, and erases nothing', async () => {
  const { writer } = app.warehouse
  const workspace = app.workspace()
  await workspace.load(await landConversations(workspace.landing, { records: [{ ID: 'kept' }] }))
  const erase = (table: string, key: string[]) =>
    eraseRecords(writer, {
      workspaceId: workspace.id,
      records: [
        { table: 'conversations', key: [AGENT, 'kept'] },
        { table, key },
      ],
      nowMs: SENT_AT_MS,
    })
  await expect(erase('conversation', [AGENT, 'kept'])).rejects.toThrow('is no table of records')
  await expect(erase('conversation_tags', [AGENT, 'kept'])).rejects.toThrow('is no table of records')
  await expect(erase('conversations', [AGENT])).rejects.toThrow('agent_id, conversation_id')
  expect(await workspace.rows('conversations', 'conversation_id AS id')).toEqual([{ id: 'kept' }])
})
