// Every fault and every hostile record of the sandbox, in groups; in the deep tier also each one alone.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UNREAD_TIME } from '../../../src/catalog/inspection/unread-values.ts'
import { HOUR } from '../../../src/core/time.ts'
import { FAULT_NAMES, FAULTS, type FaultName, type ScriptRule } from '../../../src/sandbox/faults/fault-settings.ts'
import { HOSTILE_NAMES, type HostileName } from '../../../src/sandbox/hostile/hostile-table.ts'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import type { Rate } from '../../../src/sandbox/rates.ts'
import { createWorld } from '../../../src/sandbox/world/world.ts'
import { isDeep } from '../../tier.ts'
import { expectedTables } from '../simulated/expected-rows.ts'
import { emptyApp, START_MS } from '../simulated/open-simulated-app.ts'
import { isProbe } from '../simulated/probe.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'
import { asLines, warehouseTables } from '../simulated/warehouse-tables.ts'
import { appViolations, leaseLogOf, truthViolations, wasLost } from './fault-invariants.ts'
import { finish } from './fault-mix.ts'

/** Faults after which a sync ends in the same way. */
type Group = 'refused' | 'lost' | 'odd answer' | 'cursor' | 'rate limit' | 'period'

interface GroupCase {
  /** Every n-th request meets the next of the group's faults, in turn. Default: each fault occurs once, as soon as it applies. */
  every?: number
  sandbox?: Partial<SandboxOptions>
  script?: ScriptRule[]
  /** How the first sync ends; default: done. */
  outcome?: 'done' | 'failed' | 'period-spent'
  /** True: every window is read in one generation, without a restart; default: true. */
  once?: boolean
}

const GROUPS: Record<Group, GroupCase> = {
  // A page that fails twice is requested again in smaller pages.
  refused: { every: 2, once: false },
  lost: { every: 3, sandbox: { conversations: 100 }, once: false },
  'odd answer': { every: 1 },
  cursor: { sandbox: { agents: 3 }, once: false },
  'rate limit': { every: 2, sandbox: { hourlyRequests: 20 } },
  period: {
    every: 2,
    sandbox: { quotaSessions: 60, historyDays: 2_000 },
    // A second period must begin, because a fault of this group reports an earlier one.
    script: [{ at: 4, set: { turnPeriod: true } }],
    outcome: 'period-spent',
    once: false,
  },
}

interface Case {
  group: Group
  param?: number
  /** What differs from the group's case when this fault is served alone. */
  alone?: Partial<GroupCase>
}

/** The type requires a group for every fault: a new fault without one does not compile. */
const CASES: Record<FaultName, Case> = {
  'others-requests': { group: 'rate limit', param: 6 },
  'hour-forgotten': { group: 'rate limit', alone: { sandbox: { hourlyRequests: 12 } } },
  '429': { group: 'refused' },
  '429-retry-after': { group: 'refused', param: 90_000 },
  '503': { group: 'refused', alone: { every: 3 } },
  'dropped-before': { group: 'refused', alone: { every: 3 } },
  '500': { group: 'refused', alone: { every: 3 } },
  'expired-cursor': { group: 'cursor', alone: { every: 3 } },
  'empty-page': { group: 'odd answer', alone: { every: 3 } },
  'repeated-cursor': { group: 'cursor', alone: { every: 4 } },
  'missing-cursor': { group: 'cursor', alone: { every: 4 } },
  shuffled: { group: 'odd answer' },
  'hour-reported-high': { group: 'rate limit', alone: { every: 1, sandbox: { hourlyRequests: 12 } } },
  'usage-reported-low': { group: 'period', alone: { script: [] } },
  'old-period-reported': { group: 'period' },
  'unseen-period-reported': { group: 'period', alone: { every: 6, sandbox: {}, script: [], outcome: 'done' } },
  'cut-body': { group: 'lost' },
  'cut-json': { group: 'lost' },
  html: { group: 'lost' },
  'dropped-after': { group: 'lost' },
  slow: { group: 'odd answer', param: 30 },
  overtaking: { group: 'odd answer', param: 40 },
  'clock-off': { group: 'odd answer', alone: { every: 3 } },
  'deep-envelope': { group: 'odd answer' },
}

const WORLD: Partial<SandboxOptions> = { conversations: 80, agents: 2 }
const PAGES = { maxPage: 10 }
const MOST_REQUESTS = 150

interface Served extends GroupCase {
  title: string
  names: FaultName[]
}

const grouped: Served[] = (Object.keys(GROUPS) as Group[]).map(group => {
  const names = FAULT_NAMES.filter(name => CASES[name].group === group)
  return { ...GROUPS[group], title: names.join(', '), names }
})

const alone: Served[] = FAULT_NAMES.map(name => {
  const { group, alone: own } = CASES[name]
  return { ...GROUPS[group], ...own, title: `${name} alone`, names: [name] }
})

const ruleOf = (fault: FaultName): ScriptRule => {
  const { param } = CASES[fault]
  return { fault, ...(param !== undefined && { param }) }
}

