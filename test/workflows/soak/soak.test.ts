// Days of polls under all faults of the sandbox at once: hostile records, late rows, changing conditions, restarts and aborted
// runs. Afterwards the sandbox's records, the lease log and the tables must agree, or the bookkeeping must explain the difference.
//
// Longer, or with another seed:
//   SOAK_DAYS=90 SOAK_SEED=7 npx vitest run test/workflows/soak/soak.test.ts

import { expect, it } from 'vitest'
import { HOUR } from '../../../src/core/time.ts'
import { createWorld } from '../../../src/sandbox/world/world.ts'
import { warehouseChecks } from '../../../src/warehouse/checks/all-checks.ts'
import { isDeep, rounds } from '../../tier.ts'
import { expectedTables } from '../simulated/expected-rows.ts'
import { START_MS } from '../simulated/open-simulated-app.ts'
import type { TrueRecord } from '../simulated/truth.ts'
import { asLines, warehouseTables } from '../simulated/warehouse-tables.ts'
import { type AgentAccount, accountOf, grouped, readBookkeeping } from './soak-account.ts'
import { type Evidence, gather } from './soak-evidence.ts'
import {
  beyondHour,
  billedRequestsOf,
  miscounted,
  repeatsOf,
  sessionsOf,
  silentLosses,
  tallyOf,
  unlogged,
} from './soak-findings.ts'
import { DELETED_AGENT } from './soak-plan.ts'
import { ledgerSums, reconciliationViolations } from './soak-reconciliation.ts'
import { type Soaked, soakFor } from './soak-run.ts'
import { type PageScan, scanOf } from './soak-scans.ts'

const DAYS = rounds('SOAK_DAYS', { usual: 6, deep: 90 })
const SEED = Number(process.env.SOAK_SEED ?? 1)
const HOURLY_REQUESTS = 40

const SANDBOX = {
  agents: 3,
  conversations: isDeep ? 180 : 90,
  historyDays: 20,
  arrivalsPerDay: isDeep ? 30 : 20,
  hourlyRequests: HOURLY_REQUESTS,
  quotaSessions: 700,
  periodDays: 10,
  tsUnit: 'mixed',
  lateShare: 0.03,
  lateMs: 6 * HOUR,
  burstEvery: 240,
  burstSize: 40,
  hostile: {
    'wrong-types': 0.02,
    'huge-numbers': 0.02,
    'sql-text': 0.02,
    'nul-text': 0.02,
    'lone-surrogates': 0.02,
    'unknown-fields': 0.02,
    'case-keys': 0.02,
    'duplicate-keys': 0.02,
    'deep-nesting': 0.01,
    'ts-nonsense': 0.02,
    'ts-missing': 0.01,
    'unicode-id': 0.02,
    'odd-id': 0.02,
    'comma-id': 0.02,
    'no-id': 0.01,
    'no-object': 0.01,
    'huge-record': { rate: 0.003, param: 300_000 },
  },
} as const
const SETTINGS = { maxPage: 20, rereadShare: 0.1, sampleShare: 0.04 }

interface Found extends Soaked {
  evidence: Evidence
  scans: PageScan[]
}

/** For each conversation that is not hostile: the record at its last export. */
function lastExported({ simulated, mirror, evidence }: Found): TrueRecord[] {
  const { world } = simulated.sandbox
  const plain = createWorld({ ...SANDBOX, seed: SEED, startMs: START_MS, hostile: {} })
  const exported = grouped(
    billedRequestsOf(evidence),
    ({ agentId, id }) => JSON.stringify([agentId, id]),
    billedRequest => billedRequest,
  )
  return [...exported.values()].flatMap(billedRequests => {
    const { agentId, id, page } = billedRequests.toSorted((a, b) => b.page.request.n - a.page.request.n)[0]!
    const dataMs = mirror.dataMs(page.request.at)
    const index = world.find(agentId, id, dataMs)!
    const record = JSON.parse(world.render(index, dataMs)) as Record<string, unknown>
    const same = JSON.stringify(record) === JSON.stringify(JSON.parse(plain.render(index, dataMs)))
    return same ? [{ agentId, record, billableSessions: world.billable(index, dataMs) }] : []
  })
}

