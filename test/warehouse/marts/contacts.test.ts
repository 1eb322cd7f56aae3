// Contacts across conversations and channels, and their open CRM activities, with a truth computed by hand.
import { beforeAll, describe, expect, it } from 'vitest'
import { DAY, MINUTE } from '../../../src/core/time.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { AGENT, freshWindow, landConversations } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

/** In Los Angeles it is the evening of 31 October, in UTC the morning of 1 November. */
const START = Date.UTC(2026, 10, 1, 2)

/** A conversation of the n-th day. */
const on = (day: number, ID: string, more: Record<string, unknown>) => ({
  ...{
    ID,
    firstMessageTS: START + day * DAY,
    lastMessageTS: START + day * DAY + MINUTE,
    lastModified: START + day * DAY,
  },
  ...more,
})

const EVE = { userEmail: ' Eve@Example.com ', userPhone: '030 123456' }

const RECORDS = [
  on(0, 'eve 1', {
    ...EVE,
    userName: 'E.',
    userPlatform: 'webchat',
    userID: 'u1',
    messagesNum: 3,
    csat: { satisfaction10: 4 },
  }),
  on(2, 'eve 2', {
    userEmail: 'eve@example.com',
    userName: 'Eve',
    userPlatform: 'whatsapp',
    userID: 'w1',
    messagesNum: 2,
  }),
  on(1, 'eve 3', { userEmail: 'eve@example.com', userPlatform: 'whatsapp', stage: 'won', isResolved: true }),
  // A test, and a record without a day.
  on(0, 'eve in a test', { userEmail: 'eve@example.com', isTest: true }),
  { ID: 'eve without a day', userEmail: 'eve@example.com' },
  // The vendor's identity comes first.
  on(0, 'identity 1', { contactIdentityId: 'i1', userEmail: 'eve@example.com', userPlatform: 'instagram' }),
  on(0, 'identity 2', { contactIdentityId: 'i1', userPhone: '+1 555 0100', userPlatform: 'webchat' }),
  // One number in three spellings; on calls it is the user's id.
  on(0, 'phone 1', { userPhone: '+49 (0)30 123-4567', userPlatform: 'webchat' }),
  on(0, 'phone 2', { userPhone: '0049 30 1234567', userPlatform: 'whatsapp' }),
  on(0, 'phone 3', { userID: '+49301234567', userPlatform: 'telephony' }),
  // Users' ids, of the same text, on two channels.
  on(0, 'user 1', { userID: 'u1', userEmail: 'no address', userPhone: '030 123456', userPlatform: 'webchat' }),
  on(0, 'user 2', { userID: 'u1', userPlatform: 'instagram' }),
  on(0, 'nobody', { userName: 'Mallory', userPlatform: 'webchat' }),
]

let workspace: Workspace

const ACTIVITIES = [
  { type: 'Message', id: 'a1', title: 'call her', dueDate: '2026-11-05', completed: false, responded: true },
  { type: 'Call', id: 'a2', dueDate: '2026-11-05T03:00:00+00:00' },
  { type: 'Call', id: 'a3', completed: true, dueDate: '2026-11-05' },
  { type: 'Call', note: 'no date', dueDate: 'tomorrow', completed: null },
]

beforeAll(async () => {
  workspace = app.workspace({ timeZone: 'America/Los_Angeles' })
  const { landing, load } = workspace
  const lead = {
    stage: 'won',
    value: 5,
    currency: ' eur',
    chatAssignedTo: 'ada',
    assignedTo: { userId: 'ada', name: 'Ada' },
  }
  const withActivities = on(0, 'lead', { ...lead, userName: 'Lee', crmActivities: ACTIVITIES })
  await load(await landConversations(landing, { records: [...RECORDS, withActivities] }))
  const window = freshWindow({ agentId: 'agent-2' })
  await load(
    await landConversations(landing, { window, records: [on(0, 'other agent', { userEmail: 'eve@example.com' })] }),
  )
  await refreshMarts(app.warehouse.writer)
})

