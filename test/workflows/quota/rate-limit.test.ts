// The hourly rate limit, used up by the sync itself or by another client with the same token.
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../../src/core/time.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { meddlingProxy } from '../simulated/meddling-proxy.ts'
import { type SimulatedApp, START_MS, TOKEN } from '../simulated/open-simulated-app.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'
import { readThrough, truthOf } from '../simulated/truth.ts'

const SMALL_HOUR = { conversations: 300, hourlyRequests: 20 }
/** A workspace whose agents have one page each. */
const FEW_REQUESTS = { ...SMALL_HOUR, conversations: 60, agents: 2 }
const SMALL_PAGES = { maxPage: 7 }

async function expectTruth(simulated: SimulatedApp): Promise<void> {
  const found = await simulated.rows<{ id: string }>('SELECT conversation_id AS id FROM conversations ORDER BY id')
  const truth = truthOf(simulated.sandbox, { throughMs: readThrough(START_MS, 2 * MINUTE) })
  expect(found.map(row => row.id)).toEqual(truth.map(({ record }) => String(record.ID)).sort())
}

/** Sends requests with the token, as another client would, until the hourly limit is used up. */
async function useUpTheHour(sandbox: Sandbox): Promise<void> {
  const path = `/v3/agents/${sandbox.world.agentIds()[0]}/convos/export?limit=1&fromTs=2000&toTs=2000`
  for (let status = 200; status !== 429; )
    ({ status } = await fetch(sandbox.url + path, { headers: { authorization: `Bearer ${TOKEN}` } }))
}

describe('a sync that needs more requests than the hourly limit', () => {
  it('waits and continues, keeps the reserve free, and causes no 429', async () => {
    const simulated = await simulatedApp({ sandbox: SMALL_HOUR, settings: { ...SMALL_PAGES, hourReserveShare: 0.25 } })
    const report = await simulated.sync()
    expect(report.outcome).toBe('done')
    expect(report.requests).toBeGreaterThan(30)
    const served = await simulated.served()
    expect(served.filter(request => request.status !== 200)).toEqual([])
    const inAnHour = served.map(({ at: last }) => served.filter(({ at }) => at > last - HOUR && at <= last).length)
    // Of 20 requests per hour, 5 are the configured reserve and one (a twentieth) is reserved for polls for new conversations.
    expect(Math.max(...inAnHour)).toBe(14)
    expect(simulated.sandbox.clock.now()).toBeGreaterThan(START_MS + 2 * HOUR)
    expect(simulated.updates.some(update => update.kind === 'waiting' && update.reason === 'hour')).toBe(true)
    await expectTruth(simulated)
  })

  it('ends if it may not wait, and the next one continues behind it', async () => {
    const sandbox = { conversations: 150, hourlyRequests: 10 }
    const simulated = await simulatedApp({ sandbox, settings: SMALL_PAGES })
    const outcomes: string[] = []
    for (let round = 0; round < 5; round++) {
      const report = await simulated.sync({ wait: false })
      outcomes.push(report.outcome)
      if (report.outcome === 'done') break
      expect(report.windowsLeft).toBeGreaterThan(0)
      expect(simulated.sandbox.clock.now()).toBeLessThan(START_MS + round * (HOUR + MINUTE) + MINUTE)
      simulated.advance(HOUR + MINUTE - ((simulated.sandbox.clock.now() - START_MS) % (HOUR + MINUTE)))
    }
    expect(outcomes.slice(0, 2)).toEqual(['hour-spent', 'hour-spent'])
    expect(outcomes.at(-1)).toBe('done')
    const cursors = (await simulated.exported()).flatMap(request => request.query.cursor ?? [])
    expect(new Set(cursors).size).toBe(cursors.length)
  })
})

describe('a sync after another client has used up the hourly limit', () => {
  it('continues at the time that Retry-After names', async () => {
    const simulated = await simulatedApp({ sandbox: FEW_REQUESTS })
    await useUpTheHour(simulated.sandbox)
    const before = (await simulated.served()).length
    const report = await simulated.sync()
    expect(report.outcome).toBe('done')
    const after = (await simulated.served()).slice(before)
    expect(after.filter(request => request.status === 429)).toHaveLength(1)
    expect(after[1]!.at - START_MS).toBeGreaterThanOrEqual(HOUR)
    await expectTruth(simulated)
  })

  it('retries once a minute without Retry-After', async () => {
    const silent = async (sandbox: Sandbox) =>
      (await meddlingProxy(sandbox.url, () => undefined, { dropRetryAfter: true })).url
    const simulated = await simulatedApp({ sandbox: FEW_REQUESTS, through: silent })
    await useUpTheHour(simulated.sandbox)
    simulated.advance(HOUR - 6 * MINUTE)
    const before = (await simulated.served()).length
    const report = await simulated.sync()
    expect(report.outcome).toBe('done')
    const turnedAway = (await simulated.served()).slice(before).filter(request => request.status === 429)
    expect(turnedAway.length).toBeGreaterThanOrEqual(5)
    for (const [index, request] of turnedAway.slice(1).entries())
      expect(request.at - turnedAway[index]!.at).toBeGreaterThanOrEqual(MINUTE)
    await expectTruth(simulated)
  })

  it('ends at once if it may not wait, as does the next one', async () => {
    const simulated = await simulatedApp({ sandbox: FEW_REQUESTS })
    await useUpTheHour(simulated.sandbox)
    const before = (await simulated.served()).length
    expect(await simulated.sync({ wait: false })).toMatchObject({ outcome: 'hour-spent', requests: 1 })
    expect(await simulated.sync({ wait: false })).toMatchObject({ outcome: 'hour-spent', requests: 0 })
    expect((await simulated.served()).length - before).toBe(1)
    expect(simulated.sandbox.clock.now()).toBeLessThan(START_MS + MINUTE)
  })
})

describe('an agent whose new conversations take pages without end', () => {
  it('leaves the requests for polls to the new conversations of others', async () => {
    let endless = ''
    let pages = 0
    const body = () =>
      JSON.stringify({ success: true, data: [], hasMore: true, nextCursor: `more ${++pages}`, scannedConvoCount: 100 })
    const simulated = await simulatedApp({
      sandbox: { agents: 2, conversations: 40, arrivalsPerDay: 2_000, hourlyRequests: 100 },
      settings: { requestsPerHour: 100 },
      through: async sandbox =>
        (
          await meddlingProxy(sandbox.url, ({ agentId }) =>
            agentId === endless ? { answer: { status: 200, body: body() } } : undefined,
          )
        ).url,
    })
    await simulated.sync()
    const [first, second] = simulated.sandbox.world.agentIds()
    endless = first!
    simulated.advance(15 * MINUTE)
    expect(await simulated.sync({ wait: false })).toMatchObject({ outcome: 'hour-spent' })
    expect(pages).toBeGreaterThan(70)
    const newest = async () =>
      (await simulated.rows<{ n: string }>(`SELECT count(*) AS n FROM conversations WHERE agent_id = '${second}'`))[0]!
        .n
    const before = Number(await newest())
    simulated.advance(15 * MINUTE)
    await simulated.sync({ wait: false })
    expect(Number(await newest())).toBeGreaterThan(before)
  })
})
