// Two days of a workspace whose vendor resolves every open point of the API document in its own way, with some faults, an unpaid
// workspace, an agent that is deleted for a while, and a replay at the end.

import fc from 'fast-check'
import { openApp } from '../../src/app.ts'
import { VendorError } from '../../src/client/faults.ts'
import { RESOURCE_NAMES } from '../../src/config/resources.ts'
import type { WorkspaceConfig } from '../../src/config.ts'
import type { IdsByAgent } from '../../src/core/planning/id-windows.ts'
import { pollSeconds } from '../../src/core/planning/planner.ts'
import { HOUR, MINUTE, SECOND } from '../../src/core/time.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { replay } from '../../src/run/replay.ts'
import type { ScriptRule } from '../../src/sandbox/faults/fault-settings.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { READING_NAMES, READINGS, type Readings } from '../../src/sandbox/readings.ts'
import type { SyncReport } from '../../workflows/steps.ts'
import { expectedListings } from './simulated/expected-listings.ts'
import { openSimulatedApp, type SimulatedApp, START_MS, WORKSPACE } from './simulated/open-simulated-app.ts'
import { asLines, listingTables, warehouseTables } from './simulated/warehouse-tables.ts'
import { appViolations, lineViolations, truthViolations } from './vendor-faults/fault-invariants.ts'
import { finish } from './vendor-faults/fault-mix.ts'

export interface ReadingRun {
  readings: Readings
  sandbox: Partial<SandboxOptions>
  settings: Partial<WorkspaceConfig>
  /** Faults of the first sync. */
  script: ScriptRule[]
  /** The first agent is deleted just before this export request of the second day; null: it is not deleted. */
  goneAt: number | null
  unpaid: boolean
}

const readings = fc.record(
  Object.fromEntries(READING_NAMES.map(name => [name, fc.constantFrom(...READINGS[name].values)])),
) as unknown as fc.Arbitrary<Readings>

const faultAt = (fault: ScriptRule['fault']): fc.Arbitrary<ScriptRule[]> =>
  fc.option(fc.integer({ min: 1, max: 12 }), { nil: null }).map(at => (at === null ? [] : [{ at, fault }]))

const world = fc.record({
  seed: fc.integer({ min: 1, max: 1_000 }),
  agents: fc.integer({ min: 2, max: 6 }),
  conversations: fc.integer({ min: 20, max: 50 }),
  arrivalsPerDay: fc.constantFrom(0, 24),
  ts: fc.constantFrom('created' as const, 'activity' as const),
  tsUnit: fc.constantFrom('ms' as const, 's' as const, 'us' as const, 'mixed' as const),
  burst: fc.boolean(),
  tightQuota: fc.boolean(),
  tightHour: fc.boolean(),
  maxPage: fc.constantFrom(4, 8, 100),
})

export const readingRuns: fc.Arbitrary<ReadingRun> = fc
  .record({
    readings,
    world,
    faults: fc.tuple(faultAt('429-retry-after'), faultAt('500'), faultAt('expired-cursor')),
    goneAt: fc.option(fc.integer({ min: 1, max: 6 }), { nil: null }),
    unpaid: fc.boolean(),
  })
  .map(({ readings, world: { burst, tightQuota, tightHour, maxPage, ...chosen }, faults, ...others }) => {
    const hourlyRequests = 20
    // A small quota requires reported usage (else the quota cannot be kept), the key of the period (else its end is not detected) and
    // no arrivals: the reserve for them covers at least a day, so history would get nothing in the hourly periods of `finish`.
    const isTight =
      tightQuota && chosen.arrivalsPerDay === 0 && readings.usage === 'present' && readings['period-key'] === 'period'
    return {
      readings,
      sandbox: {
        ...chosen,
        historyDays: 30,
        ...(burst && { burstEvery: 15, burstSize: 6 }),
        // More conversations than sessions: a sync that trusted late usage reports would cause overage.
        ...(isTight && { conversations: 100, quotaSessions: 70 }),
        ...(tightHour && { hourlyRequests }),
      },
      settings: { maxPage, ...(tightHour && { requestsPerHour: hourlyRequests }) },
      script: faults.flat(),
      ...others,
    }
  })

