// Compares the export (section 4.12), its records (2.10) and the limits (section 8) with the API document.
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, SECOND } from '../../src/core/time.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { createWorld } from '../../src/sandbox/world/world.ts'
import {
  ask,
  call,
  DAY,
  type ExportBody,
  exportAll,
  exportable,
  exportPage,
  exportPath,
  firstAgent,
  idsOf,
  open,
  type Params,
  START_MS,
  shared,
} from './caller.ts'
import { CONVERSATION_FIELDS, Conversation } from './document.ts'

const status = async (sandbox: Sandbox, params: Params = {}) =>
  (await call(sandbox, exportPath(firstAgent(sandbox), params))).status

const truth = (sandbox: Sandbox, nowMs?: number) =>
  exportable(sandbox, nowMs)
    .map(({ id }) => id)
    .toSorted()

const tsOf = (pages: readonly ExportBody[]) => pages.flatMap(({ data }) => data.map(({ ts = 0 }) => ts))

describe('an export', () => {
  const sandbox = shared({ agents: 1, conversations: 240 })

  it.each([
    [{}, 'paginated', 20],
    [{ limit: 1 }, 'paginated', 1],
    [{ limit: 100 }, 'paginated', 100],
  ] as const)('of %o has pages of its limit', async (params, mode, limit) => {
    const page = await exportPage(sandbox(), params)
    expect(page).toMatchObject({ mode, limit, hasMore: true, scannedConvoCount: limit })
    expect(page.message.match(/\d+/g)?.map(Number)).toEqual([page.data.length, page.usage.billableUsedThisRequest])
  })

  it.each([7, 100])('returns each conversation once, in either order, in pages of %i', async limit => {
    const newestFirst = await exportAll(sandbox(), { limit })
    expect(tsOf(newestFirst)).toEqual(tsOf(newestFirst).toSorted((a, b) => b - a))
    const oldestFirst = await exportAll(sandbox(), { limit, sort: 'asc' })
    expect(tsOf(oldestFirst)).toEqual(tsOf(newestFirst).toReversed())
    for (const pages of [newestFirst, oldestFirst]) expect(idsOf(pages).toSorted()).toEqual(truth(sandbox()))
  })

  it('has inclusive bounds in seconds or milliseconds, and a cursor that belongs to its query', async () => {
    const all = tsOf(await exportAll(sandbox(), { sort: 'asc', limit: 100 }))
    const ts = all.filter(one => one % 1_000 > 0)[90]!
    const second = Math.floor(ts / 1_000)
    const within = (from: number, to: number) => all.filter(one => one >= from && one <= to)
    for (const [params, expected] of [
      [{ fromTs: ts }, within(ts, 9e15)],
      [{ toTs: ts }, within(1, ts)],
      [{ fromTs: second }, within(second * 1_000, 9e15)],
      [{ toTs: second }, within(1, second * 1_000 + 999)],
      [{ fromTs: ts, toTs: ts }, within(ts, ts)],
    ] as const) {
      const pages = await exportAll(sandbox(), { ...params, sort: 'asc', limit: 30 })
      expect(tsOf(pages).filter(one => one > 0)).toEqual(expected)
      expect(pages[0]!.query).toEqual({ sort: 'asc', fromTs: null, toTs: null, ...params })
    }
    const { nextCursor: cursor } = await exportPage(sandbox(), { sort: 'asc' })
    for (const other of [{ sort: 'desc' }, { sort: 'asc', fromTs: 1 }, { sort: 'asc', toTs: ts }])
      expect(await status(sandbox(), { ...other, cursor: cursor! } as Params)).toBe(400)
  })

  it('selects exactly the given ids, without paging; unknown ones and those without a person are absent', async () => {
    const all = [...sandbox().world.conversations(firstAgent(sandbox()), START_MS)]
    const silent = all.filter(({ billableSessions }) => billableSessions === 0).map(({ id }) => id)
    expect(silent.length).toBeGreaterThan(3)
    const wanted = truth(sandbox()).slice(3, 40)
    const page = await exportPage(sandbox(), { convoIds: [...wanted, ...silent, 'unknown'].join(',') })
    expect(idsOf([page]).toSorted()).toEqual(wanted)
    expect(page).toMatchObject({ mode: 'selected', hasMore: false, scannedConvoCount: wanted.length + silent.length })
    const nothing = await exportPage(sandbox(), { convoIds: silent.join(',') })
    expect([nothing.data, nothing.usage.billableUsedThisRequest]).toEqual([[], 0])
  })

  it('is served as CSV, with a row for each record', async () => {
    const answer = await call(sandbox(), exportPath(firstAgent(sandbox()), { format: 'csv', limit: 5 }))
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const [header, ...rows] = (await answer.text()).split('\r\n')
    const { data } = await exportPage(sandbox(), { limit: 5 })
    expect([header!.startsWith('ID,'), rows.length > data.length]).toEqual([true, true])
    for (const { ID } of data) expect(rows.join('\n')).toContain(ID)
  })

  it('reads from the mirror, with its lag', async () => {
    const lagging = await open({ arrivalsPerDay: 200, agents: 1, mirrorLagMs: DAY, conversations: 40 })
    lagging.clock.advance(2 * DAY)
    const ids = idsOf(await exportAll(lagging, { limit: 100 })).toSorted()
    expect(ids).toEqual(truth(lagging, START_MS + DAY))
    expect(ids.length).toBeLessThan(truth(lagging).length)
  })

  it('with `ts` as last activity moves a conversation that continues, and returns it once', async () => {
    const moving = await open({ agents: 1, conversations: 200, historyDays: 20, ts: 'activity' })
    moving.clock.advance(5 * DAY)
    const after = await exportAll(moving, { limit: 100, sort: 'asc', fromTs: START_MS })
    expect(after[0]!.data.length).toBeGreaterThan(3)
    expect(truth(moving)).toEqual(expect.arrayContaining(idsOf(after)))
    expect(idsOf(await exportAll(moving, { limit: 9 })).toSorted()).toEqual(truth(moving))
  })

  it('bills each session with a person', async () => {
    const fresh = await open({ agents: 1, conversations: 90 })
    const sessions = exportable(fresh).reduce((sum, { billableSessions }) => sum + billableSessions, 0)
    const pages = await exportAll(fresh, { limit: 9 })
    expect(pages.reduce((sum, { usage }) => sum + usage.billableUsedThisRequest!, 0)).toBe(sessions)
    expect(pages.at(-1)!.usage).toMatchObject({
      includedQuota: 50_000,
      billableUsedThisPeriod: sessions,
      billableRemainingThisPeriod: 50_000 - sessions,
      overageUsedThisPeriod: 0,
      overagePacksCharged: 0,
      exportRequestCount: pages.length,
    })
    expect(sessions).toBeGreaterThan(exportable(fresh).length)
  })
})

