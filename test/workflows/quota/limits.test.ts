// Limits of one run (`maxRequests`, `maxSessions`), and the concurrency of windows.
import { describe, expect, it } from 'vitest'
import { MINUTE } from '../../../src/core/time.ts'
import { type MeddlingProxy, meddlingProxy } from '../simulated/meddling-proxy.ts'
import { type SimulatedApp, START_MS } from '../simulated/open-simulated-app.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'
import { readThrough, truthOf } from '../simulated/truth.ts'

const rowsIn = async (simulated: SimulatedApp): Promise<number> =>
  (await simulated.rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM conversations'))[0]!.n

const cursorsOf = async (simulated: SimulatedApp): Promise<string[]> =>
  (await simulated.exported()).flatMap(request => request.query.cursor ?? [])

describe('a run with a limit', () => {
  it('makes no more requests and bills no more sessions than allowed, and the next run continues behind it', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 540 } })
    expect(await simulated.sync({ maxRequests: 0 })).toMatchObject({ outcome: 'limit-reached', requests: 0 })
    expect(await simulated.served()).toEqual([])

    const first = await simulated.sync({ maxRequests: 3 })
    expect(first).toMatchObject({ outcome: 'limit-reached', requests: 3 })
    expect(first.windowsLeft).toBeGreaterThan(0)
    expect(await simulated.served()).toHaveLength(3)
    expect(await rowsIn(simulated)).toBe(first.conversations)

    const second = await simulated.sync({ maxSessions: 150 })
    expect(second).toMatchObject({ outcome: 'limit-reached', failures: [] })
    expect(second.sessions).toBeLessThanOrEqual(150)
    expect(second.sessions).toBeGreaterThan(110)
    expect((await simulated.usage()).billableUsedThisPeriod).toBe(first.sessions + second.sessions)

    expect(await simulated.sync()).toMatchObject({ outcome: 'done', windowsLeft: 0 })
    const cursors = await cursorsOf(simulated)
    expect(new Set(cursors).size).toBe(cursors.length)
    const truth = truthOf(simulated.sandbox, { throughMs: readThrough(START_MS, 2 * MINUTE) })
    expect(await rowsIn(simulated)).toBe(truth.length)
  })
})

describe('a run with a limit of sessions', () => {
  /** Each conversation has as many sessions, and bills them. */
  async function withSessions(sessionsOf: (index: number) => number) {
    let billed = 0
    let conversations = 0
    const change = (body: Record<string, unknown>) => {
      const data = (body.data as Record<string, unknown>[]).map(record => {
        const sessions = Array.from({ length: sessionsOf(conversations++) }, () => ({}))
        return { ...record, sessions, sessionsNum: sessions.length }
      })
      const page = data.reduce((sum, { sessions }) => sum + sessions.length, 0)
      billed += page
      const usage = body.usage as object
      return { ...body, data, usage: { ...usage, billableUsedThisRequest: page, billableUsedThisPeriod: billed } }
    }
    return simulatedApp({
      sandbox: { conversations: 900, agents: 3 },
      through: async sandbox => (await meddlingProxy(sandbox.url, () => ({ change }))).url,
    })
  }

  it('bills no more than that where each conversation has five sessions', async () => {
    const simulated = await withSessions(() => 5)
    const report = await simulated.sync({ maxSessions: 100 })
    expect(report).toMatchObject({ outcome: 'limit-reached', failures: [] })
    expect(report.sessions).toBeLessThanOrEqual(100)
    expect(report.sessions).toBeGreaterThanOrEqual(80)
    expect(report).not.toHaveProperty('warnings')
  })

  it('says what it billed beyond it, because a conversation had more sessions than any before', async () => {
    const simulated = await withSessions(index => (index === 60 ? 150 : 1))
    const { sessions, warnings } = await simulated.sync({ maxSessions: 100 })
    expect(sessions).toBeGreaterThan(200)
    expect(sessions).toBeLessThanOrEqual(100 + 150)
    expect(warnings).toEqual([expect.stringMatching(`^100 sessions allowed, ${sessions} billed: an answer had`)])
  })
})

describe('windows', () => {
  it('are read concurrently, each page by page, and evenly across agents', async () => {
    let proxy: MeddlingProxy | undefined
    const simulated = await simulatedApp({
      sandbox: { conversations: 600, agents: 6, latencyMs: 25 },
      settings: { maxPage: 10 },
      through: async sandbox => {
        proxy = await meddlingProxy(sandbox.url)
        return proxy.url
      },
    })
    await simulated.sync({ maxRequests: 40 })
    expect(proxy!.most.ofOneWindow).toBe(1)
    expect(proxy!.most.atOnce).toBeGreaterThan(1)
    expect(proxy!.most.atOnce).toBeLessThanOrEqual(4)
    const byAgent = new Map<string, number>()
    for (const { agentId } of await simulated.exported()) byAgent.set(agentId!, (byAgent.get(agentId!) ?? 0) + 1)
    expect(byAgent.size).toBe(6)
    expect(Math.max(...byAgent.values())).toBeLessThanOrEqual(10)
  })
})
