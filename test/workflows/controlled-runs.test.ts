// Limits of one run, the concurrency of its windows, and how a host may control it: pause, raise limits, hand over.
import { describe, expect, it } from 'vitest'
import type { Checkpoint } from '../../workflows/run.ts'
import { continueSync, planSync } from '../../workflows/sync.ts'
import { CONCURRENT_WINDOWS } from '../../workflows/window-loop.ts'
import { openSync } from '../vendor-model/model-process.ts'
import type { Served } from '../vendor-model/model-transport.ts'
import { agent, scenario } from '../vendor-model/scenario.ts'

const isAskedOnce = (requests: readonly Served[]): boolean => {
  const keys = requests.map(({ agentId, query }) => JSON.stringify([agentId, query]))
  return new Set(keys).size === keys.length
}

describe('a run with a limit', () => {
  it('makes no more requests and bills no more sessions than allowed, and the next run continues behind it', async () => {
    const limited = scenario({ agents: ['a', 'b', 'c'].map(id => agent(id, 180)) })
    expect(await limited.sync({ maxRequests: 0 })).toMatchObject({ outcome: 'limit-reached', requests: 0 })
    const first = await limited.sync({ maxRequests: 3 })
    expect(first).toMatchObject({ outcome: 'limit-reached', requests: 3 })
    expect(first.windowsLeft).toBeGreaterThan(0)
    expect(limited.requests()).toHaveLength(3)
    expect(limited.stored()).toHaveLength(first.conversations)
    const second = await limited.sync({ maxSessions: 150 })
    expect(second).toMatchObject({ outcome: 'limit-reached', failures: [] })
    expect(second.sessions).toBeLessThanOrEqual(150)
    expect(second.sessions).toBeGreaterThan(110)
    expect(limited.billed()).toBe(first.sessions + second.sessions)
    expect(await limited.sync()).toMatchObject({ outcome: 'done', windowsLeft: 0 })
    expect(isAskedOnce(limited.requests())).toBe(true)
    expect(limited.missing()).toEqual([])
  })

  it('bills no more than that if each conversation has five sessions', async () => {
    const limited = scenario({ agents: ['a', 'b', 'c'].map(id => agent(id, 300, { sessions: 5 })) })
    const report = await limited.sync({ maxSessions: 100 })
    expect(report).toMatchObject({ outcome: 'limit-reached', failures: [] })
    expect(report.sessions).toBeLessThanOrEqual(100)
    expect(report.sessions).toBeGreaterThanOrEqual(80)
    expect(report).not.toHaveProperty('warnings')
  })

  it('says what it billed beyond it, because a conversation had more sessions than any before', async () => {
    const limited = scenario({ agents: [agent('a', 100, { longest: 150 })] })
    const { sessions, warnings } = await limited.sync({ maxSessions: 100 })
    expect(sessions).toBeGreaterThan(150)
    expect(sessions).toBeLessThanOrEqual(100 + 150)
    expect(warnings).toEqual([expect.stringMatching(`^100 sessions allowed, ${sessions} billed: an answer had`)])
  })

  it('counts the sessions of lost answers', async () => {
    const agents = ['a', 'b', 'c'].map(id => agent(id, 100))
    const limited = scenario({ agents, maxPage: 20, behaviours: [{ kind: 'lost', share: 0.5 }] })
    const report = await limited.sync({ maxSessions: 150 })
    expect(report.outcome).toBe('limit-reached')
    expect(report.lostAnswers).toBeGreaterThan(0)
    expect(limited.billed()).toBeLessThanOrEqual(150)
    expect(limited.billed()).toBeLessThanOrEqual(report.sessions + report.lostSessions)
    expect(limited.billed()).toBeGreaterThan(report.sessions)
  })
})

it('windows are read concurrently, each page by page, and evenly across agents', async () => {
  const many = scenario({ agents: ['a', 'b', 'c', 'd', 'e', 'f'].map(id => agent(id, 100)), maxPage: 10 })
  await many.sync({ maxRequests: 40 })
  const requests = many.requests()
  const during = ({ atMs }: Served) =>
    requests.filter(other => other.atMs <= atMs && other.receivedAtMs > atMs).map(({ agentId }) => agentId)
  const atOnce = requests.map(during)
  expect(Math.max(...atOnce.map(agents => agents.length))).toBe(CONCURRENT_WINDOWS)
  expect(atOnce.every(agents => new Set(agents).size === agents.length)).toBe(true)
  const byAgent = ['a', 'b', 'c', 'd', 'e', 'f'].map(id => requests.filter(({ agentId }) => agentId === id).length)
  expect(Math.min(...byAgent)).toBeGreaterThan(0)
  expect(Math.max(...byAgent)).toBeLessThanOrEqual(10)
})

describe('a sync that is handed over repeatedly', () => {
  it('ends like any other and requests nothing twice', async () => {
    const { world, ...handed } = scenario({ agents: ['a', 'b', 'c'].map(id => agent(id, 40)), maxPage: 5 })
    let turns = 0
    const { steps, host, request } = openSync(world, { sync: {}, host: { shouldHandOver: () => ++turns % 5 === 0 } })
    let handovers = 0
    let checkpoint = await world.clock.drive(planSync(steps, host, request))
    for (;;) {
      const copy = JSON.parse(JSON.stringify(checkpoint)) as Checkpoint
      const ended = await world.clock.drive(continueSync(steps, host, request, copy))
      if (ended.checkpoint === null) {
        const requests = handed.requests()
        expect(ended.report).toMatchObject({ outcome: 'done', windowsLeft: 0, breaches: 0, requests: requests.length })
        expect(ended.report.pages).toBe(requests.filter(({ isProbe }) => !isProbe).length)
        break
      }
      handovers += 1
      checkpoint = ended.checkpoint
    }
    expect(handovers).toBeGreaterThan(3)
    expect(isAskedOnce(handed.requests())).toBe(true)
    expect(handed.stored().length).toBeGreaterThanOrEqual(117)
  })

  it('is reported once, as interrupted, if it is cancelled while it is handed over', async () => {
    const { world } = scenario({ agents: [agent('a', 100)], maxPage: 5 })
    let isCancelled = false
    const shouldHandOver = () => {
      isCancelled = true
      return true
    }
    const { steps, host, request } = openSync(world, {
      sync: {},
      host: { shouldHandOver, cancelled: () => isCancelled },
    })
    const checkpoint = await world.clock.drive(planSync(steps, host, request))
    const ended = await world.clock.drive(continueSync(steps, host, request, checkpoint))
    expect([ended.report?.outcome, ended.checkpoint]).toEqual(['interrupted', null])
  })
})

it('a paused sync requests nothing until it is resumed, and exceeds its limit by an allowance', async () => {
  const paused = scenario({ agents: [agent('a', 100)], maxPage: 5 })
  const { clock } = paused.world
  const [beganMs, pauseMs] = [clock.now(), 60_000]
  const allowances = [[{ requests: 500 }]]
  const untilResumed = () => clock.sleepUntil(beganMs + pauseMs, { dead: false })
  const host = { untilResumed, takeAllowances: () => allowances.pop() ?? [] }
  const report = await paused.sync({ maxRequests: 3 }, { host })
  expect(report.outcome).toBe('done')
  expect(report.requests).toBeGreaterThan(10)
  expect(Math.min(...paused.requests().map(({ atMs }) => atMs))).toBeGreaterThanOrEqual(beganMs + pauseMs)
})