/** Each page answers one request and reports what the vendor scanned. */
async function expectPagesTrue({ simulated, evidence, scans }: Found): Promise<void> {
  expect(evidence.strays).toEqual([])
  expect(miscounted(scans)).toEqual([])
  const stored = await simulated.rows(`SELECT agent_id AS "agentId", sum(returned)::INTEGER AS returned,
      sum(scanned - returned)::INTEGER AS skipped, sum(billed_sessions)::INTEGER AS billed
    FROM _requests WHERE stream = 'conversations' GROUP BY agent_id ORDER BY agent_id`)
  expect(stored).toEqual(tallyOf(scans))
}

/** Each conversation is stored, or the bookkeeping gives the reason; the view `_ledger` has the same totals. */
async function expectAllAccounted(found: Found): Promise<Record<string, AgentAccount>> {
  const { simulated, scans } = found
  const bookkeeping = await readBookkeeping(simulated)
  const accounts = accountOf(found, bookkeeping, scans)
  expect(
    reconciliationViolations(await ledgerSums(simulated), accounts, found.evidence, bookkeeping.quarantine),
  ).toEqual([])
  for (const { exportable, held, missing, unexplained, surplus } of Object.values(accounts)) {
    expect({ unexplained, surplus }).toEqual({ unexplained: [], surplus: [] })
    expect(held + Object.values(missing).reduce((sum, count) => sum + count, 0)).toBe(exportable)
  }
  const gone = await simulated.rows<{ id: string }>(
    'SELECT agent_id AS id FROM agents WHERE _missing_since IS NOT NULL',
  )
  expect(gone.map(({ id }) => id)).toEqual([simulated.sandbox.world.agentIds()[DELETED_AGENT - 1]])
  return accounts
}

/** Each exported record was loaded or quarantined, and the rows match the vendor's records at their last export. */
async function expectRowsTrue(found: Found): Promise<void> {
  const { rows } = found.simulated
  const [observed] = await rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM conversation_observations')
  const [quarantined] = await rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM _quarantine')
  const elements = found.evidence.pages.flatMap(page => page.ids)
  expect(observed!.n + quarantined!.n).toBe(elements.length)
  expect(quarantined!.n).toBeGreaterThanOrEqual(elements.filter(id => id === null).length)

  const records = lastExported(found)
  const ids = new Set(records.map(({ record }) => record.ID))
  const tables = [...(await warehouseTables(rows))].map(
    ([table, all]) => [table, all.filter(row => ids.has(row.conversation_id))] as const,
  )
  expect(asLines(new Map(tables))).toEqual(asLines(expectedTables(records)))
  for (const { name, sql } of await warehouseChecks()) expect(await rows(sql), name).toEqual([])
}

/**
 * Each request and session is in the lease log; nothing was exported twice without a reason; no hourly limit or quota was exceeded.
 */
function expectSpentCorrectly({ evidence, ourTime, packs }: Found): void {
  expect(unlogged(evidence, ourTime)).toEqual([])
  expect(silentLosses(evidence, ourTime)).toEqual([])
  const { logged, lost, billed } = sessionsOf(evidence)
  expect(logged + lost).toBe(billed)
  expect(repeatsOf(evidence).twice).toEqual([])
  expect(beyondHour(evidence.requests, HOURLY_REQUESTS)).toEqual([])
  expect(packs).toBe(0)
}

it('a workspace that is polled through a month of faults holds what the vendor has, or its bookkeeping says why not', {
  timeout: DAYS * 60_000,
}, async () => {
  const soaked = await soakFor({ seed: SEED, days: DAYS, sandbox: SANDBOX, settings: SETTINGS })
  const { simulated, mirror, ourTime, outcomes } = soaked
  expect(await simulated.sync(), JSON.stringify(outcomes)).toMatchObject({ outcome: 'done', failures: [] })
  const evidence = await gather(simulated, ourTime)
  const scope = { sandbox: simulated.sandbox, seed: SEED, mirror }
  const found = { ...soaked, evidence, scans: evidence.pages.map(page => scanOf(scope, page)) }
  const met = new Set(evidence.requests.flatMap(request => request.faults))
  expect(met.size).toBeGreaterThan(DAYS >= 30 ? 15 : 4)

  await expectPagesTrue(found)
  const accounts = await expectAllAccounted(found)
  await expectRowsTrue(found)
  expectSpentCorrectly(found)

  const { twice: _, ...repeats } = repeatsOf(evidence)
  const figures = { requests: evidence.requests.length, sessions: sessionsOf(evidence), repeats }
  console.info(JSON.stringify({ seed: SEED, days: DAYS, outcomes, ...figures, accounts }))
})
