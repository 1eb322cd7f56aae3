import { describe, expect, it } from 'vitest'
import { conversation } from '../../../src/catalog/conversation/conversation.ts'
import { layoutOf } from '../../../src/catalog/layout.ts'
import { recordChecks } from '../../../src/warehouse/checks/all-checks.ts'
import type { Row } from '../../../src/warehouse/connection.ts'
import { applyPatches } from '../../../src/warehouse/events/patches.ts'
import { retryQuarantined } from '../../../src/warehouse/maintenance/quarantine-retry.ts'
import { AGENT, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const RULES = recordChecks().flatMap(({ name, sql }) => (/^(children|numbers)_of_/.test(name) ? [sql] : []))

const record = (id: string, elements = 2) => ({
  ID: id,
  tags: Array.from({ length: elements }, (_, index) => `tag ${index}`),
  sessions: Array.from({ length: elements }, (_, index) => ({ id: `session ${index}` })),
  crmActivities: [{ id: 'x', notesHistory: [{ text: 'a note' }] }],
})

describe('the number of a record', () => {
  const app = temporaryWarehouse()
  const misnumbered = async (): Promise<Row[]> =>
    (await Promise.all(RULES.map(rule => app.warehouse.writer.rows(rule)))).flat()
  const numbersIn = async (workspace: ReturnType<typeof app.workspace>, table: string): Promise<number[]> =>
    (await workspace.rows(table, '_record::VARCHAR AS n')).map(row => Number(row.n))

  it('is the same in its row and its child rows, and increases when it is replaced', async () => {
    const workspace = app.workspace()
    const load = async (...ids: string[]) =>
      workspace.load(await landConversations(workspace.landing, { records: ids.map(id => record(id)) }))
    await load('a', 'b')
    const [first] = await workspace.rows('conversations', 'max(_record)::VARCHAR AS n')
    await load('b', 'c')
    expect(await misnumbered()).toEqual([])
    const renumbered = await workspace.rows('conversations', `conversation_id AS id, _record > ${first!.n} AS later`)
    expect(renumbered).toEqual([
      { id: 'a', later: false },
      { id: 'b', later: true },
      { id: 'c', later: true },
    ])
    expect(new Set(await numbersIn(workspace, 'crm_activity_notes'))).toEqual(
      new Set(await numbersIn(workspace, 'conversations')),
    )
  })

  it('is kept by a patch, whose other child rows stay', async () => {
    const workspace = app.workspace()
    await workspace.load(await landConversations(workspace.landing, { records: [record('a')] }))
    const before = await numbersIn(workspace, 'conversations')
    const patch = (conversationId: string) => ({
      agentId: AGENT,
      conversationId,
      values: { tags: ['from an event'] },
      modifiedMs: null,
      createdMs: SENT_AT_MS + 1,
      orderedMs: SENT_AT_MS + 1,
    })
    const { writer } = app.warehouse
    const options = { layout: layoutOf(conversation), workspaceId: workspace.id, nowMs: 0 }
    await writer.transaction(() => applyPatches(writer, { ...options, patches: [patch('a'), patch('b')] }))
    expect(await misnumbered()).toEqual([])
    expect(await numbersIn(workspace, 'conversations')).toEqual(expect.arrayContaining(before))
    expect(await workspace.rows('conversation_tags', 'conversation_id AS id, tag')).toEqual([
      { id: 'a', tag: 'from an event' },
      { id: 'b', tag: 'from an event' },
    ])
    expect(await numbersIn(workspace, 'conversation_sessions')).toEqual([...before, ...before])
  })

  it('joins a record that was loaded from the quarantine with its child rows', async () => {
    const workspace = app.workspace()
    const page = await landConversations(workspace.landing, { records: [record('a'), record('b')] })
    await workspace.load(page)
    const { writer } = app.warehouse
    const table = `workspace_id = '${workspace.id}'`
    for (const name of ['conversations', ...layoutOf(conversation).children.map(child => child.table)])
      await writer.run(`DELETE FROM ${name} WHERE ${table} AND conversation_id = 'b'`)
    await writer.run(
      `INSERT INTO _quarantine VALUES ('${workspace.id}', 'conversation', '${page.address}', 2, 'once', '2026-01-01')`,
    )
    expect(await retryQuarantined(workspace.context, page, [2])).toEqual([{ element: 2, reason: null }])
    expect(await misnumbered()).toEqual([])
    expect(await numbersIn(workspace, 'conversation_tags')).toHaveLength(4)
    expect(new Set(await numbersIn(workspace, 'conversation_tags')).size).toBe(2)
  })
})
