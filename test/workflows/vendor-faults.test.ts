import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HOUR } from '../../src/core/time.ts'
import { FAULT_NAMES, FAULTS, type FaultName, type FaultSettings } from '../../src/sandbox/faults/fault-settings.ts'
import { HOSTILE_NAMES, type HostileName } from '../../src/sandbox/hostile/hostile-table.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { Rate } from '../../src/sandbox/rates.ts'
import { createWorld } from '../../src/sandbox/world/world.ts'
import { expectedTables } from './expected-rows.ts'
import { finish } from './fault-mix.ts'
import { houseComplaints, ledgerOf, truthComplaints, wasLost } from './fault-witness.ts'
import { emptyApp, openSimulatedApp, type SimulatedApp, START_MS } from './open-simulated-app.ts'
import { isProbe } from './probe.ts'
import { simulatedApp } from './simulated-app.ts'
import { asLines, warehouseTables } from './warehouse-tables.ts'

interface Case {
  param?: number
  /** Served to each request whose number this divides; default: 3. */
  every?: number
  sandbox?: Partial<SandboxOptions>
  script?: FaultSettings['script']
  /** How the first sync ends; default: done. */
  outcome?: 'done' | 'failed' | 'period-spent'
  /** Nothing is bought twice; default: true. */
  once?: boolean
}

/** Every fault of the table: what it needs to strike, and what a sync makes of it. A new one is no key of this yet. */
const CASES: Record<FaultName, Case> = {
  'others-requests': { param: 15, sandbox: { hourlyRequests: 40 } },
  'hour-forgotten': { sandbox: { hourlyRequests: 12 } },
  '429': {},
  '429-retry-after': { param: 90_000 },
  '503': {},
  'dropped-before': {},
  '500': {},
  'expired-cursor': { once: false },
  'empty-page': {},
  'repeated-cursor': { every: 4, outcome: 'failed', once: false },
  'missing-cursor': { every: 4, outcome: 'failed', once: false },
  shuffled: { every: 1 },
  'hour-told-high': { every: 1, sandbox: { hourlyRequests: 12 } },
  'usage-told-low': {
    every: 2,
    sandbox: { quotaSessions: 60, historyDays: 2_000 },
    outcome: 'period-spent',
    once: false,
  },
  'old-period-told': {
    sandbox: { quotaSessions: 60, historyDays: 2_000 },
    script: [{ at: 4, set: { turnPeriod: true } }],
    outcome: 'period-spent',
    once: false,
  },
  'unseen-period-told': { every: 6, once: false },
  'cut-body': {},
  'cut-json': {},
  html: {},
  'dropped-after': {},
  slow: { param: 30 },
  overtaking: { every: 2, param: 40 },
  'clock-off': {},
  'deep-envelope': {},
}

const WORLD: Partial<SandboxOptions> = { conversations: 80, agents: 2 }
const PAGES = { maxPage: 10 }
const MOST_REQUESTS = 150

let shared: Awaited<ReturnType<typeof emptyApp>>
beforeAll(async () => {
  shared = await emptyApp()
})
afterAll(() => shared.close())

