// The account of a soak, by agent: every conversation that the vendor could export now is stored, or the bookkeeping tables say why
// it is not.

import { MINUTE } from '../../../src/core/time.ts'
import type { World } from '../../../src/sandbox/world/world.ts'
import type { SimulatedApp } from '../simulated/open-simulated-app.ts'
import type { Soaked } from './soak-run.ts'
import type { Mirror, PageScan, ScanEntry } from './soak-scans.ts'

const SETTLE_MS = 2 * MINUTE

export type Reason = 'agent-gone' | 'not-covered' | 'quarantined' | 'skipped' | 'late'

export interface AgentAccount {
  exportable: number
  held: number
  missing: Record<Reason, number>
  /** Missing conversations for which the bookkeeping gives no reason. */
  unexplained: string[]
  /** Ids of stored conversations that are not exportable: the mirror has no such conversation, or it has no billable session. */
  surplus: string[]
}

interface Reading {
  window: string
  fromSec: number
  toSec: number
  /** When the request was sent, in server time as estimated by convohouse, ms. */
  sentAtMs: number
  /** This page or the one before it skipped conversations: skipped ones may lie after the last record that a page returned. */
  hides: boolean
}

interface Bookkeeping {
  goneAgents: Set<string>
  /** Ranges of covered seconds, by agent. */
  covered: Map<string, { from: number; to: number }[]>
  readings: Map<string, Reading[]>
  /** Keys (`elementKey`) of the landed elements that could not be loaded. */
  quarantine: Set<string>
  held: Map<string, Set<string>>
}

export const elementKey = (file: string, element: number): string => `${file} ${element}`

export const grouped = <R, K, V>(rows: R[], keyOf: (row: R) => K, made: (row: R) => V): Map<K, V[]> => {
  const groups = new Map<K, V[]>()
  for (const row of rows) groups.set(keyOf(row), [...(groups.get(keyOf(row)) ?? []), made(row)])
  return groups
}

/** Reads from the tables what they record about pages and records. */
export async function readBookkeeping({ rows }: SimulatedApp): Promise<Bookkeeping> {
  const agents = await rows<{ id: string }>('SELECT agent_id AS id FROM agents WHERE _missing_since IS NOT NULL')
  const covered = await rows<{ agent: string; from: number; to: number }>(
    'SELECT agent_id AS agent, from_sec::DOUBLE AS "from", to_sec::DOUBLE AS "to" FROM _covered',
  )
  const readings = await rows<Reading & { agent: string }>(`
    SELECT agent_id AS agent, window_name AS "window", coalesce(epoch(from_at), 0)::DOUBLE AS "fromSec", epoch(to_at)::DOUBLE AS "toSec",
      epoch_ms(sent_at)::DOUBLE AS "sentAtMs", 
      scanned > returned OR lag(scanned > returned, 1, false) OVER (PARTITION BY agent_id, window_name ORDER BY file) AS hides
    FROM _requests WHERE to_at IS NOT NULL ORDER BY sent_at, file`)
  const quarantine = await rows<{ file: string; element: number }>('SELECT file, element FROM _quarantine')
  const held = await rows<{ agent: string; id: string }>(
    'SELECT agent_id AS agent, conversation_id AS id FROM conversations',
  )
  const ids = grouped(
    held,
    row => row.agent,
    row => row.id,
  )
  return {
    goneAgents: new Set(agents.map(({ id }) => id)),
    covered: grouped(
      covered,
      row => row.agent,
      ({ from, to }) => ({ from, to }),
    ),
    readings: grouped(
      readings,
      row => row.agent,
      row => row,
    ),
    quarantine: new Set(quarantine.map(({ file, element }) => elementKey(file, element))),
    held: new Map([...ids].map(([agent, own]) => [agent, new Set(own)])),
  }
}

/** One conversation that is not stored. */
interface Missing {
  agentId: string
  id: string
  /** The conversation's place in the vendor's order, ms. */
  placeMs: number
  /** Time from which the mirror's data contained the conversation, ms. */
  shownMs: number
  /** The mirror still lacked the conversation when its settle time had passed. */
  late: boolean
  entries: ScanEntry[]
}

