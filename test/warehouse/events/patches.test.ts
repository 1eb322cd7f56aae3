import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { conversation } from '../../../src/catalog/conversation/conversation.ts'
import { layoutOf } from '../../../src/catalog/layout.ts'
import { MINUTE } from '../../../src/core/time.ts'
import { applyPatches, type Patch } from '../../../src/warehouse/events/patches.ts'
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

const base = async (workspace: Workspace, version: number, values: Record<string, unknown>, id = 'c') =>
  workspace.load(
    await landConversations(workspace.landing, {
      records: [{ ID: id, lastModified: modifiedAt(version), ...values }],
      sentAtMs: SENT_AT_MS + version,
    }),
  )

const extraOf = async (workspace: Workspace): Promise<unknown> => {
  const [row] = await workspace.rows('conversations', 'extra')
  return row?.extra == null ? null : JSON.parse(String(row.extra))
}

describe('a patch', () => {
  it('lays its keys over the full record and leaves the others as they are', async () => {
    const workspace = app.workspace()
    await base(workspace, 1, { state: 'ai-chatting', stage: 'new', csat: { ease10: 4, comment: 'so so' } })
    await apply(workspace, patch(2, { state: 'human-chatting', csat: { ease10: 9 } }))
    expect(await workspace.rows('conversations', 'state, stage, csat_ease10, csat_comment, _complete')).toEqual([
      { state: 'human-chatting', stage: 'new', csat_ease10: 9, csat_comment: null, _complete: true },
    ])
  })

  it('that carries null clears its key', async () => {
    const workspace = app.workspace()
    await base(workspace, 1, { state: 'ai-chatting', tags: ['x'] })
    await apply(workspace, patch(2, { state: null, tags: null }))
    expect(await workspace.rows('conversations', 'state')).toEqual([{ state: null }])
    expect(await workspace.rows('conversation_tags')).toEqual([])
  })

  it('before any full record makes a row that is not complete, and a full record completes it', async () => {
    const workspace = app.workspace()
    await apply(workspace, patch(2, { state: 'human-chatting', tags: ['told by an event'] }))
    const what = 'state, stage, _complete, _source'
    expect(await workspace.rows('conversations', what)).toEqual([
      { state: 'human-chatting', stage: null, _complete: false, _source: 'webhook' },
    ])
    expect(await workspace.rows('conversation_tags', 'tag')).toEqual([{ tag: 'told by an event' }])

    await base(workspace, 1, { state: 'ai-chatting', stage: 'new', tags: ['exported'] })
    expect(await workspace.rows('conversations', what)).toEqual([
      { state: 'human-chatting', stage: 'new', _complete: true, _source: 'export' },
    ])
    expect(await workspace.rows('conversation_tags', 'tag')).toEqual([{ tag: 'told by an event' }])
  })

  it('is dropped by a full record that is newer', async () => {
    const workspace = app.workspace()
    await apply(workspace, patch(2, { state: 'human-chatting', tags: ['told by an event'], unheard: 1 }))
    await base(workspace, 3, { state: 'ended_chat', tags: ['exported'] })
    expect(await workspace.rows('conversations', 'state, extra')).toEqual([{ state: 'ended_chat', extra: null }])
    expect(await workspace.rows('conversation_tags', 'tag')).toEqual([{ tag: 'exported' }])
    expect(await workspace.rows('conversation_patches')).toEqual([])
  })

  it('that is older than the full record changes nothing', async () => {
    const workspace = app.workspace()
    await base(workspace, 3, { state: 'ended_chat' })
    await apply(workspace, patch(2, { state: 'human-chatting' }))
    expect(await workspace.rows('conversations', 'state')).toEqual([{ state: 'ended_chat' }])
    expect(await workspace.rows('conversation_patches')).toEqual([])
  })

  it('of an array replaces the rows of that array, and of no other', async () => {
    const workspace = app.workspace()
    await base(workspace, 1, { tags: ['a', 'b'], sessions: [{ id: 's1' }], crmActivities: [{ id: 'x' }] })
    await apply(workspace, patch(2, { tags: ['c'], crmActivities: [{ id: 'y', notesHistory: [{ text: 'n' }] }] }))
    expect(await workspace.rows('conversation_tags', 'position, tag')).toEqual([{ position: 1, tag: 'c' }])
    expect(await workspace.rows('crm_activities', 'activity_id')).toEqual([{ activity_id: 'y' }])
    expect(await workspace.rows('crm_activity_notes', 'text')).toEqual([{ text: 'n' }])
    expect(await workspace.rows('conversation_sessions', 'session_id')).toEqual([{ session_id: 's1' }])
  })

  it('derives the channel and the day anew from the keys that it carries', async () => {
    const workspace = app.workspace()
    await base(workspace, 1, { userPlatform: 'whatsapp', ts: modifiedAt(0) })
    await apply(workspace, patch(2, { userPlatform: 'web-chat', firstMessageTS: Date.UTC(2026, 0, 2) }))
    expect(await workspace.rows('conversations', 'channel, day')).toEqual([{ channel: 'webchat', day: '2026-01-02' }])
  })

  it('keeps keys that the catalog does not know in extra, each whole as it was last told', async () => {
    const workspace = app.workspace()
    await base(workspace, 1, { unheard: { of: 1, kept: true }, untouched: 'x', cleared: 1 })
    await apply(workspace, patch(2, { unheard: { by: [null, 'the catalog'] }, "it's new": 1, cleared: null }))
    expect(await extraOf(workspace)).toEqual({
      unheard: { by: [null, 'the catalog'] },
      untouched: 'x',
      "it's new": 1,
    })
  })

  it('with a lone surrogate is taken, with the replacement character in its place', async () => {
    const workspace = app.workspace()
    await apply(workspace, patch(1, { summary: 'cut \ud83d off, not \\ud83d' }))
    expect(await workspace.rows('conversations', 'summary')).toEqual([{ summary: 'cut \ufffd off, not \\ud83d' }])
  })

  it('takes a value that did not fit out of extra when it carries one that does', async () => {
    const workspace = app.workspace()
    await base(workspace, 1, { messagesNum: 'many', unheard: 1 })
    await apply(workspace, patch(2, { messagesNum: 7 }))
    expect(await workspace.rows('conversations', 'messages_num')).toEqual([{ messages_num: 7 }])
    expect(await extraOf(workspace)).toEqual({ unheard: 1 })
  })

  it('with a value of a wrong type, or of a field that the catalog does not know, loses neither', async () => {
    const workspace = app.workspace()
    await base(workspace, 1, { messagesNum: 3, detailedCost: { llmCost: 1 } })
    await apply(
      workspace,
      patch(2, {
        messagesNum: 'many',
        isTest: 'true',
        detailedCost: { llmCost: 2, twilioCost: 5 },
        assignedToUsers: [{ userId: 'u1', shift: 'late' }],
      }),
    )
    expect(await workspace.rows('conversations', 'messages_num, is_test, detailed_cost_llm_cost AS llm')).toEqual([
      { messages_num: null, is_test: true, llm: 2 },
    ])
    expect(await extraOf(workspace)).toEqual({ messagesNum: 'many', detailedCost: { twilioCost: 5 } })
    expect(await workspace.rows('conversation_assigned_users', 'user_id, extra')).toEqual([
      { user_id: 'u1', extra: '{"shift":"late"}' },
    ])
  })

  it('for many conversations at once touches each of them alone', async () => {
    const workspace = app.workspace()
    await base(workspace, 1, { state: 'base' }, 'left')
    await base(workspace, 1, { state: 'base' }, 'right')
    await apply(workspace, patch(2, { state: 'patched' }, 'left'), patch(2, { state: 'new' }, 'third'))
    expect(await workspace.rows('conversations', 'conversation_id, state')).toEqual([
      { conversation_id: 'left', state: 'patched' },
      { conversation_id: 'right', state: 'base' },
      { conversation_id: 'third', state: 'new' },
    ])
  })
})

