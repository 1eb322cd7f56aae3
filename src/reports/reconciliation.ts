// The reconciliation of workspaces: compares what the vendor reported with what the tables contain, by agent, day or month.
import { quoteText } from '../catalog/layout.ts'
import type { WorkspaceConfig } from '../config.ts'
import { ConvohouseError } from '../core/errors.ts'
import type { Gap } from '../core/planning/gaps.ts'
import { EVIDENCE_MS, type ReadRange, rereadsAhead } from '../core/planning/rereads.ts'
import { parseMoment } from '../core/time.ts'
import { hidingRanges, lateRowsSeen, shiftedRanges } from '../warehouse/planning/refresh.ts'
import { type Rows, withParams } from '../warehouse/query/rows.ts'
import { type ReadCoverage, readCoverage } from './coverage.ts'
import { readGaps } from './gaps.ts'

export const BYS = ['agent', 'day', 'month'] as const
export type By = (typeof BYS)[number]

/** Counts in display order; the view's header defines each. */
const COUNTS = {
  scanned: 'scanned',
  returned: 'returned',
  skipped: 'skipped',
  held: 'held',
  quarantined: 'quarantined',
  incomplete: 'incomplete',
  seenInEvents: 'seen_in_events',
  knownStale: 'known_stale',
  missing: 'missing',
  notExportable: 'not_exportable',
} as const

export type CountName = keyof typeof COUNTS
export const COUNT_NAMES = Object.keys(COUNTS) as CountName[]
export type Counts = Record<CountName, number>

/** `key`: an agent, a day or a month; null for conversations without `ts`. `title`: that of the agent. */
export type ReconciliationRow = Counts & { key: string | null; title: string | null }

const KEYS: Record<By, string> = { agent: 'l.agent_id', day: 'l.day::VARCHAR', month: "strftime(l.day, '%Y-%m')" }

/** Returns the order: agents by size; days and months newest first. */
const orderOf = (by: By): string => (by === 'agent' ? `scanned DESC, ${KEYS.agent}` : `${KEYS[by]} DESC NULLS LAST`)

export interface Scope {
  workspaceIds: readonly string[]
  /** Only these agents; empty for all. */
  agents: readonly string[]
  /** Omits days before the day of this time (ms), and conversations without `ts`; null omits nothing. */
  sinceMs: number | null
}

const oneOf = (column: string, values: readonly string[]): string =>
  `${column} IN (${values.map(quoteText).join(', ')})`

function conditions({ workspaceIds, agents, sinceMs }: Scope): string {
  const since = `(make_timestamptz(${(sinceMs ?? 0) * 1_000}) AT TIME ZONE coalesce(z.time_zone, 'UTC'))::DATE`
  return [
    oneOf('l.workspace_id', workspaceIds),
    ...(agents.length > 0 ? [oneOf('l.agent_id', agents)] : []),
    ...(sinceMs === null ? [] : [`l.day >= ${since}`]),
  ].join(' AND ')
}

const sums = (names: Readonly<Record<string, string>>): string =>
  Object.entries(names)
    .map(([name, column]) => `coalesce(sum(l.${column}), 0)::BIGINT AS "${name}"`)
    .join(', ')

const FROM = 'FROM _ledger l LEFT JOIN _workspaces z ON z.workspace_id = l.workspace_id'

/** Returns the SELECT for the rows; the columns have their SQL names, since programs read them. */
export function reconciliationSql(scope: Scope, by: By): string {
  const columns = Object.fromEntries(Object.values(COUNTS).map(column => [column, column]))
  return `SELECT l.workspace_id, ${KEYS[by]} AS "${by}", ${sums(columns)} ${FROM}
    WHERE ${conditions(scope)} GROUP BY l.workspace_id, ${KEYS[by]} ORDER BY l.workspace_id, ${orderOf(by)}`
}

/** Returns the rows of one workspace. */
const reconciliationRows = (rows: Rows, scope: Scope, by: By): Promise<ReconciliationRow[]> =>
  rows<ReconciliationRow>(`SELECT ${KEYS[by]} AS key, ${by === 'agent' ? 'any_value(a.title)' : 'NULL'} AS title, ${sums(COUNTS)} ${FROM}
    LEFT JOIN agents a ON a.workspace_id = l.workspace_id AND a.agent_id = l.agent_id
    WHERE ${conditions(scope)} GROUP BY ${KEYS[by]} ORDER BY ${orderOf(by)}`)

const totalsOf = (rows: readonly ReconciliationRow[]): Counts =>
  Object.fromEntries(COUNT_NAMES.map(name => [name, rows.reduce((sum, row) => sum + row[name], 0)])) as Counts

/** Returns the mean number of sessions that exporting one conversation has billed; at least 1. */
export async function sessionsEach(rows: Rows, { workspaceIds }: Scope): Promise<number> {
  const [billed] = await rows<{ each: number | null }>(
    `SELECT sum(billed) / nullif(sum(returned), 0) AS each FROM _windows WHERE ${oneOf('workspace_id', workspaceIds)}`,
  )
  return Math.max(1, billed?.each ?? 1)
}

export interface WorkspaceReconciliation {
  workspaceId: string
  by: By
  rows: ReconciliationRow[]
  totals: Counts
  differences: Difference[]
  coverage: ReadCoverage
  rereads: Rereads
  gaps: Gap[]
  /** Ranges in which pages have shifted, and that nothing has read again. */
  unverified: ReadRange[]
}

/** Ranges that syncs read again because conversations were skipped there. */
type Rereads = ReturnType<typeof rereadsAhead>

