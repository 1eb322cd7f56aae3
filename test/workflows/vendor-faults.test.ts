// A vendor with every fault of the sandbox, over HTTP into a warehouse, and with every hostile record.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../src/core/time.ts'
import { FAULT_NAMES, FAULTS, type FaultName } from '../../src/sandbox/faults/fault-settings.ts'
import { HOSTILE_NAMES, type HostileName } from '../../src/sandbox/hostile/hostility.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { Rate } from '../../src/sandbox/rates.ts'
import { createWorld } from '../../src/sandbox/world/world.ts'
import { warehouseChecks } from '../../src/warehouse/checks/all-checks.ts'
import { leaseLogEntries } from '../landing/lease-log-entries.ts'
import { isDeep } from '../tier.ts'
import { expectedTables } from './simulated/expected-rows.ts'
import { START_MS, WORKSPACE } from './simulated/open-simulated-app.ts'
import { isProbe } from './simulated/probe.ts'
import { simulatedApp } from './simulated/simulated-app.ts'
import { readThrough, truthOf } from './simulated/truth.ts'
import { asLines, warehouseTables } from './simulated/warehouse-tables.ts'

/** Parameters of faults that take real time, which are short here. */
const PARAMS: Partial<Record<FaultName, number>> = { slow: 20, 'others-requests': 6 }
const WORLD: Partial<SandboxOptions> = { conversations: 80, agents: 2 }
const PAGES = { maxPage: 10 }

