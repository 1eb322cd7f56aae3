// Who took part in a conversation and how it ended, for every combination of what the vendor may say; and what was open at the end of
// each day, by a recomputation from the times.
import { expect, it } from 'vitest'
import { DAY, HOUR } from '../../../src/core/time.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const AGENT_SIGNS = { none: {}, tokens: { tokenUsage: { cumulativeTotalTokens: 7 } } }

const personSigns = (atMs: number) => ({
  none: {},
  accepted: { handoffHistory: [{ requestedAt: atMs, acceptedAt: atMs + HOUR, acceptedBy: 'ada' }] },
  assigned: { chatAssignedTo: 'ada' },
  pending: { assignedToUsers: [{ userId: 'ada', status: 'pending' }] },
  claimed: { humanClaimedAt: atMs + HOUR },
  replied: { humanLastRepliedAt: atMs + HOUR },
  waiting: { handoffHistory: [{ requestedAt: atMs }] },
})

const RESOLUTIONS = ['never', 'resolved', 'reopened', 'resolved again'] as const
const RESOLVERS = [undefined, 'ada', 'system']
const STATES = ['ended_chat', 'requested_chat']

/** Start of the first conversation: each begins seven hours after the one before. */
const FIRST_MS = SENT_AT_MS - 100 * DAY

function* cases() {
  let number = 0
  for (const agent of ['none', 'tokens'] as const)
    for (const person of Object.keys(personSigns(0)) as (keyof ReturnType<typeof personSigns>)[])
      for (const resolution of RESOLUTIONS)
        for (const resolvedBy of RESOLVERS)
          for (const state of STATES) {
            if (resolution === 'never' && resolvedBy !== undefined) continue
            number += 1
            yield {
              id: `c${number}`,
              agent,
              person,
              resolution,
              resolvedBy,
              state,
              startMs: FIRST_MS + number * 7 * HOUR,
            }
          }
}

type Case = ReturnType<typeof cases> extends Generator<infer C> ? C : never

const times = ({ startMs, resolution }: Case) => ({
  lastMessageTS: startMs + 2 * DAY,
  ...(resolution === 'resolved' && { resolvedAt: startMs + DAY }),
  ...(resolution === 'reopened' && { reopenedAt: startMs + 5 * DAY }),
  ...(resolution === 'resolved again' && { resolvedAt: startMs + 9 * DAY, reopenedAt: startMs + 5 * DAY }),
})

const recordOf = (one: Case) => ({
  ...{ ID: one.id, ts: one.startMs, firstMessageTS: one.startMs, channel: 'webchat', state: one.state },
  // The time of the resolution alone says that it is resolved.
  ...(one.resolvedBy !== 'ada' && { isResolved: one.resolution === 'resolved' || one.resolution === 'resolved again' }),
  ...(one.resolvedBy && { resolvedBy: one.resolvedBy }),
  ...times(one),
  ...AGENT_SIGNS[one.agent],
  ...personSigns(one.startMs)[one.person],
})

function outcomeOf({ agent, person, resolution, state }: Case): string {
  const byPerson = person !== 'none' && person !== 'waiting'
  if (resolution === 'resolved' || resolution === 'resolved again') {
    if (byPerson) return 'resolved_by_person'
    return agent === 'tokens' ? 'resolved_by_agent' : 'resolved_unattributed'
  }
  if (resolution === 'reopened') return 'reopened'
  if (state !== 'ended_chat') return 'open'
  return person === 'waiting' ? 'abandoned' : 'ended_unresolved'
}

it('who took part, how a conversation ended and the backlog of each day follow from all that the record says', async () => {
  const zone = 'Pacific/Auckland'
  const place = app.workspace({ timeZone: zone })
  const all = [...cases()]
  await place.load(await landConversations(place.landing, { records: all.map(recordOf) }))
  await refreshMarts(app.warehouse.writer)
  const rows = await place.rows(
    'marts.fct_conversations',
    'conversation_id, agent_took_part, person_took_part, outcome',
  )
  const byId = new Map(rows.map(row => [row.conversation_id, row]))
  for (const one of all)
    expect([one, byId.get(one.id)]).toMatchObject([
      one,
      {
        agent_took_part: one.agent === 'tokens',
        person_took_part: one.person !== 'none' && one.person !== 'waiting',
        outcome: outcomeOf(one),
      },
    ])

  const local = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' })
  const dayOf = (ms: number) => local.format(ms)
  const isOpenAfter = (one: Case, day: string): boolean => {
    const { lastMessageTS, resolvedAt = null } = { resolvedAt: undefined, ...times(one) }
    const closedMs = resolvedAt ?? (one.state === 'ended_chat' ? lastMessageTS : null)
    return dayOf(one.startMs) <= day && (closedMs === null || dayOf(closedMs) > day)
  }
  const backlog = await place.rows('marts.backlog_daily', 'day::VARCHAR AS day, open, older_than_7_days, waiting')
  const found = new Map(backlog.map(row => [row.day, row]))
  for (let ms = FIRST_MS - DAY; ms <= SENT_AT_MS; ms += DAY) {
    const day = dayOf(ms)
    const open = all.filter(one => isOpenAfter(one, day))
    const expected = {
      open: open.length,
      older_than_7_days: open.filter(one => dayOf(one.startMs) <= dayOf(ms - 7 * DAY)).length,
      waiting: open.filter(
        ({ person, startMs }) => person === 'waiting' || (person === 'accepted' && dayOf(startMs + HOUR) > day),
      ).length,
    }
    const { open: opened = 0n, older_than_7_days = 0n, waiting = 0n } = (found.get(day) ?? {}) as Record<string, bigint>
    expect([
      day,
      { open: Number(opened), older_than_7_days: Number(older_than_7_days), waiting: Number(waiting) },
    ]).toEqual([day, expected])
  }
})
