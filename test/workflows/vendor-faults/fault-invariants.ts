// Invariants of a workspace that hold under any vendor fault. Each check returns a list of violations; empty means that it holds.

import type { LeaseEnded, LeaseEntry, RequestMade } from '../../../src/core/governor/lease-entries.ts'
import { MINUTE, SECOND } from '../../../src/core/time.ts'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import { FAULTS, type FaultName } from '../../../src/sandbox/faults/fault-settings.ts'
import type { ServedRequest } from '../../../src/sandbox/request-log.ts'
import { warehouseChecks } from '../../../src/warehouse/checks/all-checks.ts'
import type { Row } from '../../../src/warehouse/connection.ts'
import { leaseLogEntries } from '../../landing/lease-log-entries.ts'
import { type ExpectedTables, expectedTables } from '../simulated/expected-rows.ts'
import type { SimulatedApp } from '../simulated/open-simulated-app.ts'
import { isProbe } from '../simulated/probe.ts'
import { readThrough, type TrueRecord, truthOf } from '../simulated/truth.ts'
import { asLines, warehouseTables } from '../simulated/warehouse-tables.ts'

const idOf = (simulated: SimulatedApp): string => simulated.config.workspaces[0]!.id

export const leaseLogOf = (simulated: SimulatedApp): LeaseEntry[] =>
  leaseLogEntries(simulated.config.home, idOf(simulated))

/** True if the request was billed but its answer never arrived completely. */
export const wasLost = ({ faults }: ServedRequest): boolean =>
  faults.some(name => FAULTS[name as FaultName].stage === 'lost')

const fails = ({ status }: RequestMade): boolean => status === null || status === 429 || status >= 500

/** After a lease has failed, other window loops may send requests for this long before they stop. */
const IN_FLIGHT_MS = 5 * SECOND

/**
 * Violations of a pause: after a lease ended with a failure, nothing may be sent for a minute, or longer if `Retry-After` says so,
 * unless the vendor has answered a request that was sent after the failure.
 */
export function pauseViolations(leaseLog: readonly LeaseEntry[]): string[] {
  const requests = leaseLog.filter((entry): entry is RequestMade => entry.kind === 'request')
  const ended = new Set(leaseLog.filter((entry): entry is LeaseEnded => entry.kind === 'end').map(({ lease }) => lease))
  const lastOf = new Map(requests.map(request => [request.lease, request]))
  return [...lastOf.values()]
    .filter(last => fails(last) && last.error !== 'INTERRUPTED' && ended.has(last.lease!))
    .flatMap(({ receivedAtMs: sinceMs, retryAfterMs }) => {
      const untilMs = sinceMs + Math.max(MINUTE, retryAfterMs ?? 0)
      const answeredMs = Math.min(
        ...requests.filter(one => one.sentAtMs >= sinceMs && !fails(one)).map(one => one.receivedAtMs),
      )
      const early = requests.filter(
        ({ sentAtMs }) => sentAtMs > sinceMs + IN_FLIGHT_MS && sentAtMs < Math.min(untilMs, answeredMs),
      )
      return early.map(({ sentAtMs }) => `asked ${sentAtMs - sinceMs} ms after the vendor had failed`)
    })
}

const kindOf = (status: number | null, lost: boolean): string =>
  lost || status === 0 || status === null ? 'no answer' : String(status)