describe('a vendor with every fault', () => {
  it('loses nothing, bills what the lease log and the tables say, and gets few requests twice', async () => {
    // Billing periods last a minute, because one fault reports an earlier period.
    const sandbox = { ...WORLD, conversations: 300, hourlyRequests: 200, speed: 1, periodDays: 1 / 1_440 }
    const simulated = await simulatedApp({ sandbox, settings: PAGES })
    const { faults } = simulated.sandbox
    const script = [...FAULT_NAMES, ...FAULT_NAMES].map((fault, index) => {
      const param = PARAMS[fault]
      return { fault, at: 2 * (index + 1), ...(param !== undefined && { param }) }
    })
    const search = FAULT_NAMES.filter(name => FAULTS[name].search).map((fault, index) => {
      return { fault, kind: 'search' as const, at: index + 1, ...(PARAMS[fault] && { param: PARAMS[fault] }) }
    })
    faults.set({ script: [...script, ...search] })
    let outcome = ''
    for (let sync = 0; sync < 30 && outcome !== 'done'; sync++) {
      // If the agents cannot be listed, the sync ends before it starts a window.
      const report = await simulated.sync().catch(error => void expect(error).toMatchObject({ kind: 'transient' }))
      outcome = report?.outcome ?? 'not listed'
      simulated.advance(HOUR)
    }
    const { served } = faults
    expect(FAULT_NAMES.filter(name => !served[name])).toEqual([])
    faults.set({})
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })

    const truth = truthOf(simulated.sandbox, { throughMs: readThrough(START_MS, 2 * 60_000) })
    expect(asLines(await warehouseTables(simulated.rows))).toEqual(asLines(await expectedTables(truth)))
    const requests = await simulated.served()
    const logged = leaseLogEntries(simulated.config.home, WORKSPACE).filter(({ kind }) => kind === 'request')
    expect(logged).toHaveLength(requests.length)
    const [windows] = await simulated.rows<{ billed: number }>('SELECT sum(billed)::INTEGER AS billed FROM _windows')
    const isLost = (names: readonly string[]) => names.some(name => FAULTS[name as FaultName].stage === 'lost')
    const arrived = requests.filter(request => !isLost(request.faults))
    expect(windows!.billed).toBe(arrived.reduce((sum, { billed }) => sum + billed, 0))
    expect(requests.filter(request => isProbe(request) && request.billed > 0)).toEqual([])
    for (const { name, sql } of await warehouseChecks()) expect(await simulated.rows(sql), name).toEqual([])
  })

  it('is documented: test/faults.md has a row for each fault', () => {
    const page = readFileSync(new URL('../faults.md', import.meta.url), 'utf8')
    const rows = page.split('\n').filter(line => line.startsWith('| `'))
    const documented = rows.flatMap(row => [...row.split(' | ')[0]!.matchAll(/`([^`]+)`/g)].map(match => match[1]!))
    expect([...FAULT_NAMES, ...HOSTILE_NAMES].filter(name => !documented.includes(name))).toEqual([])
  })
})

interface HostileCase {
  /** Loading of pages with such a record: unchanged, coerced, or coerced with the record in quarantine. */
  group: 'as landed' | 'coerced' | 'quarantined'
  /** Place where the record is reported; every world also has other issues and drift. Default: nowhere. */
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
  'odd-text': { group: 'coerced', reported: drift('*'), exact: true },
  'unknown-fields': { group: 'coerced', reported: drift('USERNAME') },
  'deep-nesting': { group: 'as landed', reported: drift('futureDepth'), exact: true },
  'ts-nonsense': { group: 'coerced', reported: issue("path = 'ts'") },
  'ts-missing': { group: 'as landed', exact: true },
  'odd-id': { group: 'as landed', exact: true },
  'comma-id': { group: 'as landed', exact: true },
  'huge-record': { group: 'as landed', exact: true, rate: { rate: 0.05, param: 300_000 } },
  'no-id': { group: 'quarantined', reported: quarantine('object without%') },
  // Pages with more of them prove too little progress, and are read again; among other kinds, there are fewer.
  'no-object': { group: 'quarantined', reported: quarantine('string without%'), rate: 0.1 },
}

const isAsLanded = (name: HostileName): boolean => HOSTILE_CASES[name].group === 'as landed'
// A deeply nested record is stored as it landed, but is quarantined if its page must be coerced.
const hostileGroups = [
  { group: 'together', names: HOSTILE_NAMES.filter(name => name !== 'deep-nesting') },
  ...(isDeep ? [{ group: 'as landed', names: HOSTILE_NAMES.filter(isAsLanded) }] : []),
]
const hostileAlone = HOSTILE_NAMES.map(name => ({ group: `${name} alone`, names: [name] }))

describe('hostile records', () => {
  it.each(
    (isDeep ? [...hostileGroups, ...hostileAlone] : hostileGroups).map(({ group, names }) => [group, names] as const),
  )('%s: are stored or quarantined, and all others are exact', async (_, names) => {
    const share = 0.5 / names.length
    const rateOf = ({ rate = share }: HostileCase) => (typeof rate === 'number' ? Math.min(rate, share) : rate)
    const hostileWith = (chosen: readonly HostileName[]) =>
      Object.fromEntries(chosen.map(name => [name, rateOf(HOSTILE_CASES[name])]))
    const options: Partial<SandboxOptions> = {
      ...WORLD,
      conversations: 100,
      startMs: START_MS,
      hostile: hostileWith(names),
    }
    const simulated = await simulatedApp({ sandbox: options, settings: PAGES })
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
    const held = await rows<{ id: string }>('SELECT conversation_id AS id FROM conversations')
    expect(held.map(({ id }) => id).sort()).toEqual(hostile.map(({ id }) => id).sort())

    const inexact = new Set<string>()
    for (const name of names) {
      const plain = new Set(without(name).map(({ text }) => text))
      const hit = hostile.filter(({ text }) => !plain.has(text))
      const { group: path, reported, exact } = HOSTILE_CASES[name]
      if (path !== 'quarantined') expect(hit.length, name).toBeGreaterThan(0)
      if (!exact) for (const { id } of hit) inexact.add(id)
      if (reported === undefined) continue
      const found = await rows(`SELECT * FROM ${reported.table} WHERE ${reported.where}`)
      expect(found.length, name).toBeGreaterThan(0)
    }
    const exact = hostile.filter(({ id }) => !inexact.has(id))
    const kept = new Set(exact.map(({ id }) => id))
    const tables = await warehouseTables(rows)
    const ours = new Map(
      [...tables].map(([table, all]) => [table, all.filter(row => kept.has(String(row.conversation_id)))]),
    )
    const filled = new Map([...ours].filter(([, all]) => all.length > 0))
    expect(asLines(filled)).toEqual(asLines(await expectedTables(exact)))

    const nameless = world.agentIds().reduce((sum, agentId) => sum + world.tally(agentId, nowMs).nameless, 0)
    const [quarantined] = await rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM _quarantine')
    expect(quarantined!.n).toBe(nameless)
    const coerced = await rows(`SELECT file FROM _loads WHERE stream = 'conversations' AND coerced`)
    expect(coerced.length > 0).toBe(!names.every(isAsLanded))
    for (const { name, sql } of await warehouseChecks()) expect(await rows(sql), name).toEqual([])
  })
})