describe('dim_contacts', () => {
  it('joins conversations of an agent by what identifies a contact, and never by what two people may have', async () => {
    const grouped =
      await app.warehouse.writer.rows(`SELECT agent_id, contact_id, string_agg(conversation_id, ', ' ORDER BY conversation_id) AS conversations
      FROM marts.fct_conversations WHERE workspace_id = '${workspace.id}' AND is_counted AND conversation_id <> 'lead' GROUP BY ALL ORDER BY ALL`)
    expect(grouped.map(({ agent_id, contact_id, conversations }) => [agent_id, contact_id, conversations])).toEqual([
      [AGENT, 'email:eve@example.com', 'eve 1, eve 2, eve 3'],
      [AGENT, 'identity:i1', 'identity 1, identity 2'],
      [AGENT, 'phone:+49301234567', 'phone 1, phone 2, phone 3'],
      [AGENT, 'user:instagram:u1', 'user 2'],
      [AGENT, 'user:webchat:u1', 'user 1'],
      [AGENT, null, 'nobody'],
      ['agent-2', 'email:eve@example.com', 'other agent'],
    ])
  })

  it('has a row for each contact with a conversation that counts, with its newest name and what it has in total', async () => {
    const contacts = await workspace.rows('marts.dim_contacts', 'agent_id, contact_id, identified_by')
    expect(contacts.map(({ contact_id, identified_by }) => [contact_id, identified_by])).toEqual([
      ['email:eve@example.com', 'email'],
      ['identity:i1', 'identity'],
      ['phone:+49301234567', 'phone'],
      ['user:instagram:u1', 'user'],
      ['user:webchat:u1', 'user'],
      ['email:eve@example.com', 'email'],
    ])
    const [eve] = await workspace.rows('marts.dim_contacts')
    expect(eve).toEqual({
      ...{
        agent_id: AGENT,
        contact_id: 'email:eve@example.com',
        agent_title: AGENT,
        identified_by: 'email',
        name: 'Eve',
      },
      ...{ email: 'eve@example.com', phone: '030 123456', country_code: null, language: null },
      ...{ first_day: '2026-10-31', last_day: '2026-11-02' },
      ...{ first_started_at: '2026-11-01 02:00:00+00', last_activity_at: '2026-11-03 02:01:00+00' },
      ...{ channels: '2', channel_names: 'webchat, whatsapp', conversations: '3', messages: '5', ever_resolved: '1' },
      ...{ handed_off: '0', csat_score_sum: 4, csat_answers: '1', leads: '1' },
    })
  })

  it('has as many conversations as the facts of contacts', async () => {
    const facts = await app.warehouse.writer.rows(
      `SELECT count(contact_id)::INTEGER AS n FROM marts.fct_conversations WHERE is_counted AND workspace_id = '${workspace.id}'`,
    )
    expect(await workspace.rows('marts.dim_contacts', 'sum(conversations)::INTEGER AS n')).toEqual(facts)
  })
})

describe('crm_activities_open', () => {
  it('has activities that are not completed, with the lead and the assignee', async () => {
    const of = {
      ...{
        agent_id: AGENT,
        conversation_id: 'lead',
        agent_title: AGENT,
        channel: 'unknown',
        day: '2026-10-31',
        is_counted: true,
      },
      ...{
        title: null,
        note: null,
        activity_at: null,
        has_responded: false,
        contact_name: 'Lee',
        lead_stage: 'won',
        lead_value: 5,
      },
      ...{
        lead_currency: 'EUR',
        expected_close_at: null,
        last_activity_at: '2026-11-01 02:01:00+00',
        assignee_id: 'ada',
      },
      assignee_name: 'Ada',
    }
    expect(await workspace.rows('marts.crm_activities_open')).toEqual([
      {
        ...{ ...of, position: 1, activity_id: 'a1', activity_type: 'Message', title: 'call her', has_responded: true },
        ...{ due_at: '2026-11-05 00:00:00+00', due_day: '2026-11-05' },
      },
      {
        ...{ ...of, position: 2, activity_id: 'a2', activity_type: 'Call' },
        // A moment that is still the day before in Los Angeles.
        ...{ due_at: '2026-11-05 03:00:00+00', due_day: '2026-11-04' },
      },
      { ...of, position: 4, activity_id: null, activity_type: 'Call', note: 'no date', due_at: null, due_day: null },
    ])
  })
})