describe('the limits', () => {
  const ids = (count: number) => ({ convoIds: Array.from({ length: count }, (_, number) => `id-${number}`).join(',') })

  it('are 500 ids, and 1,500 requests in an hour for all agents; the counter goes down and others count', async () => {
    const sandbox = await open({ startMs: Date.UTC(2026, 5, 1, 12, 30) })
    expect([await status(sandbox, ids(500)), await status(sandbox, ids(501))]).toEqual([200, 400])
    sandbox.faults.set({ script: [{ at: 1, fault: 'others-requests', param: 1_494 }] })
    const remaining = []
    for (const agentId of sandbox.world.agentIds()) {
      const answer = await ask<ExportBody>(sandbox, 'GET', exportPath(agentId))
      remaining.push(answer.body.rateLimit.remainingHour)
    }
    expect(remaining).toEqual([3, 2, 1])
    expect([await status(sandbox), await status(sandbox)]).toEqual([200, 429])
    const refused = await call(sandbox, exportPath(firstAgent(sandbox)))
    expect(refused.headers.get('retry-after')).toBe('3600')
    expect((await call(sandbox, '/v3/agents/search')).status).toBe(200)
    sandbox.clock.advance(59 * MINUTE)
    expect(await status(sandbox)).toBe(429)
    sandbox.clock.advance(MINUTE)
    expect(await status(sandbox)).toBe(200)
  })

  it('of an unpaid workspace are 300 requests, each refused', async () => {
    const sandbox = await open({ paid: false })
    sandbox.faults.set({ script: [{ at: 1, fault: 'others-requests', param: 299 }] })
    expect([await status(sandbox), await status(sandbox)]).toEqual([403, 429])
  })

  it('of the quota charge packs of 1,000 sessions, and a new period begins with the next one', async () => {
    const sandbox = await open({ quotaSessions: 10, agents: 1, conversations: 120 })
    const packs = new Set<number>()
    for (let overage = 0; overage <= 1_000; ) {
      const { usage } = await exportPage(sandbox, { limit: 100 })
      overage = usage.billableUsedThisPeriod! - 10
      expect(usage).toMatchObject({ overageUsedThisPeriod: overage, billableRemainingThisPeriod: 0 })
      expect(usage.overagePacksCharged).toBe(Math.ceil(overage / 1_000))
      packs.add(usage.overagePacksCharged!)
    }
    expect([...packs]).toEqual([1, 2])
    const { usage: before } = await exportPage(sandbox)
    sandbox.clock.advance(30 * DAY)
    const { usage } = await exportPage(sandbox)
    expect(usage.periodKey).not.toBe(before.periodKey)
    expect(usage.billableUsedThisPeriod).toBe(usage.billableUsedThisRequest)
  })
})

