// A data folder whose syncs are killed, the sandbox that the syncs read, and the expected contents of the warehouse.
//
// The sandbox's clock is stopped until a sync has completed, then advances by a day, so that the next sync finds new and changed
// conversations. The expected result of each day's sync is computed from the generator alone.
import { DAY, MINUTE, SECOND } from '../../../src/core/time.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { openWarehouse } from '../../../src/warehouse/open.ts'
import { NO_REFRESH, openScene, STILL } from '../../scene.ts'
import { expectedTables } from '../../workflows/simulated/expected-rows.ts'
import { readThrough, type TrueRecord, timeMs, truthOf } from '../../workflows/simulated/truth.ts'
import { asLines, warehouseTables } from '../../workflows/simulated/warehouse-tables.ts'

const LATENCY_MS = 30
/** Default values of `settle` and `mirrorLag`. */
const SETTLE_MS = 2 * MINUTE
/** Maximum error of the estimated server time, which the server reports in whole seconds. */
const CLOCK_MS = 5 * SECOND
/** The first sync reads about fifteen pages and each later day's sync ten, in five windows: enough for several kills. */
const CONVERSATIONS = 120
const ARRIVALS_A_DAY = 40
const AGENTS = 5
const PAGE_SIZE = 10
/** Nothing is refreshed or re-read, so a stored row stays as it was when it was read as new or changed. */
const SETTINGS = { pageSize: PAGE_SIZE, requestsPerHour: 1_000_000, ...NO_REFRESH }

export interface KilledHome {
  sandbox: Sandbox
  home: string
  config: string
  /** Returns the number of API requests served so far. */
  served(): Promise<number>
  /** Advances the sandbox's clock by a day. */
  nextDay(): void
  /** Returns the expected number of exports so far: each conversation once when it was new, and once for each change. */
  expectedExports(): number
  /** Compares the warehouse with the expected rows; no process may hold the warehouse. */
  compare(): Promise<Difference>
  close(): Promise<void>
}

export interface Difference {
  /** Missing rows of all tables; a row with a wrong value counts here and in `doubled`. */
  lost: number
  /** Extra and duplicate rows. */
  doubled: number
}

function countRows(lines: readonly string[] = []): Map<string, number> {
  const counts = new Map<string, number>()
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1)
  return counts
}

const excess = (of: Map<string, number>, over: Map<string, number>): number =>
  [...of].reduce((sum, [line, count]) => sum + Math.max(0, count - (over.get(line) ?? 0)), 0)

type Lines = Record<string, string[]>

/** Counts the differing rows of two sets of tables. */
export function differenceOf(expected: Lines, found: Lines): Difference {
  const difference = { lost: 0, doubled: 0 }
  for (const table of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    const [must, is] = [countRows(expected[table]), countRows(found[table])]
    difference.lost += excess(must, is)
    difference.doubled += excess(is, must)
  }
  return difference
}

async function tablesIn(home: string): Promise<Lines> {
  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
  try {
    return asLines(await warehouseTables(warehouse.writer.rows))
  } finally {
    await warehouse.close()
  }
}

/** True if no conversation is so close to the end of the head window that an error of the clock decides whether it is read today. */
function isQuiet({ world, clock }: Sandbox): boolean {
  const [nowMs, edgeMs] = [clock.now(), readThrough(clock.now(), SETTLE_MS)]
  const walk = { sort: 'asc', fromMs: edgeMs - CLOCK_MS, toMs: edgeMs + CLOCK_MS, after: undefined } as const
  return world.agentIds().every(agentId => [...world.walk(agentId, walk, nowMs)].length === 0)
}

/** `more`: further settings of the configuration (`top`) and of its workspace, and the vendor's response time. */
export async function openKilledHome(
  seed: number,
  more: { top?: object; workspace?: object; latencyMs?: number } = {},
): Promise<KilledHome> {
  const { sandbox, home, file, close } = await openScene({
    sandbox: {
      ...STILL,
      seed,
      conversations: CONVERSATIONS,
      historyDays: 12,
      arrivalsPerDay: ARRIVALS_A_DAY,
      agents: AGENTS,
      // Conversations with new activity are exported again, so that loads also replace rows.
      ts: 'activity',
      hourlyRequests: 1_000_000,
      quotaSessions: 1_000_000_000,
      latencyMs: more.latencyMs ?? LATENCY_MS,
    },
    top: more.top ?? {},
    workspace: { ...SETTINGS, ...more.workspace },
  })
  const known = new Map<string, TrueRecord>()
  let throughMs = -1
  let exported = 0
  const settle = () => {
    while (!isQuiet(sandbox)) sandbox.clock.advance(10 * SECOND)
    const fromMs = throughMs
    throughMs = readThrough(sandbox.clock.now(), SETTLE_MS)
    for (const one of truthOf(sandbox, { throughMs })) {
      if ((timeMs(one.record.ts) ?? 0) <= fromMs) continue
      known.set(`${one.agentId} ${one.record.ID}`, one)
      exported += 1
    }
  }
  settle()
  return {
    sandbox,
    home,
    config: file,
    async served() {
      const answer = await fetch(`${sandbox.url}/_sandbox/requests?since=${Number.MAX_SAFE_INTEGER}`)
      return ((await answer.json()) as { total: number }).total
    },
    nextDay() {
      sandbox.clock.advance(DAY)
      settle()
    },
    expectedExports: () => exported,
    compare: async () => differenceOf(asLines(await expectedTables(known.values())), await tablesIn(home)),
    close,
  }
}