describe('a vendor with one fault', () => {
  it.each(FAULT_NAMES)('%s: is survived, and costs no more than it must', async fault => {
    const { param, every = 3, sandbox: world, script = [], outcome = 'done', once = true } = CASES[fault]
    const beside = { ...shared, workspaceId: `fault_${fault}` }
    const simulated = await simulatedApp({ beside, sandbox: { ...WORLD, speed: 1, ...world }, settings: PAGES })
    const { faults, clock } = simulated.sandbox
    faults.set({ script: [...script, { every, fault, ...(param !== undefined && { param }) }] })
    const first = await simulated.sync()
    expect(first.outcome).toBe(outcome)
    expect(faults.report().served[fault]).toBeGreaterThan(0)
    const lost = (await simulated.served()).filter(request => !isProbe(request) && request.status !== 429)
    const unanswered = lost.filter(request => wasLost(request) || request.status === 0).length
    expect(first.lostAnswers).toBe(unanswered)

    clock.advance(HOUR)
    const { complaints, plannedAtMs } = await finish(simulated)
    expect(complaints).toEqual([])
    expect(await houseComplaints(simulated, { torn: 0 })).toEqual([])
    expect(await truthComplaints(simulated, { plannedAtMs, readSinceMs: START_MS })).toEqual([])
    const served = await simulated.served()
    expect(served.length).toBeLessThan(MOST_REQUESTS)
    if (!once) return
    const [window] = await simulated.rows<{ generation: number }>(
      `SELECT max((progress->>'$.generation')::INTEGER)::INTEGER AS generation FROM _windows WHERE workspace_id = '${beside.workspaceId}'`,
    )
    expect(window!.generation).toBe(1)
  })

  it('has a row in docs/faults.md, whichever it is', () => {
    const page = readFileSync(new URL('../../docs/faults.md', import.meta.url), 'utf8')
    const rows = page.split('\n').filter(line => line.startsWith('| `'))
    const told = rows.flatMap(row => [...row.split(' | ')[0]!.matchAll(/`([^`]+)`/g)].map(match => match[1]!))
    expect([...FAULT_NAMES, ...HOSTILE_NAMES].filter(name => !told.includes(name))).toEqual([])
  })
})

describe('a list of agents with one fault', () => {
  let simulated: SimulatedApp
  let end: () => Promise<void>
  let plannedAtMs: number
  beforeAll(async () => {
    const beside = { ...shared, workspaceId: 'search' }
    const opened = await openSimulatedApp({ beside, sandbox: { ...WORLD, conversations: 20 }, settings: PAGES })
    simulated = opened.simulated
    end = opened.end
  })
  afterAll(() => end())

  it.each(FAULT_NAMES.filter(name => FAULTS[name].search))('%s: the next sync goes on', async fault => {
    const { faults } = simulated.sandbox
    const { param } = CASES[fault]
    faults.set({ script: [{ kind: 'search', to: 4, fault, ...(param !== undefined && { param }) }] })
    await simulated.sync().catch(error => expect(error).toMatchObject({ kind: 'transient' }))
    expect(faults.report().served[fault]).toBeGreaterThan(0)
    simulated.advance(HOUR)
    const finished = await finish(simulated)
    expect(finished.complaints).toEqual([])
    plannedAtMs = finished.plannedAtMs
  })

  it('whichever it was, costs no conversation, and no request is left out of the ledger', async () => {
    expect(await truthComplaints(simulated, { plannedAtMs, readSinceMs: START_MS })).toEqual([])
    expect(ledgerOf(simulated).filter(entry => entry.kind === 'request')).toHaveLength(
      (await simulated.served()).length,
    )
  })
})

/** What is hit has a data issue, a drift, or a place in the quarantine; some of it is good JSON that fits the tables. */
const TOLD_IN: Record<HostileName, '_issues' | '_drift' | '_quarantine' | null> = {
  'wrong-types': '_issues',
  'huge-numbers': null,
  'sql-text': '_drift',
  'nul-text': '_drift',
  'lone-surrogates': '_drift',
  'unknown-fields': '_drift',
  'case-keys': '_drift',
  'duplicate-keys': null,
  'deep-nesting': '_drift',
  'ts-nonsense': '_issues',
  'ts-missing': null,
  'unicode-id': null,
  'odd-id': null,
  'comma-id': null,
  'huge-record': null,
  'no-id': '_quarantine',
  'no-object': '_quarantine',
  'odd-dates': '_issues',
  'odd-numerals': null,
  'future-modified': null,
}

/** What is hit by these has a row all the same, and it is told what that row must be. */
const EXACT: readonly HostileName[] = ['odd-dates', 'odd-numerals', 'future-modified']

describe('hostile records', () => {
  it.each(HOSTILE_NAMES)('%s: none is lost, and all others are exact', async name => {
    const rate: Rate = name === 'huge-record' ? { rate: 0.05, param: 1_048_576 } : 0.25
    const options: Partial<SandboxOptions> = {
      ...WORLD,
      conversations: 48,
      startMs: START_MS,
      hostile: { [name]: rate },
    }
    const beside = { ...shared, workspaceId: `hostile_${name}` }
    const simulated = await simulatedApp({ beside, sandbox: options, settings: PAGES })
    simulated.advance(HOUR)
    const nowMs = simulated.sandbox.clock.now()
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })

    const { world } = simulated.sandbox
    const [hostile, plain] = [world, createWorld({ ...options, hostile: {} })].map(one =>
      one
        .agentIds()
        .flatMap(agentId =>
          [...one.conversations(agentId, nowMs)]
            .filter(({ billableSessions }) => billableSessions > 0)
            .map(({ id, document }) => ({ agentId, id, record: document })),
        ),
    )
    const rows = simulated.rows
    const where = `workspace_id = '${beside.workspaceId}'`
    const held = await rows<{ id: string }>(`SELECT conversation_id AS id FROM conversations WHERE ${where}`)
    expect(held.map(({ id }) => id).sort()).toEqual(hostile!.map(({ id }) => id).sort())

    const before = new Map(plain!.map(({ id, record }) => [id, JSON.stringify(record)]))
    const untouched = hostile!.filter(({ id, record }) => before.get(id) === JSON.stringify(record))
    expect(untouched.length).toBeLessThan(plain!.length)
    const exact = EXACT.includes(name) ? hostile! : untouched
    const kept = new Set(exact.map(({ id }) => id))
    const tables = await warehouseTables(rows, beside.workspaceId)
    const ours = new Map(
      [...tables].map(([table, all]) => [table, all.filter(row => kept.has(String(row.conversation_id)))]),
    )
    const filled = new Map([...ours].filter(([, all]) => all.length > 0))
    expect(asLines(filled)).toEqual(asLines(expectedTables(exact)))

    const nameless = world.agentIds().reduce((sum, agentId) => sum + world.tally(agentId, nowMs).nameless, 0)
    const [quarantine] = await rows<{ n: number }>(`SELECT count(*)::INTEGER AS n FROM _quarantine WHERE ${where}`)
    expect(quarantine!.n).toBe(nameless)
    const book = TOLD_IN[name]
    if (book !== null) expect((await rows(`SELECT * FROM ${book} WHERE ${where}`)).length).toBeGreaterThan(0)
    expect(await houseComplaints(simulated, { torn: 0 })).toEqual([])
  })
})
