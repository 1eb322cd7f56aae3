// The ledger of one workspace: rows, totals, and every difference that they name.
import type { WorkspaceConfig } from '../../config.ts'
import { parseMoment } from '../../core/time.ts'
import type { Rows } from '../status/reading.ts'
import { type By, type Counts, type LedgerRow, ledgerRows, priceOf, type Scope, totalsOf } from './counts.ts'
import { type Difference, differencesOf } from './differences.ts'
import { readingOf, type Uncovered } from './uncovered.ts'

export interface WorkspaceLedger {
  workspaceId: string
  by: By
  /** ISO-8601, UTC; null where nothing has been read. */
  readThrough: string | null
  rows: LedgerRow[]
  totals: Counts
  differences: Difference[]
  uncovered: Uncovered[]
}

export interface LedgerOptions {
  rows: Rows
  workspaceId: string
  settings: WorkspaceConfig | undefined
  agents: readonly string[]
  sinceMs: number | null
  by: By
  nowMs: number
}

/** From where on reading is wanted: what was asked for, else what is configured. */
function wantedSince({ sinceMs, settings, nowMs }: LedgerOptions): number | null {
  const configured = settings?.since == null ? null : (parseMoment(settings.since, nowMs) ?? null)
  if (sinceMs === null || configured === null) return sinceMs ?? configured
  return Math.max(sinceMs, configured)
}

export async function workspaceLedger(options: LedgerOptions): Promise<WorkspaceLedger> {
  const { rows: ask, workspaceId, settings, agents, sinceMs, by } = options
  const scope: Scope = { workspaceIds: [workspaceId], agents, sinceMs }
  const rows = await ledgerRows(ask, scope, by)
  const totals = totalsOf(rows)
  const reading = await readingOf(ask, { workspaceId, agents, sinceMs: wantedSince(options) })
  const price = await priceOf(ask, scope)
  return {
    workspaceId,
    by,
    readThrough: reading.readThrough,
    rows,
    totals,
    differences: differencesOf({ totals, price, reading, settings }),
    uncovered: reading.uncovered,
  }
}
