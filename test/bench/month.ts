// Runs a month of a workspace in simulated time, with default settings: polls, conversations that change for days,
// webhook events (some are never sent), and wrong or reset counters. Reports the cost, compared with an oracle that
// knows the truth and with a daily export of the last week, and how many rows are stale at the end of each day.

import { RESOURCE_NAMES } from '../../src/config/resources.ts'
import { readConfig } from '../../src/config.ts'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { openSimulatedApp, type SimulatedApp, START_MS } from '../workflows/simulated/open-simulated-app.ts'
import { openEventSender } from '../workflows/simulated/simulated-events.ts'
import { type BenchOptions, rounded } from './measure.ts'
import { type ChangedConversation, Changes, pairKey } from './month/changes.ts'
import { lookbackOf } from './month/lookback.ts'
import { type OracleBill, oracleBill } from './month/oracle.ts'
import { type Staleness, stalenessOf } from './month/staleness.ts'

const MONTH_DAYS = 30
const AGENTS = 2
/**
 * A compromise: more frequent polls would make the benchmark slower (half of its time is a few DuckDB statements per
 * poll) and take a larger share of the requests.
 */
const POLL_EVERY_MS = 6 * HOUR
const ENVIRONMENT = {
  CONVOHOUSE_API_URL: 'http://127.0.0.1',
  CONVOHOUSE_API_TOKEN: 'token',
  CONVOHOUSE_WORKSPACE: 'ws',
}
/** The default settings of a workspace, which `--settings` changes. */
const { settleMs, quietMs, refreshOn, rereadShare, sampleShare } = readConfig({ env: ENVIRONMENT }).workspaces[0]!
const DEFAULTS = { resources: RESOURCE_NAMES, settleMs, quietMs, refreshOn, rereadShare, sampleShare }
type Settings = typeof DEFAULTS
const DROPPED = 0.05

const SANDBOX = {
  agents: AGENTS,
  conversations: 900,
  historyDays: 30,
  arrivalsPerDay: 30,
  traffic: true,
  mirrorLagMs: MINUTE,
  quotaSessions: 6_000,
  periodDays: 31,
  faults: {
    rates: {
      'hour-forgotten': 0.01,
      'hour-reported-high': 0.01,
      'usage-reported-low': 0.01,
      'old-period-reported': 0.01,
    },
  },
} as const

type Bill = Pick<OracleBill, 'requests' | 'sessions'>

interface Lived {
  settings: Settings
  simulated: SimulatedApp
  changes: Changes
  history: ReadonlyMap<string, number>
  polls: number[]
  ours: Bill
  staleness: Staleness[]
  packs: number
  events: { events: number; dropped: number }
}

const billOf = (requests: readonly { billed: number }[]): Bill => ({
  requests: requests.length,
  sessions: requests.reduce((sum, { billed }) => sum + billed, 0),
})

async function live(simulated: SimulatedApp, settings: Settings, days: number): Promise<Lived> {
  const { sandbox } = simulated
  const changes = new Changes()
  const history = historyOf(sandbox, changes, settings)
  const sender = openEventSender(simulated, {
    dropped: DROPPED,
    each({ type, agentId, convoId, createdMs }, isReported) {
      if (type === 'conversation_updated') changes.add({ agentId: agentId!, id: convoId!, ms: createdMs, isReported })
    },
  })
  const first = await simulated.sync()
  if (first.outcome !== 'done') throw new Error(`the first sync ended as ${first.outcome}`)
  const before = (await simulated.served()).length
  const lived: Omit<Lived, 'ours' | 'events'> = {
    settings,
    simulated,
    changes,
    history,
    polls: [],
    staleness: [],
    packs: 0,
  }
  let reportedMs = START_MS
  for (let atMs = START_MS + POLL_EVERY_MS; atMs <= START_MS + days * DAY; atMs += POLL_EVERY_MS) {
    sandbox.clock.set(atMs)
    await sender.send(reportedMs, atMs)
    reportedMs = atMs
    await simulated.drain()
    const { outcome } = await simulated.sync()
    if (outcome !== 'done') throw new Error(`a sync ended as ${outcome}`)
    lived.polls.push(atMs)
    if ((atMs - START_MS) % DAY === 0) await endDay(lived)
  }
  return { ...lived, ours: billOf((await simulated.served()).slice(before)), events: sender.counts() }
}

