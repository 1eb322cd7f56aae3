// Expected rows of the view `_ledger` for a soak, derived from the sandbox's log and the account instead of the view's own tables.
import { unansweredOf } from '../../../src/core/planning/unanswered-ids.ts'
import type { SimulatedApp } from '../simulated/open-simulated-app.ts'
import { type AgentAccount, elementKey } from './soak-account.ts'
import type { Evidence } from './soak-evidence.ts'

export interface LedgerSums {
  scanned: number
  returned: number
  skipped: number
  held: number
  quarantined: number
  incomplete: number
  missing: number
}

const NAMES = ['scanned', 'returned', 'skipped', 'held', 'quarantined', 'incomplete', 'missing'] as const

/** Sums of the view's columns, by agent. */
export async function ledgerSums({ rows }: SimulatedApp): Promise<Record<string, LedgerSums>> {
  const sums = NAMES.map(name => `sum(${name})::INTEGER AS ${name}`).join(', ')
  const found = await rows<LedgerSums & { agent: string }>(
    `SELECT agent_id AS agent, ${sums} FROM _ledger GROUP BY agent_id ORDER BY agent_id`,
  )
  return Object.fromEntries(found.map(({ agent, ...own }) => [agent, own]))
}

/** Number of requested ids that were answered neither then nor later. */
function unanswered({ pages }: Evidence, agentId: string): number {
  const missing = new Set<string>()
  const own = pages.filter(({ request }) => request.agentId === agentId)
  for (const { head, ids } of own.toSorted((a, b) => a.request.n - b.request.n)) {
    for (const id of ids) if (id !== null) missing.delete(id)
    const { gone, notExportable } = unansweredOf(head.facts!)
    for (const id of notExportable) missing.delete(id)
    for (const id of gone) missing.add(id)
  }
  return missing.size
}

/**
 * Agents whose sums in the view differ from the expected ones. Of skipped conversations the view knows only an upper bound, which
 * must be at least the number in the account.
 */
export function reconciliationViolations(
  actual: Record<string, LedgerSums>,
  accounts: Record<string, AgentAccount>,
  evidence: Evidence,
  quarantine: ReadonlySet<string>,
): object[] {
  return Object.entries(accounts).flatMap(([agentId, { held, missing }]) => {
    const quarantined = evidence.pages
      .filter(({ request }) => request.agentId === agentId)
      .reduce((sum, { path, ids }) => sum + ids.filter((_, at) => quarantine.has(elementKey(path, at + 1))).length, 0)
    const returned = held + quarantined
    const skipped = Math.max(actual[agentId]?.skipped ?? 0, missing.skipped)
    const expected: LedgerSums = {
      scanned: returned + skipped,
      returned,
      skipped,
      held,
      quarantined,
      incomplete: 0,
      missing: unanswered(evidence, agentId),
    }
    return NAMES.every(name => actual[agentId]?.[name] === expected[name])
      ? []
      : [{ agentId, actual: actual[agentId], expected }]
  })
}
