// Spans of conversations in their states, with a truth computed by hand.
import { beforeAll, describe, expect, it } from 'vitest'
import { MINUTE } from '../../../src/core/time.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const at = (minutes: number): number => SENT_AT_MS + minutes * MINUTE

/** A conversation whose record last changed so many minutes before or after the first request. */
const changed = (minute: number, ID: string, more: Record<string, unknown>) => ({
  ...{ ID, firstMessageTS: at(-200), lastModified: at(minute), userPlatform: 'webchat' },
  ...more,
})

const EXPORTS = [
  [
    changed(-60, 'long', { state: 'ai-chatting' }),
    changed(-60, 'once', { state: 'ended_chat' }),
    changed(-60, 'without', {}),
    changed(-60, 'test', { state: 'ai-chatting', isTest: true }),
  ],
  // Nothing has changed, so nothing begins.
  [changed(-60, 'long', { state: 'ai-chatting' })],
  [changed(35, 'long', { state: 'ended_chat' })],
]

/** Events: one reports another state, one no state, and one the same state again. */
const EVENTS = [
  eventOf('conversation_updated', {
    ...{ agentId: AGENT, convoId: 'long', createdAt: at(25) },
    lightConvoData: { ID: 'long', state: 'human-chatting' },
  }),
  eventOf('conversation_updated', {
    ...{ agentId: AGENT, convoId: 'long', createdAt: at(27) },
    lightConvoData: { ID: 'long', messagesNum: 9 },
  }),
  eventOf('conversation_updated', {
    ...{ agentId: AGENT, convoId: 'long', createdAt: at(29) },
    lightConvoData: { ID: 'long', state: 'human-chatting' },
  }),
]

let workspace: Workspace

beforeAll(async () => {
  workspace = app.workspace()
  const { landing, load } = workspace
  for (const [index, records] of EXPORTS.entries())
    await load(await landConversations(landing, { records, sentAtMs: at(index * 20) }))
  await applyTo(workspace, ...EVENTS)
  await refreshMarts(app.warehouse.writer)
})

describe('fct_state_spans', () => {
  it('has a span for each state that was observed, the last one open', async () => {
    // The time of an event has microseconds of its id.
    const rows = await workspace.rows(
      'marts.fct_state_spans',
      'conversation_id, position, state, previous_state, next_state, is_open, round(seconds) AS seconds, round(observed_seconds) AS observed_seconds, observations, is_counted',
    )
    const open = { is_open: true, next_state: null, seconds: null, is_counted: true }
    expect(rows).toEqual([
      {
        ...{ conversation_id: 'long', position: 1, state: 'ai-chatting', previous_state: null, is_counted: true },
        // From an hour before the first request to the event.
        ...{
          next_state: 'human-chatting',
          is_open: false,
          seconds: 85 * 60,
          observed_seconds: 85 * 60,
          observations: '2',
        },
      },
      {
        ...{
          conversation_id: 'long',
          position: 2,
          state: 'human-chatting',
          previous_state: 'ai-chatting',
          is_counted: true,
        },
        ...{ next_state: 'ended_chat', is_open: false, seconds: 10 * 60, observed_seconds: 10 * 60, observations: '2' },
      },
      {
        ...{ ...open, conversation_id: 'long', position: 3, state: 'ended_chat', previous_state: 'human-chatting' },
        // Seen again five minutes after its last change.
        ...{ observed_seconds: 5 * 60, observations: '1' },
      },
      {
        ...{ ...open, conversation_id: 'once', position: 1, state: 'ended_chat', previous_state: null },
        ...{ observed_seconds: 60 * 60, observations: '1' },
      },
      {
        ...{ ...open, conversation_id: 'test', position: 1, state: 'ai-chatting', previous_state: null },
        ...{ observed_seconds: 60 * 60, observations: '1', is_counted: false },
      },
    ])
  })

  it('adds up to the time from the first observed change to the last observation', async () => {
    const spans = await workspace.rows(
      'marts.fct_state_spans',
      `sum(observed_seconds) FILTER (conversation_id = 'long')::INTEGER AS seconds`,
    )
    const observed = await workspace.rows(
      'conversation_observations',
      `epoch(max(observed_at) FILTER (conversation_id = 'long') - min(version) FILTER (conversation_id = 'long'))::INTEGER AS seconds`,
    )
    expect(spans).toEqual([{ seconds: 100 * 60 }])
    expect(observed).toEqual(spans)
  })
})