const rulesOf = ({ names, every }: Served): ScriptRule[] =>
  every === undefined
    ? names.map(name => ({ ...ruleOf(name), times: 1 }))
    : Array.from({ length: MOST_REQUESTS / every }, (_, turn) => ({
        ...ruleOf(names[turn % names.length]!),
        at: every * (turn + 1),
      }))

let shared: Awaited<ReturnType<typeof emptyApp>>
beforeAll(async () => {
  shared = await emptyApp()
})
afterAll(() => shared.close())

describe('a sync of a vendor with faults', () => {
  it.each((isDeep ? [...grouped, ...alone] : grouped).map(test => [test.title, test] as const))(
    '%s: loses nothing and costs no more than necessary',
    async (_, test) => {
      const { names, outcome = 'done', once = true } = test
      const beside = { ...shared, workspaceId: `fault_${names.join('_')}` }
      const simulated = await simulatedApp({
        beside,
        sandbox: { ...WORLD, speed: 1, ...test.sandbox },
        settings: PAGES,
      })
      const { faults, clock } = simulated.sandbox
      faults.set({ script: [...(test.script ?? []), ...rulesOf(test)] })
      const first = await simulated.sync()
      expect(first.outcome).toBe(outcome)
      for (const name of names) expect(faults.report().served[name], name).toBeGreaterThan(0)
      const lost = (await simulated.served()).filter(request => !isProbe(request) && request.status !== 429)
      const failed = lost.filter(request => wasLost(request) || request.status === 0 || request.status >= 500).length
      expect(first.lostAnswers).toBe(failed)

      clock.advance(HOUR)
      const { violations, plannedAtMs } = await finish(simulated)
      expect(violations).toEqual([])
      expect(await appViolations(simulated, { stoppedRuns: 0 })).toEqual([])
      expect(await truthViolations(simulated, { plannedAtMs, readSinceMs: START_MS })).toEqual([])
      const served = await simulated.served()
      expect(served.length).toBeLessThan(MOST_REQUESTS)
      if (!once) return
      const [window] = await simulated.rows<{ generation: number }>(
        `SELECT max((progress->>'$.generation')::INTEGER)::INTEGER AS generation FROM _windows WHERE workspace_id = '${beside.workspaceId}'`,
      )
      expect(window!.generation).toBe(1)
    },
  )
})