function counted(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

/** The lease log must contain exactly the served requests; up to `inFlight` requests that an abort interrupted may differ. */
export function leaseLogViolations(
  leaseLog: readonly LeaseEntry[],
  served: readonly ServedRequest[],
  inFlight: number,
): string[] {
  const logged = leaseLog
    .filter((entry): entry is RequestMade => entry.kind === 'request')
    .map(entry => `${entry.agentId} ${kindOf(entry.status, false)} ${entry.status === 200 ? entry.billed : ''}`)
  const done = served.map(
    request =>
      `${request.agentId} ${kindOf(request.status, wasLost(request))} ${
        request.status === 200 && !wasLost(request) ? request.billed : ''
      }`,
  )
  const [inLeaseLog, inLog] = [counted(logged), counted(done)]
  const differences = [...new Set([...logged, ...done])].flatMap(line => {
    const difference = (inLeaseLog.get(line) ?? 0) - (inLog.get(line) ?? 0)
    return difference === 0 ? [] : [{ line, difference }]
  })
  const off = differences.reduce((sum, { difference }) => sum + Math.abs(difference), 0)
  // An interrupted request may be in both with different values, which counts as two differences.
  return off <= 2 * inFlight
    ? []
    : differences.map(({ line, difference }) => `lease log and requests differ by ${difference}: ${line}`)
}

/** Every landed page must be loaded, and no other page. */
async function landedViolations(simulated: SimulatedApp): Promise<string[]> {
  const landed = (await openLanding(simulated.config.home).workspace(idOf(simulated)).list())
    .map(({ address }) => address)
    .sort()
  const loads = await simulated.rows<{ file: string }>(
    `SELECT file FROM _loads WHERE workspace_id = '${idOf(simulated)}' ORDER BY file`,
  )
  const loaded = loads.map(({ file }) => file)
  return JSON.stringify(landed) === JSON.stringify(loaded)
    ? []
    : [`${landed.length} pages landed, ${loaded.length} are loaded`]
}

interface Bookkeeping {
  billed: number
  returned: number
  restarts: number
}

/**
 * Every billed session must be in the tables, unless its answer was lost or its run stopped. Each restart may export records twice:
 * at most a page, or all records that share the `ts` at which it began.
 */
async function billingViolations(
  simulated: SimulatedApp,
  served: readonly ServedRequest[],
  { stoppedRuns, conversationsPerTs = 0 }: Circumstances,
): Promise<string[]> {
  const where = `workspace_id = '${idOf(simulated)}'`
  const [bookkeeping] = await simulated.rows<Bookkeeping>(`SELECT coalesce(sum(billed), 0)::INTEGER AS billed,
    coalesce(sum(returned), 0)::INTEGER AS returned,
    coalesce(sum((progress->>'$.generation')::INTEGER - 1), 0)::INTEGER AS restarts FROM _windows WHERE ${where}`)
  const [held] = await simulated.rows<{ n: number }>(
    `SELECT (SELECT count(*) FROM conversations WHERE ${where})::INTEGER
      + (SELECT count(*) FROM _quarantine WHERE ${where})::INTEGER AS n`,
  )
  const charged = served.filter(request => !wasLost(request)).reduce((sum, request) => sum + request.billed, 0)
  const violations: string[] = []
  const { billed, returned, restarts } = bookkeeping!
  if (stoppedRuns === 0 ? billed !== charged : billed > charged)
    violations.push(`billed ${charged}, but ${billed} in the tables`)
  const repeated = returned - held!.n
  const mayRepeat = restarts * Math.max(simulated.config.workspaces[0]!.maxPage, conversationsPerTs)
  if (repeated > mayRepeat) violations.push(`${repeated} conversations were exported twice in ${restarts} restarts`)
  return violations
}

/** Violations of the data tests of `doctor`, in the whole warehouse. */
export async function checkViolations(simulated: Pick<SimulatedApp, 'rows'>): Promise<string[]> {
  const violations: string[] = []
  for (const { name, sql } of await warehouseChecks()) {
    const rows = await simulated.rows(sql)
    violations.push(...rows.map(row => `${name}: ${JSON.stringify(row)}`))
  }
  return violations
}

async function usageViolations(simulated: SimulatedApp, leaseLog: readonly LeaseEntry[]): Promise<string[]> {
  const reported = leaseLog.flatMap(entry =>
    entry.kind === 'request' ? (entry.usage?.overageUsedThisPeriod ?? []) : [],
  )
  const usage = await simulated.usage()
  const overage = Math.max(0, usage.overageUsedThisPeriod, ...reported)
  return overage > 0 ? [`${overage} sessions beyond what is included`] : []
}

export interface Circumstances {
  /** Number of runs that were stopped midway. */
  stoppedRuns: number
  /** True if conversations may be exported twice, because they change or are requested again. */
  exportedAgain?: boolean
  /** Number of conversations that may share one `ts`. */
  conversationsPerTs?: number
  /** False if the vendor does not report what it bills. Default: true. */
  reportsUsage?: boolean
}

/** Violations of all invariants of requests, bills, landed pages and loaded rows. */
export async function appViolations(simulated: SimulatedApp, circumstances: Circumstances): Promise<string[]> {
  const { stoppedRuns, exportedAgain = false, reportsUsage = true } = circumstances
  const leaseLog = leaseLogOf(simulated)
  const served = await simulated.served()
  const inFlight = 4 * stoppedRuns
  return [
    ...pauseViolations(leaseLog),
    ...(reportsUsage ? leaseLogViolations(leaseLog, served, inFlight) : []),
    ...(await landedViolations(simulated)),
    ...(exportedAgain || !reportsUsage ? [] : await billingViolations(simulated, served, circumstances)),
    ...(await usageViolations(simulated, leaseLog)),
    ...served.filter(request => isProbe(request) && request.billed > 0).map(() => 'a probe was billed'),
  ]
}

const SHOWN = 3

export interface TruthOptions {
  /** Time at which the last sync was planned. */
  plannedAtMs: number
  /** A time before every read. Only conversations that have not changed since then are compared field by field. */
  readSinceMs: number
  /** True if conversations may be missing that reached the mirror late, behind the coverage, where only re-reads find them. */
  mayMiss?: boolean
  /**
   * False if the vendor does not report how many conversations it skipped. Then any conversation in which a person wrote after
   * `readSinceMs` may be missing. Default: true.
   */
  reportsSkipped?: boolean
}

async function skippedByAgent(simulated: SimulatedApp): Promise<Map<string, number>> {
  const rows = await simulated.rows<{ agent: string; skipped: number }>(
    `SELECT agent_id AS agent, sum(scanned - returned)::INTEGER AS skipped FROM _windows
     WHERE workspace_id = '${idOf(simulated)}' GROUP BY agent_id`,
  )
  return new Map(rows.map(({ agent, skipped }) => [agent, skipped]))
}

const keyOf = ({ agentId, record }: TrueRecord): string => `${agentId} ${String(record.ID)}`

/** Differences between tables and truth: missing and extra conversations, and the first differing lines of each table. */
export async function truthViolations(simulated: SimulatedApp, options: TruthOptions): Promise<string[]> {
  const { mirrorLagMs, settleMs } = simulated.config.workspaces[0]!
  const throughMs = readThrough(options.plannedAtMs, Math.max(mirrorLagMs, settleMs))
  const truth = truthOf(simulated.sandbox, { throughMs })
  const before = new Map(
    truthOf(simulated.sandbox, { throughMs, atMs: options.readSinceMs }).map(one => [keyOf(one), one.record]),
  )
  const unchanged = truth.filter(one => JSON.stringify(before.get(keyOf(one))) === JSON.stringify(one.record))
  const found = await warehouseTables(simulated.rows, idOf(simulated))
  const rowKey = (row: Row) => `${String(row.agent_id)} ${String(row.conversation_id)}`
  const held = new Set((found.get('conversations') ?? []).map(rowKey))
  const skipped = await skippedByAgent(simulated)
  const missing = truth.filter(one => {
    if (held.has(keyOf(one)) || options.mayMiss) return false
    if (options.reportsSkipped === false && !before.has(keyOf(one))) return false
    // Of conversations in which no person had written when they were read, as many may be missing as the vendor reported skipped.
    const left = before.has(keyOf(one)) ? 0 : (skipped.get(one.agentId) ?? 0)
    skipped.set(one.agentId, left - 1)
    return left <= 0
  })
  const { world, clock } = simulated.sandbox
  const known = new Set(
    world
      .agentIds()
      .flatMap(agentId => [...world.conversations(agentId, clock.now())].map(({ id }) => `${agentId} ${id}`)),
  )
  const surplus = [...held].filter(key => !known.has(key))
  const compared = new Set(unchanged.map(keyOf).filter(key => held.has(key)))
  const rowsOf = (tables: ExpectedTables): ExpectedTables =>
    new Map([...tables].map(([table, rows]) => [table, rows.filter(row => compared.has(rowKey(row)))]))
  const differences = lineViolations(
    asLines(rowsOf(found)),
    asLines(expectedTables(unchanged.filter(one => compared.has(keyOf(one))))),
  )
  return [
    ...missing
      .slice(0, SHOWN)
      .map(one => `of ${truth.length}, ${missing.length} missing: ${keyOf(one)} ${String(one.record.ts)}`),
    ...surplus.slice(0, SHOWN).map(key => `nowhere in the truth: ${key}`),
    ...differences,
  ]
}

type Lines = ReturnType<typeof asLines>

/** Differences between found and expected tables: the first lines of each. */
export function lineViolations(found: Lines, expected: Lines): string[] {
  return [...new Set([...Object.keys(found), ...Object.keys(expected)])].flatMap(table => {
    const [have, want] = [new Set(found[table]), new Set(expected[table])]
    const missing = [...want].filter(line => !have.has(line))
    const surplus = [...have].filter(line => !want.has(line))
    const doubled = (found[table]?.length ?? 0) - have.size
    if (missing.length + surplus.length + doubled === 0) return []
    return [
      `${table}: ${missing.length} missing, ${surplus.length} too many, ${doubled} doubled`,
      ...missing.slice(0, SHOWN).map(line => difference(JSON.parse(line) as Row, surplus)),
      ...(missing.length === 0 ? surplus.slice(0, SHOWN).map(line => line.slice(0, 300)) : []),
    ]
  })
}

/** The columns in which the expected row differs from the stored row with the same key. */
function difference(row: Row, surplus: readonly string[]): string {
  const isOf = (other: Row) =>
    ['conversation_id', 'agent_id', 'organization_id', 'team_id', 'position', 'name'].every(
      key => other[key] === row[key],
    )
  const found = surplus.map(line => JSON.parse(line) as Row).find(isOf)
  if (found === undefined) return `is missing: ${JSON.stringify(row).slice(0, 300)}`
  const columns = Object.keys({ ...row, ...found }).filter(
    column => JSON.stringify(row[column]) !== JSON.stringify(found[column]),
  )
  const changes = columns.map(
    column => `${column} is ${JSON.stringify(found[column])}, not ${JSON.stringify(row[column])}`,
  )
  return changes.join('; ').slice(0, 300)
}
