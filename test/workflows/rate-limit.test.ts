// The hourly rate limit, when the sync itself or another client uses it up, and an unreachable vendor.
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../src/core/time.ts'
import { START_MS } from '../vendor-model/history.ts'
import type { Served } from '../vendor-model/model-transport.ts'
import { agent, scenario } from '../vendor-model/scenario.ts'

const mostInAnHour = (requests: readonly Served[]): number =>
  Math.max(
    ...requests.map(({ atMs: last }) => requests.filter(({ atMs }) => atMs > last - HOUR && atMs <= last).length),
  )

const isFirstPageOnly = (requests: readonly Served[]): boolean => {
  const cursors = requests.flatMap(({ query }) => query.cursor ?? [])
  return new Set(cursors).size === cursors.length
}

describe('a sync that needs more requests than the hourly limit', () => {
  const small = { agents: ['a', 'b', 'c'].map(id => agent(id, 100)), maxPage: 7 }

  it('waits and continues, keeps the reserve free, and causes no 429', async () => {
    const hour = scenario({
      ...small,
      vendor: { requestsPerHour: 20 },
      settings: { requestsPerHour: 20, hourReserveShare: 0.25 },
    })
    const report = await hour.sync()
    expect(report.outcome).toBe('done')
    expect(report.requests).toBeGreaterThan(40)
    expect(hour.requests().filter(({ status }) => status !== 200)).toEqual([])
    // Of 20 requests an hour, 5 are the configured reserve and one (a twentieth) is reserved for polls for new conversations.
    expect(mostInAnHour(hour.requests())).toBe(14)
    expect(hour.last().waits.some(({ reason }) => reason === 'hour')).toBe(true)
    expect(hour.missing()).toEqual([])
  })

  it('ends if it may not wait, and the next one continues behind it', async () => {
    const hour = scenario({ ...small, vendor: { requestsPerHour: 20 }, settings: { requestsPerHour: 20 } })
    const outcomes: string[] = []
    while (outcomes.at(-1) !== 'done' && outcomes.length < 8) {
      outcomes.push((await hour.sync({ wait: false })).outcome)
      expect(hour.last().endedMs - hour.last().beganMs).toBeLessThan(MINUTE)
      hour.wait(HOUR)
    }
    expect(outcomes.slice(0, 2)).toEqual(['hour-spent', 'hour-spent'])
    expect(outcomes.at(-1)).toBe('done')
    expect(isFirstPageOnly(hour.requests())).toBe(true)
    expect(hour.missing()).toEqual([])
  })
})

describe('a sync after another client has used up the hourly limit', () => {
  const few = { agents: ['a', 'b'].map(id => agent(id, 30)) }

  it('continues at the time that Retry-After names', async () => {
    const hour = scenario({ ...few, behaviours: [{ kind: 'limited', word: '3600', untilMs: HOUR }] })
    expect(await hour.sync()).toMatchObject({ outcome: 'done' })
    expect(hour.requests().filter(({ status }) => status === 429)).toHaveLength(1)
    expect(hour.requests()[1]!.atMs - START_MS).toBeGreaterThanOrEqual(HOUR)
    expect(hour.missing()).toEqual([])
  })

  it('retries once a minute without Retry-After', async () => {
    const hour = scenario({ ...few, behaviours: [{ kind: 'limited', untilMs: 6 * MINUTE }] })
    expect(await hour.sync()).toMatchObject({ outcome: 'done' })
    const refused = hour.requests().filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThanOrEqual(5)
    for (const [index, { atMs }] of refused.slice(1).entries())
      expect(atMs - refused[index]!.atMs).toBeGreaterThanOrEqual(MINUTE)
    expect(hour.missing()).toEqual([])
  })

  it('ends at once if it may not wait, as does the next one', async () => {
    const hour = scenario({ ...few, behaviours: [{ kind: 'limited', word: '3600', untilMs: HOUR }] })
    expect(await hour.sync({ wait: false })).toMatchObject({ outcome: 'hour-spent', requests: 1 })
    expect(await hour.sync({ wait: false })).toMatchObject({ outcome: 'hour-spent', requests: 0 })
    expect(hour.last().endedMs).toBeLessThan(START_MS + MINUTE)
  })
})

describe('an agent whose new conversations take pages without end', () => {
  it('leaves the requests for polls to the new conversations of others', async () => {
    const agents = ['a', 'b'].map(id => agent(id, 20, { perDay: 1_000 }))
    const hour = scenario({ agents, vendor: { requestsPerHour: 100 }, settings: { requestsPerHour: 100 }, days: 1 })
    await hour.sync()
    hour.vendor({ kind: 'skips-without-end', agentId: 'a' })
    hour.wait(15 * MINUTE)
    expect(await hour.sync({ wait: false })).toMatchObject({ outcome: 'hour-spent' })
    expect(hour.requests(1).filter(({ agentId }) => agentId === 'a').length).toBeGreaterThan(70)
    const ofOthers = () => hour.stored().filter(key => key.startsWith('b/')).length
    const before = ofOthers()
    hour.wait(15 * MINUTE)
    await hour.sync({ wait: false })
    expect(ofOthers()).toBeGreaterThan(before)
  })
})

it('requests to an unreachable vendor count neither as billed sessions nor against the rate limit', async () => {
  const hour = scenario({ agents: ['a', 'b', 'c'].map(id => agent(id, 30)), maxPage: 10 })
  await hour.sync({ maxRequests: 4 })
  hour.vendor({ kind: 'unreachable' })
  hour.wait(2 * HOUR)
  const report = await hour.sync()
  expect(report).toMatchObject({ outcome: 'failed', requests: 0, sessions: 0, lostAnswers: 0, lostSessions: 0 })
  expect(report.failures[0]!.what).toContain('ECONNREFUSED')
  hour.vendor()
  expect(await hour.sync()).toMatchObject({ outcome: 'done', windowsLeft: 0 })
})

it('a vendor that is down is asked once a minute, then given up, and the next sync continues', async () => {
  const down = scenario({ agents: ['a', 'b'].map(id => agent(id, 60)), maxPage: 15 })
  down.vendor({ kind: 'fails', value: 503 })
  const report = await down.sync()
  expect(report.outcome).toBe('failed')
  expect(report.failures).toMatchObject([{ code: 'API_UNAVAILABLE', kind: 'transient' }])
  expect(report.requests).toBeLessThanOrEqual(12)
  expect(down.last().endedMs - START_MS).toBeGreaterThanOrEqual(2 * MINUTE)
  expect(new Set(down.last().waits.map(({ code }) => code))).toEqual(new Set(['API_UNAVAILABLE']))
  down.vendor()
  expect(await down.sync()).toMatchObject({ outcome: 'done' })
  expect(down.missing()).toEqual([])
})
