// Handoffs, teams and surveys of a handful of conversations, with a truth computed by hand.
import { beforeAll, describe, expect, it } from 'vitest'
import { MINUTE } from '../../../src/core/time.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import {
  AGENT,
  landAgents,
  landConversations,
  landOrganization,
  landTeams,
  landVoices,
  SENT_AT_MS,
} from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

/** In Los Angeles it is the evening of 31 October, in UTC the morning of 1 November. */
const START = Date.UTC(2026, 10, 1, 2)
const at = (minutes: number): number => START + minutes * MINUTE
const NEXT_DAY = at(24 * 60)

const TEAMS = [
  { ID: 't1', orgId: 'o', key: 'k1', label: 'East', memberIds: ['ada', 'bob', 'ada'], ts: START },
  { ID: 't2', orgId: 'o', key: 'k2', label: 'West', memberIds: [] },
  { ID: 't3', orgId: 'o', key: 'k3' },
]

const CONVERSATIONS = [
  {
    ...{ ID: 'three', userPlatform: 'whatsapp', firstMessageTS: START, lastModified: NEXT_DAY, chatAssignedTo: 'ada' },
    assignedTo: { userId: 'ada', name: 'Ada' },
    resolvedBy: 'bob',
    handoffHistory: [
      {
        ...{ requestedAt: at(1), acceptedAt: at(4), completedAt: at(10), acceptedBy: 'ada', organizationId: 'o' },
        // The same two teams by id and by key.
        ...{ requestedTeamKey: 'k1', teamIds: ['t1', 't2'], teamKeys: ['k1', 'k2'] },
      },
      // By key alone; the second key is of no known team.
      { requestedAt: NEXT_DAY, organizationId: 'o', requestedTeamKey: 'gone', teamKeys: ['k3', 'gone'] },
      // A team that was never listed, and nothing says when.
      { teamIds: ['tx'], teamKeys: ['lost'] },
    ],
    csat: {
      ...{ satisfaction10: 8, ease10: 6, comment: 'good', channel: 'email', surveyVersion: 2 },
      submittedAt: NEXT_DAY,
    },
  },
  {
    ...{ ID: 'test', isTest: true, firstMessageTS: START, lastModified: at(2) },
    handoffHistory: [{ requestedAt: at(1), acceptedAt: at(2), acceptedBy: 'eve', teamIds: ['t1'] }],
    csat: { satisfaction10: 1 },
  },
  { ID: 'ease', firstMessageTS: START, lastModified: at(3), csat: { ease10: 5 } },
  { ID: 'unanswered', firstMessageTS: START, lastModified: at(4), csat: {} },
]

let workspace: Workspace

beforeAll(async () => {
  workspace = app.workspace({ timeZone: 'America/Los_Angeles' })
  const { landing, load } = workspace
  const speechGen = { provider: 'azure', voiceId: 'v1', language: 'de' }
  await load(await landAgents(landing, { agents: [{ ID: AGENT, title: 'Support', voiceConfig: { speechGen } }] }))
  await load(
    await landVoices(landing, {
      voices: [
        { provider: 'azure', voiceId: 'v1', name: 'Katja' },
        { provider: 'rime', voiceId: 'v1', name: 'Rex' },
      ],
    }),
  )
  const members = { adminIDs: ['ada'], supportIDs: ['ada', 'bob'] }
  await load(
    await landOrganization(landing, { id: 'o', data: { ID: 'o', name: 'Acme', widgetIDs: [AGENT], ...members } }),
  )
  await load(await landOrganization(landing, { id: 'p', data: { ID: 'p', name: 'Zenith', supportIDs: ['ada'] } }))
  await load(await landTeams(landing, { id: 'o', teams: TEAMS }))
  await load(await landConversations(landing, { records: CONVERSATIONS }))
  await refreshMarts(app.warehouse.writer)
})

const ofThree = {
  ...{ agent_id: AGENT, conversation_id: 'three', agent_title: 'Support', channel: 'whatsapp', is_counted: true },
}
const unknown = {
  ...{ requested_at: null, accepted_at: null, completed_at: null, is_accepted: false, wait_seconds: null },
  ...{ handling_seconds: null, accepted_by: null, accepted_by_name: null, organization_id: null },
  ...{ organization_name: null, requested_team_key: null, requested_team_id: null, requested_team_label: null },
}
const acme = { organization_id: 'o', organization_name: 'Acme' }