describe('test/faults.md', () => {
  it('has a row for each fault', () => {
    const page = readFileSync(new URL('../../faults.md', import.meta.url), 'utf8')
    const rows = page.split('\n').filter(line => line.startsWith('| `'))
    const documented = rows.flatMap(row => [...row.split(' | ')[0]!.matchAll(/`([^`]+)`/g)].map(match => match[1]!))
    expect([...FAULT_NAMES, ...HOSTILE_NAMES].filter(name => !documented.includes(name))).toEqual([])
  })
})

describe('a listing of agents', () => {
  const names = FAULT_NAMES.filter(name => FAULTS[name].search)

  it('may have any fault: the next sync continues, and no conversation or request is missing', async () => {
    const beside = { ...shared, workspaceId: 'search' }
    const simulated = await simulatedApp({ beside, sandbox: { ...WORLD, conversations: 20 }, settings: PAGES })
    const { faults } = simulated.sandbox
    faults.set({ script: names.map((name, index) => ({ ...ruleOf(name), kind: 'search', at: index + 1 })) })
    for (let sync = 0; sync < names.length && faults.report().requests.search < names.length; sync++) {
      await simulated.sync().catch(error => expect(error).toMatchObject({ kind: 'transient' }))
      simulated.advance(HOUR)
    }
    for (const name of names) expect(faults.report().served[name], name).toBeGreaterThan(0)
    const { violations, plannedAtMs } = await finish(simulated)
    expect(violations).toEqual([])
    expect(await truthViolations(simulated, { plannedAtMs, readSinceMs: START_MS })).toEqual([])
    expect(leaseLogOf(simulated).filter(entry => entry.kind === 'request')).toHaveLength(
      (await simulated.served()).length,
    )
  })
})

interface HostileCase {
  /** How pages with such a record are loaded: unchanged, coerced, or coerced with the record in quarantine. */
  group: 'as landed' | 'coerced' | 'quarantined'
  /** Where the record is reported; every world also has other issues and drift. Default: nowhere. */
  reported?: { table: '_issues' | '_drift' | '_quarantine'; where: string }
  /** The rows of such records are also compared field by field. */
  exact?: true
  rate?: Rate
}

const drift = (path: string) => ({ table: '_drift', where: `path = '${path}'` }) as const
const issue = (where: string) => ({ table: '_issues', where }) as const
const quarantine = (reason: string) => ({ table: '_quarantine', where: `reason LIKE '${reason}'` }) as const

const HOSTILE_CASES: Record<HostileName, HostileCase> = {
  'wrong-types': { group: 'coerced', reported: issue("path <> 'ts' AND issue = 'wrong type'") },
  'huge-numbers': { group: 'coerced' },
  'sql-text': { group: 'coerced', reported: drift('*'), exact: true },
  'nul-text': { group: 'coerced', reported: drift('*'), exact: true },
  'lone-surrogates': { group: 'coerced', reported: drift('*') },
  'unknown-fields': { group: 'coerced', reported: drift('select') },
  'case-keys': { group: 'coerced', reported: drift('USERNAME'), exact: true },
  'duplicate-keys': { group: 'coerced' },
  'deep-nesting': { group: 'as landed', reported: drift('futureDepth'), exact: true },
  'ts-nonsense': { group: 'coerced', reported: issue("path = 'ts'") },
  'ts-missing': { group: 'as landed', exact: true },
  'unicode-id': { group: 'as landed', exact: true },
  'odd-id': { group: 'as landed', exact: true },
  'comma-id': { group: 'as landed', exact: true },
  'huge-record': { group: 'as landed', exact: true, rate: { rate: 0.05, param: 300_000 } },
  'no-id': { group: 'quarantined', reported: quarantine('object without%') },
  'no-object': { group: 'quarantined', reported: quarantine('string without%') },
  'odd-dates': { group: 'as landed', reported: issue(`issue = '${UNREAD_TIME}'`), exact: true },
  'odd-numerals': { group: 'as landed', exact: true },
  'future-modified': { group: 'as landed', exact: true },
}

const hostileGroups = (['as landed', 'coerced', 'quarantined'] as const).map(group => ({
  group,
  names: HOSTILE_NAMES.filter(name => HOSTILE_CASES[name].group === group),
}))
const hostileAlone = HOSTILE_NAMES.map(name => ({ group: `${name} alone`, names: [name] }))

describe('hostile records', () => {
  it.each(
    (isDeep ? [...hostileGroups, ...hostileAlone] : hostileGroups).map(({ group, names }) => [group, names] as const),
  )('%s: are stored or quarantined, and all others are exact', async (group, names) => {
    const hostileWith = (chosen: readonly HostileName[]) =>
      Object.fromEntries(chosen.map(name => [name, HOSTILE_CASES[name].rate ?? 0.5 / names.length]))
    const options: Partial<SandboxOptions> = {
      ...WORLD,
      conversations: 64,
      startMs: START_MS,
      hostile: hostileWith(names),
    }
    const beside = { ...shared, workspaceId: `hostile_${group.replaceAll(' ', '_')}` }
    const simulated = await simulatedApp({ beside, sandbox: options, settings: PAGES })
    simulated.advance(HOUR)
    const nowMs = simulated.sandbox.clock.now()
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })

    const { world } = simulated.sandbox
    const recordsOf = (one: typeof world) =>
      one
        .agentIds()
        .flatMap(agentId =>
          [...one.conversations(agentId, nowMs)]
            .filter(({ billableSessions }) => billableSessions > 0)
            .map(({ id, document }) => ({ agentId, id, record: document, text: JSON.stringify(document) })),
        )
    const without = (name: HostileName) =>
      recordsOf(createWorld({ ...options, hostile: hostileWith(names.filter(other => other !== name)) }))
    const hostile = recordsOf(world)
    const rows = simulated.rows
    const where = `workspace_id = '${beside.workspaceId}'`
    const held = await rows<{ id: string }>(`SELECT conversation_id AS id FROM conversations WHERE ${where}`)
    expect(held.map(({ id }) => id).sort()).toEqual(hostile.map(({ id }) => id).sort())

    const inexact = new Set<string>()
    for (const name of names) {
      const plain = new Set(without(name).map(({ text }) => text))
      const hit = hostile.filter(({ text }) => !plain.has(text))
      const { group: path, reported, exact } = HOSTILE_CASES[name]
      if (path !== 'quarantined') expect(hit.length, name).toBeGreaterThan(0)
      if (!exact) for (const { id } of hit) inexact.add(id)
      if (reported === undefined) continue
      const found = await rows(`SELECT * FROM ${reported.table} WHERE ${where} AND ${reported.where}`)
      expect(found.length, name).toBeGreaterThan(0)
    }
    const exact = hostile.filter(({ id }) => !inexact.has(id))
    const kept = new Set(exact.map(({ id }) => id))
    const tables = await warehouseTables(rows, beside.workspaceId)
    const ours = new Map(
      [...tables].map(([table, all]) => [table, all.filter(row => kept.has(String(row.conversation_id)))]),
    )
    const filled = new Map([...ours].filter(([, all]) => all.length > 0))
    expect(asLines(filled)).toEqual(asLines(expectedTables(exact)))

    const nameless = world.agentIds().reduce((sum, agentId) => sum + world.tally(agentId, nowMs).nameless, 0)
    const [quarantined] = await rows<{ n: number }>(`SELECT count(*)::INTEGER AS n FROM _quarantine WHERE ${where}`)
    expect(quarantined!.n).toBe(nameless)
    const coerced = await rows(`SELECT file FROM _loads WHERE ${where} AND stream = 'conversations' AND coerced`)
    expect(coerced.length > 0).toBe(HOSTILE_CASES[names[0]!].group !== 'as landed')
    expect(await appViolations(simulated, { stoppedRuns: 0 })).toEqual([])
  })
})