/** Syncs; null if the vendor is unavailable. */
async function tried(simulated: SimulatedApp): Promise<SyncReport | null> {
  try {
    return await simulated.sync()
  } catch (error) {
    if (error instanceof VendorError) return null
    throw error
  }
}

interface Exported {
  key: string
  text: string
  isRestart: boolean
}

/** Every landed record, in the order of its pages. */
async function exportedRecords({ config }: SimulatedApp): Promise<Exported[]> {
  const landing = openLanding(config.home).workspace(WORKSPACE)
  const pages = await landing.list('conversations')
  const found: Exported[] = []
  for (const { address: path, generation } of pages) {
    const { agentId } = (await landing.head(path)).place
    const { data } = JSON.parse((await landing.body(path)).toString()) as { data: { ID: string }[] }
    const isRestart = generation > 1
    found.push(...data.map(one => ({ key: `${agentId} ${one.ID}`, text: JSON.stringify(one), isRestart })))
  }
  return found
}

/** Violations: records that were exported again although they are unchanged and no window restarted. */
async function repeatViolations(simulated: SimulatedApp): Promise<string[]> {
  const before = new Set<string>()
  const twice: string[] = []
  for (const { key, text, isRestart } of await exportedRecords(simulated)) {
    if (before.has(key + text) && !isRestart) twice.push(key)
    before.add(key + text)
  }
  return twice.length === 0 ? [] : [`${twice.length} conversations were exported twice: ${twice[0]}`]
}

const LISTED = [
  ...['agents', 'agent_node_edges', 'agent_node_tools', 'agent_tools', 'agent_tags'],
  ...['organizations', 'organization_agents', 'organization_members', 'teams', 'team_members'],
]

/**
 * Differences in any column of the agents, of the organizations that handoffs name, and of their teams. If the vendor cuts lists of
 * teams off after the first team, only the stored teams are compared.
 */
async function listingViolations({ sandbox, rows }: SimulatedApp, run: ReadingRun): Promise<string[]> {
  const named = await rows<{ id: string }>(
    `SELECT DISTINCT organization_id AS id FROM conversation_handoffs WHERE organization_id IS NOT NULL
     UNION SELECT organization_id FROM organizations`,
  )
  const given = { ...run.sandbox, startMs: START_MS, speed: 0, workspaceId: WORKSPACE }
  const expected = expectedListings(
    sandbox,
    given,
    named.map(({ id }) => id),
  )
  const found = await listingTables(rows, LISTED)
  const isCutOff = run.readings['team-page'] === '1' && run.readings['team-params'] !== 'read'
  const held = new Set((found.get('teams') ?? []).map(row => row.team_id))
  for (const table of isCutOff ? ['teams', 'team_members'] : [])
    expected.set(
      table,
      (expected.get(table) ?? []).filter(row => held.has(row.team_id)),
    )
  return lineViolations(asLines(found), asLines(expected))
}

/** True if the vendor answers a missing id with a 404 that looks like one of a proxy, so that the 404 proves nothing. */
const isPlain404 = (readings: Readings): boolean =>
  readings['unknown-ids'] === '404' && readings['not-found'] !== 'envelope'

/** Exports stored ids again, together with one that does not exist; returns the violations. */
async function selectedViolations(simulated: SimulatedApp): Promise<string[]> {
  const held = await simulated.rows<{ agent: string; id: string }>(
    `SELECT agent_id AS agent, conversation_id AS id FROM conversations
     WHERE agent_id = (SELECT min(agent_id) FROM conversations) ORDER BY id LIMIT 3`,
  )
  const [first] = held
  if (first === undefined) return []
  const ids: IdsByAgent = [[first.agent, [...held.map(({ id }) => id), 'not-there']]]
  const { outcome, conversations, failures, agentsGone } = await simulated.sync({ mode: 'selected', ids })
  if (outcome === 'period-spent') return []
  return conversations === held.length && failures.length + agentsGone.length === 0
    ? []
    : [
        `of ${held.length} conversations requested by id, ${conversations} were exported: ${outcome}, ${failures[0]?.what ?? agentsGone.join()}`,
      ]
}