interface AuditPage {
  entries: { ts: number; field: string; oldValue: string; newValue: string; source: string }[]
  nextCursorTs: number | null
}

describe('a record', () => {
  const options = { startMs: START_MS, conversations: 2_000, agents: 2, seed: 7, timeZone: 'Asia/Tokyo' }
  const world = createWorld(options)
  const texts = Array.from({ length: 2_000 }, (_, index) => world.render(index, START_MS))
  const records = texts.map(text => JSON.parse(text) as Record<string, unknown>)
  const recordsOf = (agent: string) =>
    records.filter(({ ID }) => world.find(agent, ID as string, START_MS) !== undefined)

  it('has the documented fields and types; each field occurs, and most are optional', () => {
    for (const record of records.slice(0, 400)) expect(Conversation.safeParse(record).error).toBeUndefined()
    expect(CONVERSATION_FIELDS.filter(name => !records.some(record => (record[name] ?? null) !== null))).toEqual([])
    for (const name of ['userEmail', 'notes', 'csat', 'tags', 'summary'])
      expect(new Set(records.map(record => typeof (record[name] ?? record[name])))).toContain('undefined')
    expect(records.some(({ csat }) => csat === null)).toBe(true)
    expect(records.filter(({ lastMessage }) => lastMessage !== undefined).length).toBeGreaterThan(1_000)
  })

  it('has each key once, well-formed text of several scripts, and no time in the future', () => {
    const all = texts.join('')
    expect(records.map(record => JSON.stringify(record).length)).toEqual(texts.map(({ length }) => length))
    for (const sample of [/\p{Script=Han}/u, /\p{Script=Arabic}/u, /\p{M}/u, /\p{Emoji_Presentation}/u, /\\n/, /\\"/])
      expect(all).toMatch(sample)
    expect(all).not.toMatch(/\p{Surrogate}/u)
    const times = [...all.matchAll(/:(1[78]\d{11})\b/g)].map(([, ms]) => Number(ms))
    expect([times.length > 10_000, Math.max(...times) <= START_MS]).toEqual([true, true])
  })

  it('is of a contact who may return, to the same agent and on other channels', () => {
    const channels = new Map<string, string[]>()
    for (const id of world.agentIds())
      for (const record of recordsOf(id)) {
        const { contactIdentityId, sessions } = record as {
          contactIdentityId?: string
          sessions: { channel: string }[]
        }
        if (!contactIdentityId) continue
        const contact = `${id} ${contactIdentityId}`
        channels.set(contact, [...(channels.get(contact) ?? []), sessions[0]!.channel])
      }
    const returning = [...channels.values()].filter(({ length }) => length > 1)
    expect(returning.length).toBeGreaterThan(50)
    expect(returning.length).toBeLessThan(channels.size / 3)
    expect(returning.filter(of => new Set(of).size > 1).length).toBeGreaterThan(30)
  })

  it('follows the working week of the time zone: contacts rest at night, people at lunch and weekends', () => {
    const local = (ms: number) => new Date(ms + 9 * HOUR)
    const inHours = (ms: number, from: number, to: number) =>
      local(ms).getUTCDay() % 6 !== 0 && local(ms).getUTCHours() >= from && local(ms).getUTCHours() < to
    const share = (times: readonly number[], from: number, to: number) =>
      times.filter(ms => inHours(ms, from, to)).length / times.length
    const begun = records.map(({ firstMessageTS }) => firstMessageTS as number)
    const resolved = records.flatMap(({ resolvedAt }) => (resolvedAt as number | null) ?? [])
    const handoffs = records.flatMap(
      ({ handoffHistory }) =>
        (handoffHistory ?? []) as { requestedAt: number; acceptedAt: number | null; completedAt?: number }[],
    )
    const accepted = handoffs.filter(({ acceptedAt }) => acceptedAt !== null) as {
      requestedAt: number
      acceptedAt: number
    }[]
    const acceptances = accepted.map(({ acceptedAt }) => acceptedAt)
    expect(Math.min(begun.length, resolved.length, acceptances.length)).toBeGreaterThan(150)
    // Of an even distribution, 30 % would be in these hours.
    expect(share(begun, 8, 18)).toBeGreaterThan(0.45)
    expect(share(begun, 0, 6)).toBeLessThan(0.1)
    for (const times of [acceptances, resolved]) {
      expect(share(times, 8, 18)).toBeGreaterThan(0.8)
      expect(share(times, 12, 13)).toBeLessThan(share(times, 11, 12))
    }
    const waiting = handoffs.filter(({ acceptedAt, completedAt }) => acceptedAt === null && !completedAt)
    expect(waiting.filter(({ requestedAt }) => requestedAt < START_MS - 50 * HOUR)).toEqual([])
    expect(handoffs.some(({ acceptedAt, completedAt }) => acceptedAt === null && completedAt)).toBe(true)
    const reversed = accepted.filter(({ requestedAt, acceptedAt }) => acceptedAt < requestedAt)
    expect([reversed.length > 0, reversed.length < accepted.length / 20]).toEqual([true, true])
  })

  it('is more often resolved after a revision of its agent, which the audit log names', async () => {
    const sandbox = await open(options)
    for (const id of world.agentIds()) {
      const path = `/v3/agents/${id}/audit-log?limit=200`
      const { entries, nextCursorTs } = (await ask<AuditPage>(sandbox, 'GET', path)).body
      const older = (await ask<AuditPage>(sandbox, 'GET', `${path}&cursorTs=${nextCursorTs ?? 0}`)).body.entries
      const revisions = [...entries, ...older].filter(({ field }) => field === 'nodes[fallback].instructions')
      expect(new Set(revisions.map(({ ts }) => ts)).size).toBe(1)
      const { ts, oldValue, newValue, source } = revisions[0]!
      expect([source, oldValue === newValue]).toEqual(['user_update', false])
      const resolvedShare = (isAfter: boolean) => {
        const those = recordsOf(id).filter(
          ({ firstMessageTS }) => (firstMessageTS as number) >= ts * SECOND === isAfter,
        )
        return those.filter(({ isResolved }) => isResolved).length / those.length
      }
      expect(resolvedShare(true) - resolvedShare(false)).toBeGreaterThan(0.1)
    }
  })

  it('is the same for the same seed, and changes exactly when its state key does', () => {
    const again = createWorld({ ...options, conversations: 300, historyDays: 5 })
    const twin = createWorld({ ...options, conversations: 300, historyDays: 5 })
    const other = createWorld({ ...options, conversations: 300, historyDays: 5, seed: 8 })
    let changed = 0
    for (let index = 0; index < 300; index++) {
      const [before, after] = [again.render(index, START_MS), again.render(index, START_MS + 20 * DAY)]
      expect([twin.render(index, START_MS) === before, other.render(index, START_MS) === before]).toEqual([true, false])
      const isSame = again.stateKey(index, START_MS) === again.stateKey(index, START_MS + 20 * DAY)
      expect(before === after).toBe(isSame)
      if (!isSame) changed++
    }
    expect(changed).toBeGreaterThan(30)
  })
})
