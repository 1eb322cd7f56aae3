// The reconciliation of one workspace: compares what the vendor reported with what the tables hold, by agent, day or month.
import { quoteText } from '../catalog/layout.ts'
import type { WorkspaceConfig } from '../config.ts'
import { ConvohouseError } from '../core/errors.ts'
import { parseMoment } from '../core/time.ts'
import type { Rows } from '../warehouse/query/rows.ts'
import { type ReadCoverage, readCoverage } from './coverage.ts'
import {
  type By,
  type Counts,
  type ReconciliationRow,
  type RepairPrice,
  reconciliationRows,
  repairPrice,
  type Scope,
  totalsOf,
} from './reconciled-counts.ts'

export interface WorkspaceReconciliation {
  workspaceId: string
  by: By
  rows: ReconciliationRow[]
  totals: Counts
  differences: Difference[]
  coverage: ReadCoverage
}

const DIFFERENCES = [
  'skipped',
  'quarantined',
  'incomplete',
  'stale',
  'missing',
  'notExportable',
  'uncovered',
  'unread',
] as const

/** A kind of difference between what the vendor reported and what the tables hold. */
export interface Difference {
  kind: (typeof DIFFERENCES)[number]
  count: number
  /** About how many sessions it bills to resolve the difference; null if unknown, because nothing of it has been exported. */
  sessions: number | null
}

interface ReconciliationOptions {
  rows: Rows
  workspaceId: string
  /** Undefined for a workspace that is in the warehouse but not configured. */
  settings: WorkspaceConfig | undefined
  /** Only these agents; none means all. */
  agents: readonly string[]
  /** Only the day of this moment (ms) and later days; null: all. */
  sinceMs: number | null
  by: By
  nowMs: number
}

export async function reconcileWorkspace(options: ReconciliationOptions): Promise<WorkspaceReconciliation> {
  const { rows: query, workspaceId, agents, sinceMs, by } = options
  const scope: Scope = { workspaceIds: [workspaceId], agents, sinceMs }
  const rows = await reconciliationRows(query, scope, by)
  const totals = totalsOf(rows)
  const coverage = await readCoverage(query, { workspaceId, agents, sinceMs: wantedSince(options) })
  const price = await repairPrice(query, scope)
  return {
    workspaceId,
    by,
    rows,
    totals,
    differences: differencesOf({ totals, price, coverage }),
    coverage,
  }
}

interface DifferenceInput {
  totals: Counts
  price: RepairPrice
  coverage: ReadCoverage
}

/** The kinds of differences that occur at least once. */
export function differencesOf({ totals, price, coverage }: DifferenceInput): Difference[] {
  const refreshed = (count: number) => ({ count, sessions: Math.ceil(count * price.perConversation) })
  const found: Record<Difference['kind'], Omit<Difference, 'kind'>> = {
    skipped: { count: totals.skipped, sessions: price.hiddenBehind },
    quarantined: { count: totals.quarantined, sessions: 0 },
    incomplete: refreshed(totals.incomplete),
    stale: refreshed(totals.knownStale),
    missing: { count: totals.missing, sessions: 0 },
    notExportable: { count: totals.notExportable, sessions: 0 },
    uncovered: { count: coverage.uncovered.length, sessions: null },
    unread: { count: coverage.unread.length, sessions: null },
  }
  return DIFFERENCES.map(kind => ({ kind, ...found[kind] })).filter(({ count }) => count > 0)
}

/** The start of the wanted time: the later of the requested and the configured start; null: everything is wanted. */
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