/** Violations: tables whose rows differ after a replay. */
async function replayViolations(simulated: SimulatedApp): Promise<string[]> {
  const before = asLines(await warehouseTables(simulated.rows))
  await simulated.close()
  await replay({ config: simulated.config })
  const app = await openApp({ config: simulated.config })
  const after = asLines(await warehouseTables(sql => app.warehouse.writer.rows(sql)))
  await app.close()
  return Object.keys({ ...before, ...after })
    .filter(table => JSON.stringify(before[table]) !== JSON.stringify(after[table]))
    .map(table => `a replay rebuilds ${table} with other rows`)
}

/** Longer than any wait that the faults may cause, and shorter than a wait that would be absurd. */
const LONGEST_SYNC_MS = 6 * HOUR

async function unpaidViolations(simulated: SimulatedApp): Promise<string[]> {
  simulated.sandbox.conditions.set({ paid: false })
  const requests = (await simulated.served()).length
  const report = await tried(simulated)
  simulated.sandbox.conditions.set({ paid: true })
  const made = (await simulated.served()).length - requests
  const kinds = report?.failures.map(({ kind }) => kind) ?? []
  if (made > 0 && kinds[0] !== 'access') return [`an unpaid workspace ends ${report?.outcome}: ${kinds.join()}`]
  return made > 5 ? [`${made} requests for an unpaid workspace`] : []
}

/** Runs the first sync, the second day and the checks; no sync may take longer than LONGEST_SYNC_MS. */
async function violationsOf(run: ReadingRun, simulated: SimulatedApp): Promise<string[]> {
  const { sandbox } = simulated
  const violations: string[] = []
  const timed = async (what: string, sync: () => Promise<unknown>) => {
    const fromMs = sandbox.clock.now()
    await sync()
    const tookMs = sandbox.clock.now() - fromMs
    if (tookMs > LONGEST_SYNC_MS) violations.push(`${what} took ${Math.round(tookMs / HOUR)} hours`)
  }
  sandbox.faults.set({ script: run.script })
  await timed('the first sync', () => tried(simulated))
  violations.push(...(await finish(simulated)).violations)
  sandbox.clock.advance(26 * HOUR)
  if (run.unpaid) violations.push(...(await unpaidViolations(simulated)))
  if (run.goneAt !== null) {
    const [first] = sandbox.world.agentIds()
    sandbox.faults.set({ script: [{ at: run.goneAt, set: { gone: [first!] } }] })
    await timed('the sync during which an agent is deleted', () => tried(simulated))
  }
  const { plannedAtMs, violations: unfinished } = await finish(simulated)
  const reportsUsage = run.readings.usage === 'present'
  const reportsSkipped = run.readings.scanned === 'looked-at'
  const exportedAgain = run.sandbox.ts === 'activity'
  // A small hourly limit makes polls rare, so conversations that arrived within the last poll interval may be missing.
  const pollMs = pollSeconds(sandbox.world.agentIds().length, simulated.config.workspaces[0]!.requestsPerHour) * SECOND
  return [
    ...violations,
    ...unfinished,
    ...(await appViolations(simulated, {
      stoppedRuns: 0,
      exportedAgain,
      reportsUsage,
      conversationsPerTs: run.sandbox.burstSize ?? 0,
    })),
    ...(await truthViolations(simulated, { plannedAtMs: plannedAtMs - pollMs, readSinceMs: START_MS, reportsSkipped })),
    ...(await repeatViolations(simulated)),
    ...(isPlain404(run.readings) ? [] : await selectedViolations(simulated)),
    ...(await listingViolations(simulated, run)),
    ...(await replayViolations(simulated)),
  ]
}

const LOAD_MS = 5 * MINUTE

/** Executes the run; returns every violation. */
export async function executeReadingRun(run: ReadingRun): Promise<string[]> {
  const { readings, settings } = run
  const { simulated, end } = await openSimulatedApp({
    sandbox: { ...run.sandbox, readings },
    settings: { ...settings, resources: RESOURCE_NAMES },
    loadMs: LOAD_MS,
  })
  try {
    return await violationsOf(run, simulated)
  } finally {
    await end()
  }
}