async function endDay(lived: Omit<Lived, 'ours' | 'events'>): Promise<void> {
  const { simulated, changes, staleness } = lived
  const found = await stalenessOf(simulated, changes)
  staleness.push(found)
  lived.packs = Math.max(lived.packs, (await simulated.usage()).overagePacksCharged)
  console.log(JSON.stringify({ day: staleness.length, ...found }))
}

/**
 * Returns the start times of conversations that began before the month; 0 if unknown. Conversations that have not
 * settled become changes, because they must still be exported.
 */
function historyOf({ world }: Sandbox, changes: Changes, { settleMs }: Settings): Map<string, number> {
  const began = new Map<string, number>()
  for (const agentId of world.agentIds()) {
    for (const { id, document } of world.conversations(agentId, START_MS)) {
      const ms = Number(document.ts ?? 0)
      began.set(pairKey(agentId, id), ms)
      if (ms > START_MS - settleMs) changes.add({ agentId, id, ms: Number(document.lastModified), isReported: true })
    }
  }
  return began
}

const SPENT = 'count(*)::INTEGER AS requests, coalesce(sum(billed_sessions), 0)::INTEGER AS sessions'

/** Prints the requests, sessions and conversations of each kind of window. */
async function printSpending({ rows }: SimulatedApp): Promise<void> {
  const kinds = await rows(`SELECT kind, ${SPENT}, sum(returned)::INTEGER AS conversations
    FROM _requests WHERE stream = 'conversations' GROUP BY kind ORDER BY kind`)
  for (const kind of kinds) console.log(JSON.stringify(kind))
}

/** Returns the cost of samples: of the random conversations, and of the ranges that are read again at the same time. */
async function sampledBy({ rows }: SimulatedApp): Promise<Bill> {
  const [bill] =
    await rows<Bill>(`SELECT ${SPENT} FROM _requests r JOIN _windows w USING (workspace_id, agent_id, window_name)
    WHERE w.kind = 'sample' OR (w.kind = 'reread' AND EXISTS (SELECT 1 FROM _windows s
      WHERE s.kind = 'sample' AND abs(epoch_ms(s.opened_at) - epoch_ms(w.opened_at)) < 1000))`)
  return bill!
}

/** Returns the number of messages in the record at that time. */
const messagesIn =
  (world: Sandbox['world']) =>
  ({ agentId, id }: ChangedConversation, ms: number): number =>
    (JSON.parse(world.render(world.find(agentId, id, ms)!, ms)) as { messagesNum: number }).messagesNum

async function evaluate(lived: Lived): Promise<Record<string, number>> {
  const { simulated, changes, history, polls, ours, staleness, packs, events } = lived
  const { settleMs, quietMs } = lived.settings
  const { world } = simulated.sandbox
  const sessionsAt = ({ agentId, id }: { agentId: string; id: string }, ms: number) =>
    world.billable(world.find(agentId, id, ms)!, ms)
  const beganMs = ({ agentId, id, changes: [first] }: ChangedConversation) =>
    history.get(pairKey(agentId, id)) ?? first!.ms
  const conversations = changes.all()
  const truth = { polls, startMs: START_MS, agents: AGENTS, settleMs, quietMs, conversations, beganMs, sessionsAt }
  const oracle = oracleBill({ ...truth, messagesAt: messagesIn(world) })
  const sampled = await sampledBy(simulated)
  const days = staleness.map((_, day) => START_MS + (day + 1) * DAY)
  const lookback = lookbackOf({ history, changes, days, sessionsAt })
  for (const line of [{ ours }, { oracle }, { sampled }, { lookback }, { events }]) console.log(JSON.stringify(line))
  const shares = staleness.map(({ rows, stale }) => stale / rows)
  return {
    requestsRatio: rounded(ours.requests / (oracle.requests + sampled.requests), 3),
    sessionsRatio: rounded(ours.sessions / (oracle.sessions + sampled.sessions), 3),
    lookbackFactor: rounded(lookback.sessions / ours.sessions),
    overagePacks: packs,
    staleAtDayEnds: rounded(shares.reduce((sum, share) => sum + share, 0) / shares.length, 4),
    mostStaleAtDayEnd: rounded(Math.max(...shares), 4),
  }
}

export async function monthBench({ seed, days, settings: changed }: BenchOptions): Promise<Record<string, number>> {
  const settings = { ...DEFAULTS, ...changed }
  const { simulated, end } = await openSimulatedApp({ sandbox: { ...SANDBOX, seed }, settings })
  try {
    const lived = await live(simulated, settings, days ?? MONTH_DAYS)
    await printSpending(simulated)
    return await evaluate(lived)
  } finally {
    await end()
  }
}