describe('fct_handoffs', () => {
  it('has one row for each handoff, with its teams beside it, on the local day of the request', async () => {
    expect(await workspace.rows('marts.fct_handoffs')).toEqual([
      {
        ...unknown,
        ...{ agent_id: AGENT, conversation_id: 'test', position: 1, agent_title: 'Support', channel: 'unknown' },
        ...{ day: '2026-10-31', is_counted: false, is_accepted: true, wait_seconds: 60, accepted_by: 'eve' },
        ...{ requested_at: '2026-11-01 02:01:00+00', accepted_at: '2026-11-01 02:02:00+00' },
        ...{ teams: '1', team_ids: 't1', team_labels: 'East' },
      },
      {
        ...ofThree,
        ...{
          position: 1,
          day: '2026-10-31',
          requested_at: '2026-11-01 02:01:00+00',
          accepted_at: '2026-11-01 02:04:00+00',
        },
        ...{ completed_at: '2026-11-01 02:10:00+00', is_accepted: true, wait_seconds: 180, handling_seconds: 360 },
        ...{ accepted_by: 'ada', accepted_by_name: 'Ada', ...acme },
        ...{ requested_team_key: 'k1', requested_team_id: 't1', requested_team_label: 'East' },
        ...{ teams: '2', team_ids: 't1, t2', team_labels: 'East, West' },
      },
      {
        ...{ ...unknown, ...ofThree, ...acme },
        ...{ position: 2, day: '2026-11-01', requested_at: '2026-11-02 02:00:00+00' },
        ...{ requested_team_key: 'gone', requested_team_label: 'gone' },
        ...{ teams: '2', team_ids: 't3', team_labels: 'gone, k3' },
      },
      {
        ...{ ...unknown, ...ofThree },
        ...{ position: 3, day: '2026-10-31', teams: '1', team_ids: 'tx', team_labels: 'tx' },
      },
    ])
  })

  it('counts as many handoffs, and as long a wait, as conversations and days do', async () => {
    const counted = `count(*)::INTEGER AS handoffs, count(accepted_at)::INTEGER AS accepted, sum(wait_seconds) AS wait`
    const [facts] = await app.warehouse.writer.rows(
      `SELECT ${counted} FROM marts.fct_handoffs WHERE is_counted AND workspace_id = '${workspace.id}'`,
    )
    const sums = `sum(handoffs)::INTEGER AS handoffs, sum(handoffs_accepted)::INTEGER AS accepted, sum(handoff_wait_seconds_sum) AS wait`
    expect(facts).toEqual({ handoffs: 3, accepted: 1, wait: 180 })
    expect(await workspace.rows('marts.conversations_daily', sums)).toEqual([facts])
  })
})

describe('dim_agents', () => {
  it('has the name of the voice beside its id, of the same provider', async () => {
    const columns = 'voice_provider, voice_id, voice_name, organizations, organization_names'
    expect(await workspace.rows('marts.dim_agents', columns)).toEqual([
      { voice_provider: 'azure', voice_id: 'v1', voice_name: 'Katja', organizations: '1', organization_names: 'Acme' },
    ])
  })

  it('follows a voice that is renamed', async () => {
    const voices = [{ provider: 'azure', voiceId: 'v1', name: 'Katja 2' }]
    await workspace.load(await landVoices(workspace.landing, { voices, sentAtMs: SENT_AT_MS + MINUTE }))
    await refreshMarts(app.warehouse.writer)
    expect(await workspace.rows('marts.dim_agents', 'voice_name')).toEqual([{ voice_name: 'Katja 2' }])
  })
})

describe('dim_people', () => {
  it('has the names of the teams and organizations of each person', async () => {
    const columns = 'user_id, teams, team_labels, organizations, organization_names'
    expect(await workspace.rows('marts.dim_people', columns)).toEqual([
      { user_id: 'ada', teams: '1', team_labels: 'East', organizations: '2', organization_names: 'Acme, Zenith' },
      { user_id: 'bob', teams: '1', team_labels: 'East', organizations: '1', organization_names: 'Acme' },
      { user_id: 'eve', teams: '0', team_labels: null, organizations: '0', organization_names: null },
    ])
  })
})

describe('dim_teams', () => {
  it('has every listed team with its organization; a team without a name has its key', async () => {
    const listed = { ...acme, is_listed: true, created_at: null, members: '0' }
    expect(await workspace.rows('marts.dim_teams')).toEqual([
      {
        ...{ ...listed, team_id: 't1', team_key: 'k1', team_label: 'East', members: '2' },
        created_at: '2026-11-01 02:00:00+00',
      },
      { ...listed, team_id: 't2', team_key: 'k2', team_label: 'West' },
      { ...listed, team_id: 't3', team_key: 'k3', team_label: 'k3' },
    ])
  })
})

describe('fct_csat', () => {
  it('has one row for each answered survey, on the local day of the answer', async () => {
    const none = {
      ...{ submitted_at: null, csat_score: null, csat_ease: null, has_comment: false, comment: null },
      ...{ survey_channel: null, survey_version: null, was_handed_off: false, assignee_id: null },
      ...{ assignee_name: null, resolved_by: null, resolved_by_name: null, channel: 'unknown', is_counted: true },
      ...{ agent_id: AGENT, agent_title: 'Support', day: '2026-10-31', conversation_day: '2026-10-31' },
    }
    expect(await workspace.rows('marts.fct_csat')).toEqual([
      { ...none, conversation_id: 'ease', csat_ease: 5 },
      { ...none, conversation_id: 'test', is_counted: false, csat_score: 1, was_handed_off: true },
      {
        ...{ ...none, ...ofThree, day: '2026-11-01', submitted_at: '2026-11-02 02:00:00+00' },
        ...{ csat_score: 8, csat_ease: 6, has_comment: true, comment: 'good', survey_channel: 'email' },
        ...{ survey_version: 2, was_handed_off: true, assignee_id: 'ada', assignee_name: 'Ada', resolved_by: 'bob' },
      },
    ])
  })

  it('adds up to the surveys of the days on which the conversations began', async () => {
    const [facts] = await app.warehouse.writer.rows(
      `SELECT sum(csat_score) AS score, count(csat_score)::INTEGER AS answers, sum(csat_ease) AS ease, count(csat_ease)::INTEGER AS eases
       FROM marts.fct_csat WHERE is_counted AND workspace_id = '${workspace.id}'`,
    )
    expect(facts).toEqual({ score: 8, answers: 1, ease: 11, eases: 2 })
    const sums = `sum(csat_score_sum) AS score, sum(csat_answers)::INTEGER AS answers, sum(csat_ease_sum) AS ease, sum(csat_ease_answers)::INTEGER AS eases`
    expect(await workspace.rows('marts.conversations_daily', sums)).toEqual([facts])
  })
})