interface Told {
  version: number
  full: boolean
  keys: string[]
}

const KEYS = ['state', 'tags', 'unheard', 'userPlatform']

const valuesOf = ({ version, full, keys }: Told): Record<string, unknown> => {
  const all: Record<string, unknown> = {
    state: `state ${version}`,
    tags: [`tag ${version}`],
    unheard: { [`from ${version}`]: version },
    userPlatform: `platform ${version}`,
  }
  return Object.fromEntries((full ? KEYS : keys).map(key => [key, all[key]]))
}

/** What the rule says, told plainly: the newest full record, and over it for each key the newest patch that is newer. */
function folded(told: Told[]): Record<string, unknown> {
  const fullest = Math.max(-1, ...told.filter(each => each.full).map(each => each.version))
  const ascending = told.filter(each => each.version >= fullest).sort((a, b) => a.version - b.version)
  return Object.assign({}, ...ascending.map(valuesOf))
}

const histories = fc.uniqueArray(
  fc.record({ version: fc.nat(9), full: fc.boolean(), keys: fc.subarray(KEYS, { minLength: 1 }) }),
  { selector: told => told.version, minLength: 1, maxLength: 4 },
)

/** Sorts as text in the order of its number. */
const nameOf = (id: number): string => `c${String(id).padStart(2, '0')}`

/** Conversations told in step: each one's first, then each one's second, so that one load serves them all. */
async function tellAll(workspace: Workspace, conversations: Told[][]): Promise<void> {
  for (let step = 0; conversations.some(history => step < history.length); step++) {
    const told = conversations.flatMap((history, id) => {
      const each = history[step]
      return each ? [{ ...each, id: nameOf(id) }] : []
    })
    const records = told
      .filter(each => each.full)
      .map(each => ({ ID: each.id, lastModified: modifiedAt(each.version), ...valuesOf(each) }))
    await workspace.load(await landConversations(workspace.landing, { records, sentAtMs: SENT_AT_MS + step }))
    const patches = told.filter(each => !each.full).map(each => patch(each.version, valuesOf(each), each.id))
    await apply(workspace, ...patches)
  }
}

async function shownRows(workspace: Workspace) {
  const tags = await workspace.rows('conversation_tags', 'conversation_id, tag')
  const what = 'conversation_id, state, extra, user_platform, channel, _complete'
  return (await workspace.rows('conversations', what)).map(row => ({
    ...row,
    extra: JSON.parse(String(row.extra ?? '{}')) as unknown,
    tags: tags.filter(tag => tag.conversation_id === row.conversation_id).map(({ tag }) => tag),
  }))
}

const wantedOf = (history: Told[], id: number) => {
  const wanted = folded(history)
  return {
    conversation_id: nameOf(id),
    state: wanted.state ?? null,
    user_platform: wanted.userPlatform ?? null,
    channel: wanted.userPlatform ?? null,
    extra: 'unheard' in wanted ? { unheard: wanted.unheard } : {},
    tags: wanted.tags ?? [],
    _complete: history.some(told => told.full),
  }
}

describe('full records and patches', () => {
  it('converge in any order of arrival', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(histories, { minLength: 20, maxLength: 30 }), async conversations => {
        const workspace = app.workspace()
        await tellAll(workspace, conversations)
        expect(await shownRows(workspace)).toEqual(conversations.map(wantedOf))
      }),
      // A run tells of some twenty-five histories; shrinking would take minutes for what the difference shows at once.
      { numRuns: 2, endOnFailure: true },
    )
  })
})