/** A kind of difference between the vendor's reports and the tables. */
export interface Difference {
  kind: keyof ReturnType<typeof differencesByKind>
  count: number
  /** Approximate number of sessions that resolving the difference will bill; null if none of it has been exported. */
  sessions: number | null
}

interface ReconciliationOptions {
  rows: Rows
  workspaceId: string
  /** Undefined for a workspace that is in the warehouse but not configured. */
  settings: WorkspaceConfig | undefined
  /** Only these agents; empty for all. */
  agents: readonly string[]
  /** Only the day of this time (ms) and later days; null for all. */
  sinceMs: number | null
  by: By
  nowMs: number
}

export async function reconcileWorkspace(options: ReconciliationOptions): Promise<WorkspaceReconciliation> {
  const { rows: query, workspaceId, agents, sinceMs, by, nowMs } = options
  const scope: Scope = { workspaceIds: [workspaceId], agents, sinceMs }
  const rows = await reconciliationRows(query, scope, by)
  const totals = totalsOf(rows)
  const coverage = await readCoverage(query, { workspaceId, agents, sinceMs: wantedSince(options), nowMs })
  const sessions = await sessionsEach(query, scope)
  const rereads = await rereadsOf(options)
  const gaps = (await readGaps({ rows: query }, workspaceId, nowMs)).filter(isInScope(options))
  const { mirrorLagMs = 0 } = options.settings ?? {}
  const shifted = await shiftedRanges(withParams(query), workspaceId, { sinceMs: 0, mirrorLagMs })
  const unverified = shifted.filter(isInScope(options))
  return {
    workspaceId,
    by,
    rows,
    totals,
    differences: differencesOf({ totals, sessionsEach: sessions, coverage, rereads, gaps, unverified }),
    coverage,
    rereads,
    gaps,
    unverified,
  }
}

/** True for a range of the chosen agents that ends in the chosen time. */
const isInScope =
  ({ agents, sinceMs }: ReconciliationOptions) =>
  ({ agentId, toSec }: { agentId: string; toSec: number }): boolean =>
    (agents.length === 0 || agents.includes(agentId)) && toSec * 1_000 >= (sinceMs ?? 0)

async function rereadsOf(options: ReconciliationOptions): Promise<Rereads> {
  const { workspaceId, settings, nowMs } = options
  const reader = withParams(options.rows)
  const { rereadHorizonMs: horizonMs = 0, quietMs = 0, rereadShare = 0 } = settings ?? {}
  const evidenceSinceMs = nowMs - EVIDENCE_MS
  const late = rereadShare > 0 && (await lateRowsSeen(reader, workspaceId, evidenceSinceMs))
  const asked = { sinceMs: nowMs - horizonMs, evidenceSinceMs, others: 0, seed: 0 }
  const found = rereadShare > 0 ? await hidingRanges(reader, workspaceId, asked) : []
  return rereadsAhead({ ranges: found.filter(isInScope(options)), nowMs, horizonMs, quietMs, late })
}

interface DifferenceInput
  extends Pick<WorkspaceReconciliation, 'totals' | 'coverage' | 'rereads' | 'gaps' | 'unverified'> {
  sessionsEach: number
}

function differencesByKind({ totals, sessionsEach, coverage, rereads, gaps, unverified }: DifferenceInput) {
  const refreshed = (count: number) => ({ count, sessions: Math.ceil(count * sessionsEach) })
  return {
    skipped: { count: totals.skipped, sessions: rereads.sessions },
    quarantined: { count: totals.quarantined, sessions: 0 },
    incomplete: refreshed(totals.incomplete),
    stale: refreshed(totals.knownStale),
    missing: { count: totals.missing, sessions: 0 },
    notExportable: { count: totals.notExportable, sessions: 0 },
    unreadable: { count: gaps.length, sessions: null },
    unverified: { count: unverified.length, sessions: unverified.reduce((sum, { sessions }) => sum + sessions, 0) },
    uncovered: { count: coverage.uncovered.length, sessions: null },
    unread: { count: coverage.unread.length, sessions: null },
  }
}

/** Returns the kinds of differences that occur at least once. */
export const differencesOf = (input: DifferenceInput): Difference[] =>
  Object.entries(differencesByKind(input))
    .map(([kind, found]) => ({ kind: kind as Difference['kind'], ...found }))
    .filter(({ count }) => count > 0)

/** Returns the start of the required time: the later of the requested and the configured start; null for all time. */
function wantedSince({ sinceMs, settings, nowMs }: ReconciliationOptions): number | null {
  const configured = settings?.since == null ? null : (parseMoment(settings.since, nowMs) ?? null)
  if (sinceMs === null || configured === null) return sinceMs ?? configured
  return Math.max(sinceMs, configured)
}

/** @throws AGENT_UNKNOWN for an agent that the warehouse does not know: otherwise a mistyped id would look like an agent never read */
export async function expectAgents(rows: Rows, { workspaceIds, agents }: Scope): Promise<void> {
  if (agents.length === 0 || workspaceIds.length === 0) return
  const known = await rows<{ id: string }>(
    `SELECT DISTINCT agent_id AS id FROM (
       SELECT workspace_id, agent_id FROM agents UNION SELECT workspace_id, agent_id FROM conversations
     ) WHERE workspace_id IN (${workspaceIds.map(quoteText).join(', ')}) ORDER BY id`,
  )
  const ids = known.map(({ id }) => id)
  const unknown = agents.find(agent => !ids.includes(agent))
  if (unknown === undefined) return
  throw new ConvohouseError('AGENT_UNKNOWN', {
    what: `The warehouse has no agent ${JSON.stringify(unknown)}.`,
    hint: `Choose one of: ${ids.slice(0, 10).join(', ') || '(none)'}.`,
    facts: { agentId: unknown },
  })
}
