// What `conversation_changes` tells, against truth that was worked out by hand.
import { describe, expect, it } from 'vitest'
import { applyTo, eventOf } from './events/events-in.ts'
import { AGENT, landConversations, SENT_AT_MS } from './landed-pages.ts'
import { temporaryWarehouse, type Workspace } from './temporary-warehouse.ts'

const app = temporaryWarehouse()
const [T1, T2, T3, T4] = [1, 2, 3, 4].map(minutes => SENT_AT_MS + minutes * 60_000) as [number, number, number, number]

const exported = (workspace: Workspace, atMs: number, record: Record<string, unknown>) =>
  landConversations(workspace.landing, {
    records: [{ ID: 'c1', lastModified: atMs, ...record }],
    sentAtMs: atMs + 1_000,
  }).then(page => workspace.load(page))

const told = (workspace: Workspace, atMs: number, light: Record<string, unknown>) =>
  applyTo(
    workspace,
    eventOf('conversation_updated', {
      agentId: AGENT,
      convoId: 'c1',
      createdAt: atMs,
      lightConvoData: { ID: 'c1', ...light },
    }),
  )

const changes = (workspace: Workspace) =>
  workspace.rows(
    'conversation_changes',
    'epoch_ms(changed_at)::DOUBLE AS at, first_seen, changed, previous_state, state, previous_stage, stage, previous_assignee, assignee, previously_resolved, is_resolved',
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
  it('begin with how it was seen first', async () => {
    const workspace = app.workspace()
    await exported(workspace, T1, { state: 'ai-chatting', stage: 'lead' })
    await exported(workspace, T2, { state: 'ai-chatting', stage: 'lead' })
    expect(await changes(workspace)).toEqual([
      { ...NOTHING, at: T1, first_seen: true, state: 'ai-chatting', stage: 'lead' },
    ])
  })

  it('take nothing that an export told for nothing: what an event leaves out is not what was there before it', async () => {
    const workspace = app.workspace()
    await exported(workspace, T1, { state: 'requested_chat', stage: 'lead' })
    await exported(workspace, T2, { state: null, stage: 'lead' })
    // Nothing of the four is told: nothing changes, and the state that an export took away does not come back.
    await told(workspace, T3, { messagesNum: 4, lastModified: T3 })
    await told(workspace, T4, { stage: 'customer', lastModified: T4 })
    expect(await changes(workspace)).toEqual([
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

  it('tell what an event tells to be nothing', async () => {
    const workspace = app.workspace()
    await exported(workspace, T1, { chatAssignedTo: 'ada', isResolved: false })
    await told(workspace, T2, { chatAssignedTo: null, lastModified: T2 })
    await told(workspace, T3, { isResolved: true })
    expect(await changes(workspace)).toEqual([
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

  it('call a value that is told for the first time no change', async () => {
    const workspace = app.workspace()
    await told(workspace, T1, { state: 'ai-chatting' })
    await exported(workspace, T2, { state: 'ai-chatting', stage: 'lead' })
    await told(workspace, T3, { stage: 'customer' })
    expect(await changes(workspace)).toEqual([
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

  it('are the same in whatever order they arrived', async () => {
    const [forwards, backwards] = [app.workspace(), app.workspace()]
    const arrivals = [
      (workspace: Workspace) => exported(workspace, T1, { state: 'requested_chat', chatAssignedTo: 'ada' }),
      (workspace: Workspace) => told(workspace, T2, { state: null, lastModified: T2 }),
      (workspace: Workspace) => exported(workspace, T3, { state: 'ended_chat' }),
      (workspace: Workspace) => told(workspace, T4, { chatAssignedTo: 'bob', lastModified: T4 }),
    ]
    for (const arrive of arrivals) await arrive(forwards)
    for (const arrive of [...arrivals].reverse()) await arrive(backwards)
    expect(await changes(backwards)).toEqual(await changes(forwards))
    expect((await changes(forwards)).map(row => row.changed)).toEqual([
      [],
      ['state'],
      ['state', 'assignee'],
      ['assignee'],
    ])
  })
})
