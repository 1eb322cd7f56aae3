import { beforeAll, describe, expect, it } from 'vitest'
import { conversation } from '../../../src/catalog/conversation/conversation.ts'
import { layoutOf } from '../../../src/catalog/layout.ts'
import { MINUTE } from '../../../src/core/time.ts'
import { applyPatches, applyStoredPatches, type Patch } from '../../../src/warehouse/events/patches.ts'
import { AGENT, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { LOADED_AT_MS, temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()
const layout = layoutOf(conversation)

const modifiedAt = (version: number): number => SENT_AT_MS - 60 * MINUTE + version * 1_000

const patch = (version: number, values: Record<string, unknown>, id = 'c'): Patch => ({
  agentId: AGENT,
  conversationId: id,
  values,
  modifiedMs: modifiedAt(version),
  createdMs: modifiedAt(version),
  orderedMs: modifiedAt(version) + 0.5,
})

const apply = (workspace: Workspace, ...patches: Patch[]) =>
  app.warehouse.writer.transaction(() =>
    applyPatches(app.warehouse.writer, { layout, workspaceId: workspace.id, patches, nowMs: LOADED_AT_MS }),
  )

interface Case {
  /** The patch that comes before the full record. */
  early?: Record<string, unknown>
  /** The full record. */
  base?: Record<string, unknown>
  /** The patch that comes after it. */
  late?: Record<string, unknown>
  /** Version of the full record; by default 2, between the early patch (1) and the late one (3). */
  version?: number
}

/** The cases, by conversation id. */
const CASES = {
  merged: {
    base: { state: 'ai-chatting', stage: 'new', csat: { ease10: 4, comment: 'so so' } },
    late: { state: 'human-chatting', csat: { ease10: 9 } },
  },
  unpatched: { base: { state: 'ai-chatting' } },
  cleared: { base: { state: 'ai-chatting', tags: ['x'] }, late: { state: null, tags: null } },
  'patch before': {
    early: { state: 'human-chatting', tags: ['from an event'] },
    base: { state: 'ai-chatting', stage: 'new', tags: ['exported'] },
    version: 0,
  },
  'patch alone': { early: { state: 'human-chatting' } },
  superseded: {
    early: { state: 'human-chatting', tags: ['from an event'], unheard: 1 },
    base: { state: 'ended_chat', tags: ['exported'] },
  },
  'patch too old': { base: { state: 'ended_chat' }, late: { state: 'human-chatting' }, version: 4 },
  arrays: {
    base: { tags: ['a', 'b'], sessions: [{ id: 's1' }], crmActivities: [{ id: 'x' }] },
    late: { tags: ['c'], crmActivities: [{ id: 'y', notesHistory: [{ text: 'n' }] }] },
  },
  derived: {
    base: { userPlatform: 'whatsapp', ts: modifiedAt(0) },
    late: { userPlatform: 'web-chat', firstMessageTS: Date.UTC(2026, 0, 2) },
  },
  unknown: {
    base: { unheard: { of: 1, kept: true }, untouched: 'x', cleared: 1 },
    late: { unheard: { by: [null, 'the catalog'] }, "it's new": 1, cleared: null },
  },
  surrogate: { early: { summary: 'cut \ud83d off, not \\ud83d' } },
  aliased: { base: { vapi: { cost: 1 } }, late: { ext: { cost: 2 } } },
  fitting: { base: { messagesNum: 'many', unheard: 1 }, late: { messagesNum: 7 } },
  mistyped: {
    base: { messagesNum: 3, detailedCost: { llmCost: 1 } },
    late: {
      messagesNum: 'many',
      isTest: 'true',
      detailedCost: { llmCost: 2, twilioCost: 5 },
      assignedToUsers: [{ userId: 'u1', shift: 'late' }],
    },
  },
} satisfies Record<string, Case>

type CaseName = keyof typeof CASES

describe('a patch', () => {
  let workspace: Workspace
  /** The conversation's rows of a table. */
  const rows = (id: CaseName, table: string, what: string) =>
    workspace.rows(
      `(SELECT workspace_id, ${what} FROM ${table} WHERE workspace_id = '${workspace.id}' AND conversation_id = '${id}')`,
    )
  const extraOf = async (id: CaseName): Promise<unknown> => {
    const [row] = await rows(id, 'conversations', 'extra')
    return row?.extra == null ? null : JSON.parse(String(row.extra))
  }
  const COMPLETENESS = 'state, stage, _complete, _source'
  let incomplete: unknown[]

  // One load, and one call each for the early and the late patches, serve all cases.
  beforeAll(async () => {
    workspace = app.workspace()
    const cases = Object.entries(CASES) as [string, Case][]
    const patches = (part: 'early' | 'late', version: number) =>
      cases.flatMap(([id, one]) => (one[part] ? [patch(version, one[part], id)] : []))
    await apply(workspace, ...patches('early', 1))
    incomplete = [
      ...(await rows('patch before', 'conversations', COMPLETENESS)),
      ...(await rows('patch before', 'conversation_tags', 'tag')),
    ]
    const records = cases.flatMap(([ID, { base, version = 2 }]) =>
      base ? [{ ID, lastModified: modifiedAt(version), ...base }] : [],
    )
    await workspace.load(await landConversations(workspace.landing, { records }))
    await apply(workspace, ...patches('late', 3))
  })

  it('replaces its keys in the full record, and neither other keys nor other conversations', async () => {
    expect(await rows('merged', 'conversations', 'state, stage, csat_ease10, csat_comment, _complete')).toEqual([
      { state: 'human-chatting', stage: 'new', csat_ease10: 9, csat_comment: null, _complete: true },
    ])
    expect(await rows('unpatched', 'conversations', 'state')).toEqual([{ state: 'ai-chatting' }])
    expect(await rows('patch alone', 'conversations', 'state')).toEqual([{ state: 'human-chatting' }])
    expect(await workspace.rows('conversations', 'conversation_id')).toHaveLength(Object.keys(CASES).length)
  })

  it('replaces a column that another key could fill too, although no patch carries that key', async () => {
    expect(await rows('aliased', 'conversations', 'ext_cost')).toEqual([{ ext_cost: 2 }])
  })

  it('that carries null clears its key', async () => {
    expect(await rows('cleared', 'conversations', 'state')).toEqual([{ state: null }])
    expect(await rows('cleared', 'conversation_tags', 'tag')).toEqual([])
  })

  it('before any full record creates an incomplete row, which a full record completes', async () => {
    expect(incomplete).toEqual([
      { state: 'human-chatting', stage: null, _complete: false, _source: 'webhook' },
      { tag: 'from an event' },
    ])
    expect(await rows('patch before', 'conversations', COMPLETENESS)).toEqual([
      { state: 'human-chatting', stage: 'new', _complete: true, _source: 'export' },
    ])
    expect(await rows('patch before', 'conversation_tags', 'tag')).toEqual([{ tag: 'from an event' }])
  })

  it('is dropped by a full record that is newer', async () => {
    expect(await rows('superseded', 'conversations', 'state, extra')).toEqual([{ state: 'ended_chat', extra: null }])
    expect(await rows('superseded', 'conversation_tags', 'tag')).toEqual([{ tag: 'exported' }])
    expect(await rows('superseded', 'conversation_patches', 'key')).toEqual([])
  })

  it('that is older than the full record changes nothing', async () => {
    expect(await rows('patch too old', 'conversations', 'state')).toEqual([{ state: 'ended_chat' }])
    expect(await rows('patch too old', 'conversation_patches', 'key')).toEqual([])
  })

  it('of an array replaces the rows of only that array', async () => {
    expect(await rows('arrays', 'conversation_tags', 'position, tag')).toEqual([{ position: 1, tag: 'c' }])
    expect(await rows('arrays', 'crm_activities', 'activity_id')).toEqual([{ activity_id: 'y' }])
    expect(await rows('arrays', 'crm_activity_notes', 'text')).toEqual([{ text: 'n' }])
    expect(await rows('arrays', 'conversation_sessions', 'session_id')).toEqual([{ session_id: 's1' }])
  })

  it('derives channel and day again from its keys', async () => {
    expect(await rows('derived', 'conversations', 'channel, day')).toEqual([{ channel: 'webchat', day: '2026-01-02' }])
  })

  it('keeps keys that the catalog does not know in extra, with the values of the last patch', async () => {
    expect(await extraOf('unknown')).toEqual({
      unheard: { by: [null, 'the catalog'] },
      untouched: 'x',
      "it's new": 1,
    })
  })

  it('with a lone surrogate is applied, with the replacement character in its place', async () => {
    expect(await rows('surrogate', 'conversations', 'summary')).toEqual([{ summary: 'cut \ufffd off, not \\ud83d' }])
  })

  it('removes a value of a wrong type from extra when it has one of the right type', async () => {
    expect(await rows('fitting', 'conversations', 'messages_num')).toEqual([{ messages_num: '7' }])
    expect(await extraOf('fitting')).toEqual({ unheard: 1 })
  })

  it('with a value of a wrong type, or of a field that the catalog does not know, loses neither', async () => {
    expect(await rows('mistyped', 'conversations', 'messages_num, is_test, detailed_cost_llm_cost AS llm')).toEqual([
      { messages_num: null, is_test: true, llm: 2 },
    ])
    expect(await extraOf('mistyped')).toEqual({ messagesNum: 'many', detailedCost: { twilioCost: 5 } })
    expect(await rows('mistyped', 'conversation_assigned_users', 'user_id, extra')).toEqual([
      { user_id: 'u1', extra: '{"shift":"late"}' },
    ])
  })
})

it('patches that are applied from the table again stay one row each', async () => {
  const workspace = app.workspace()
  const ids = Array.from({ length: 500 }, (_, number) => `c${number}`)
  await apply(workspace, ...ids.map(id => ({ ...patch(1, { channel: 'voice', state: 'x' }, id), modifiedMs: null })))
  const stored = () => workspace.rows('conversation_patches', 'conversation_id, key, value')
  const before = await stored()
  const { writer } = app.warehouse
  await writer.transaction(async () => {
    await writer.run(`CREATE OR REPLACE TEMP TABLE touched AS
      SELECT DISTINCT agent_id, conversation_id FROM conversation_patches WHERE workspace_id = '${workspace.id}'`)
    await applyStoredPatches(writer, { layout, workspaceId: workspace.id, nowMs: LOADED_AT_MS })
  })
  expect(before).toHaveLength(2 * ids.length)
  expect(await stored()).toEqual(before)
})
