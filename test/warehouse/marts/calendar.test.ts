// Calendar and freshness of a handful of conversations, with a truth computed by hand.
import { beforeAll, describe, expect, it } from 'vitest'
import { DAY, MINUTE } from '../../../src/core/time.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, freshWindow, landAgents, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

/** In Auckland it is already 1 January 2027, a Friday, in the last ISO week of 2026. */
const START = Date.UTC(2026, 11, 31, 12)

let workspace: Workspace

beforeAll(async () => {
  workspace = app.workspace({ timeZone: 'Pacific/Auckland' })
  const { landing, load } = workspace
  const agents = [AGENT, 'idle', 'behind'].map(ID => ({ ID, title: ID === 'idle' ? '' : `The ${ID}` }))
  await load(await landAgents(landing, { agents }))
  const records = [
    // The survey is answered four days later: the last day of any fact.
    {
      ID: 'c',
      firstMessageTS: START,
      lastMessageTS: START + MINUTE,
      csat: { ease10: 1, submittedAt: START + 4 * DAY },
    },
    // The time of this test conversation is wrong by centuries.
    { ID: 'wrong', isTest: true, firstMessageTS: Date.UTC(2300, 0, 1) },
  ].map(one => ({ ...one, lastModified: START }))
  const window = { window: freshWindow({ agentId: 'behind' }) }
  await load(
    await landConversations(landing, { ...window, records: records.slice(0, 1), sentAtMs: SENT_AT_MS - 10 * MINUTE }),
  )
  await load(await landConversations(landing, { records: records.slice(0, 1) }))
  const lightConvoData = { ID: 'e', firstMessageTS: START + DAY }
  await applyTo(
    workspace,
    eventOf('conversation_updated', {
      ...{ agentId: AGENT, convoId: 'e', createdAt: SENT_AT_MS + MINUTE, lightConvoData },
      // The first day of any fact.
      turns: [{ role: 'user', text: 'Hello', timestamp: START - DAY }],
    }),
  )
  await refreshMarts(app.warehouse.writer)
})

describe('dim_calendar', () => {
  it('has every local day from the first to the last of any fact, with its ISO week', async () => {
    const columns = `day, year, quarter, month, month_name, month_begin, iso_year, iso_week, week_begin, week_label, weekday, weekday_name, is_weekend`
    const january = { year: '2027', quarter: '1', month: '1', month_name: 'January', month_begin: '2027-01-01' }
    const last = { ...january, iso_year: '2026', iso_week: '53', week_begin: '2026-12-28', week_label: '2026-W53' }
    const first = { ...january, iso_year: '2027', iso_week: '1', week_begin: '2027-01-04', week_label: '2027-W01' }
    expect(await workspace.rows('marts.dim_calendar', columns)).toEqual([
      {
        ...{
          year: '2026',
          quarter: '4',
          month: '12',
          month_name: 'December',
          month_begin: '2026-12-01',
          iso_year: '2026',
        },
        ...{ iso_week: '53', week_begin: '2026-12-28', week_label: '2026-W53', is_weekend: false },
        ...{ day: '2026-12-31', weekday: '4', weekday_name: 'Thursday' },
      },
      { ...last, day: '2027-01-01', weekday: '5', weekday_name: 'Friday', is_weekend: false },
      { ...last, day: '2027-01-02', weekday: '6', weekday_name: 'Saturday', is_weekend: true },
      { ...last, day: '2027-01-03', weekday: '7', weekday_name: 'Sunday', is_weekend: true },
      { ...first, day: '2027-01-04', weekday: '1', weekday_name: 'Monday', is_weekend: false },
      { ...first, day: '2027-01-05', weekday: '2', weekday_name: 'Tuesday', is_weekend: false },
    ])
  })

  it('ends in 2199, however wrong the time of a record is', async () => {
    const place = app.workspace()
    const wrong = [Date.UTC(2199, 11, 30), Date.UTC(2300, 0, 1)].map((firstMessageTS, index) => ({
      ...{ ID: `wrong ${index}`, firstMessageTS, lastModified: START },
    }))
    await place.load(await landConversations(place.landing, { records: wrong }))
    await refreshMarts(app.warehouse.writer)
    expect(await place.rows('marts.dim_calendar', 'day')).toEqual([{ day: '2199-12-30' }, { day: '2199-12-31' }])
  })
})

describe('freshness', () => {
  it('says how fresh the data of each agent is, also of one without conversations, which has no title but its id', async () => {
    const none = { incomplete: '0', stale: '0', missing: '0' }
    // The time of an event has microseconds of its id.
    const columns = `* EXCLUDE (workspace_id) REPLACE (date_trunc('second', newest_observation_at) AS newest_observation_at)`
    expect(await workspace.rows('marts.freshness', columns)).toEqual([
      {
        ...{ ...none, agent_id: AGENT, agent_title: `The ${AGENT}`, conversations: '2', incomplete: '1' },
        ...{ newest_conversation_at: '2027-01-01 12:00:00+00', newest_activity_at: '2026-12-31 12:01:00+00' },
        ...{ newest_record_at: '2026-11-20 09:01:00+00', newest_observation_at: '2026-11-20 09:01:00+00' },
      },
      {
        ...{ ...none, agent_id: 'behind', agent_title: 'The behind', conversations: '1' },
        ...{ newest_conversation_at: '2026-12-31 12:00:00+00', newest_activity_at: '2026-12-31 12:01:00+00' },
        // The mirror's lag of two minutes before the request.
        ...{ newest_record_at: '2026-11-20 08:48:00+00', newest_observation_at: '2026-11-20 08:50:00+00' },
      },
      {
        ...{ ...none, agent_id: 'idle', agent_title: 'idle', conversations: '0', newest_conversation_at: null },
        ...{ newest_activity_at: null, newest_record_at: null, newest_observation_at: null },
      },
    ])
  })
})
