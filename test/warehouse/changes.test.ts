// Rows of `conversation_changes`, compared with expected rows that were derived by hand.
import { beforeAll, describe, expect, it } from 'vitest'
import { applyTo, eventOf } from './events/events-in.ts'
import { AGENT, landConversations, SENT_AT_MS } from './landed-pages.ts'
import { temporaryWarehouse, type Workspace } from './temporary-warehouse.ts'

const app = temporaryWarehouse()
const [T1, T2, T3, T4] = [1, 2, 3, 4].map(minutes => SENT_AT_MS + minutes * 60_000) as [number, number, number, number]

/** A version of a conversation at a time: from an export, or from the record fields of an event. */
type Step = [atMs: number, by: 'export' | 'event', values: Record<string, unknown>]

const HISTORIES: Record<string, Step[]> = {
  unchanged: [
    [T1, 'export', { state: 'ai-chatting', stage: 'lead' }],
    [T2, 'export', { state: 'ai-chatting', stage: 'lead' }],
  ],
  emptied: [
    [T1, 'export', { state: 'requested_chat', stage: 'lead' }],
    [T2, 'export', { state: null, stage: 'lead' }],
    [T3, 'event', { messagesNum: 4, lastModified: T3 }],
    [T4, 'event', { stage: 'customer', lastModified: T4 }],
  ],
  unassigned: [
    [T1, 'export', { chatAssignedTo: 'ada', isResolved: false }],
    [T2, 'event', { chatAssignedTo: null, lastModified: T2 }],
    [T3, 'event', { isResolved: true }],
  ],
  'by events first': [
    [T1, 'event', { state: 'ai-chatting' }],
    [T2, 'export', { state: 'ai-chatting', stage: 'lead' }],
    [T3, 'event', { stage: 'customer' }],
  ],
  alternating: [
    [T1, 'export', { state: 'requested_chat', chatAssignedTo: 'ada' }],
    [T2, 'event', { state: null, lastModified: T2 }],
    [T3, 'export', { state: 'ended_chat' }],
    [T4, 'event', { chatAssignedTo: 'bob', lastModified: T4 }],
  ],
}

/** Loads and applies all conversations' versions of one time. */
async function arrive(workspace: Workspace, atMs: number): Promise<void> {
  const steps = Object.entries(HISTORIES).flatMap(([ID, history]) =>
    history.flatMap(([at, by, values]) => (at === atMs ? [{ ID, by, values }] : [])),
  )
  const records = steps.flatMap(({ ID, by, values }) =>
    by === 'export' ? [{ ID, lastModified: atMs, ...values }] : [],
  )
  if (records.length > 0)
    await workspace.load(await landConversations(workspace.landing, { records, sentAtMs: atMs + 1_000 }))
  const events = steps.flatMap(({ ID, by, values }) =>
    by === 'export'
      ? []
      : eventOf('conversation_updated', {
          agentId: AGENT,
          convoId: ID,
          createdAt: atMs,
          lightConvoData: { ID, ...values },
        }),
  )
  if (events.length > 0) await applyTo(workspace, ...events)
}

const changesIn = (workspace: Workspace) =>
  workspace.rows(
    'conversation_changes',
    'conversation_id AS id, epoch_ms(changed_at)::DOUBLE AS at, first_seen, changed, previous_state, state, previous_stage, stage, previous_assignee, assignee, previously_resolved, is_resolved',
  )

const NOTHING = {
  first_seen: false,
  changed: [],
  previous_state: null,
  state: null,
  previous_stage: null,
  stage: null,
  previous_assignee: null,
  assignee: null,
  previously_resolved: null,
  is_resolved: null,
}

describe('changes of a conversation', () => {
  let workspace: Workspace
  beforeAll(async () => {
    workspace = app.workspace()
    for (const atMs of [T1, T2, T3, T4]) await arrive(workspace, atMs)
  })

  const changes = async (conversation: string) =>
    (await changesIn(workspace)).flatMap(({ id, ...row }) => (id === conversation ? [row] : []))

  it('begin with its first observation', async () => {
    expect(await changes('unchanged')).toEqual([
      { ...NOTHING, at: T1, first_seen: true, state: 'ai-chatting', stage: 'lead' },
    ])
  })

  it('keep the values that an event omits: a state that an export removed does not come back', async () => {
    expect(await changes('emptied')).toEqual([
      { ...NOTHING, at: T1, first_seen: true, state: 'requested_chat', stage: 'lead' },
      {
        ...NOTHING,
        at: T2,
        changed: ['state'],
        previous_state: 'requested_chat',
        previous_stage: 'lead',
        stage: 'lead',
      },
      { ...NOTHING, at: T4, changed: ['stage'], previous_stage: 'lead', stage: 'customer' },
    ])
  })

  it('include values that an event sets to null', async () => {
    expect(await changes('unassigned')).toEqual([
      { ...NOTHING, at: T1, first_seen: true, assignee: 'ada', is_resolved: false },
      {
        ...NOTHING,
        at: T2,
        changed: ['assignee'],
        previous_assignee: 'ada',
        previously_resolved: false,
        is_resolved: false,
      },
      { ...NOTHING, at: T3, changed: ['is_resolved'], previously_resolved: false, is_resolved: true },
    ])
  })

  it('do not count a value that is seen for the first time', async () => {
    expect(await changes('by events first')).toEqual([
      { ...NOTHING, at: T1, first_seen: true, state: 'ai-chatting' },
      { ...NOTHING, at: T2, previous_state: 'ai-chatting', state: 'ai-chatting', stage: 'lead' },
      {
        ...NOTHING,
        at: T3,
        changed: ['stage'],
        previous_state: 'ai-chatting',
        state: 'ai-chatting',
        previous_stage: 'lead',
        stage: 'customer',
      },
    ])
  })

  it('are the same in any order of arrival', async () => {
    const backwards = app.workspace()
    for (const atMs of [T4, T3, T2, T1]) await arrive(backwards, atMs)
    const rows = await changesIn(backwards)
    expect(rows).toEqual(await changesIn(workspace))
    expect(rows.flatMap(({ id, changed }) => (id === 'alternating' ? [changed] : []))).toEqual([
      [],
      ['state'],
      ['state', 'assignee'],
      ['assignee'],
    ])
  })
})