/** Why the conversation is missing, according to the bookkeeping; null if the bookkeeping gives no reason. */
function reasonOf(bookkeeping: Bookkeeping, scans: readonly PageScan[], missing: Missing): Reason | null {
  const { agentId, id, placeMs, shownMs, entries } = missing
  const second = Math.floor(placeMs / 1_000)
  const within = ({ from, to }: { from: number; to: number }) => from <= second && second <= to
  if (!bookkeeping.covered.get(agentId)?.some(within))
    return bookkeeping.goneAgents.has(agentId) ? 'agent-gone' : 'not-covered'
  const exported = entries.filter(entry => entry.returned)
  if (exported.length > 0) return exported.every(entry => isQuarantined(bookkeeping, id, entry)) ? 'quarantined' : null
  const passes = (bookkeeping.readings.get(agentId) ?? []).filter(({ fromSec, toSec }) =>
    within({ from: fromSec, to: toSec }),
  )
  const newest = passes.at(-1)
  if (newest === undefined) return null
  // The conversations of one second may span several pages of a window; any of these pages may have skipped this conversation.
  if (entries.length > 0)
    return passes.some(({ window, hides }) => window === newest.window && hides) ? 'skipped' : null
  if (!missing.late) return null
  const passed = scans.filter(({ range }) => range && range.fromMs <= placeMs && placeMs <= range.toMs)
  return passed.every(({ dataMs }) => dataMs < shownMs) ? 'late' : null
}

/** True if the conversation's record on that page could not be loaded. */
const isQuarantined = ({ quarantine }: Bookkeeping, id: string, { page }: ScanEntry): boolean =>
  page.ids.some((other, element) => other === id && quarantine.has(elementKey(page.path, element + 1)))

/** The account of each agent, over every conversation that could be exported now. */
export function accountOf(
  { simulated, mirror }: Pick<Soaked, 'simulated' | 'mirror'>,
  bookkeeping: Bookkeeping,
  scans: readonly PageScan[],
): Record<string, AgentAccount> {
  const { world, clock, conditions } = simulated.sandbox
  const dataMs = conditions.dataMs(clock.now())
  return Object.fromEntries(
    world.agentIds().map(agentId => {
      const own = scans.filter(({ page }) => page.request.agentId === agentId)
      return [agentId, accountOfAgent({ world, mirror, bookkeeping, scans: own, agentId, dataMs })]
    }),
  )
}

interface Accounting {
  world: World
  mirror: Mirror
  bookkeeping: Bookkeeping
  /** Scans of the agent's pages. */
  scans: readonly PageScan[]
  agentId: string
  dataMs: number
}

/** Counts one agent's exportable conversations and, by reason, those that are not stored. */
function accountOfAgent({ world, mirror, bookkeeping, scans, agentId, dataMs }: Accounting): AgentAccount {
  const everything = { sort: 'asc', fromMs: 0, toMs: Number.POSITIVE_INFINITY, after: undefined } as const
  const places = new Map([...world.walk(agentId, everything, dataMs)].map(({ ts, index }) => [index, ts]))
  const entries = grouped(
    scans.flatMap(scan => scan.entries),
    entry => entry.index,
    entry => entry,
  )
  const held = bookkeeping.held.get(agentId) ?? new Set<string>()
  const missing: AgentAccount['missing'] = { 'agent-gone': 0, 'not-covered': 0, quarantined: 0, skipped: 0, late: 0 }
  const account: AgentAccount = { exportable: 0, held: held.size, missing, unexplained: [], surplus: [] }
  const known = new Set<string>()
  for (const { id, billableSessions, document, lateMs } of world.conversations(agentId, dataMs)) {
    if (billableSessions === 0) continue
    known.add(id)
    if (held.has(id)) continue
    const index = world.find(agentId, id, dataMs)!
    const placeMs = places.get(index)!
    const shownMs = (placeMs || Number(document.firstMessageTS)) + lateMs
    const own = entries.get(index) ?? []
    const late = mirror.dataMs(shownMs - lateMs + SETTLE_MS) < shownMs
    const reason = reasonOf(bookkeeping, scans, { agentId, id, placeMs, shownMs, late, entries: own })
    if (reason) missing[reason] += 1
    else account.unexplained.push(`${id} at ${placeMs}, shown at ${shownMs}, ${own.length} looks`)
  }
  account.exportable = known.size
  account.surplus = [...held].filter(id => !known.has(id))
  return account
}
