// Prepares a run: lists the agents, recovers quota and governor from landing and lease log, and plans the windows.

import type { Failure, Prepared, SyncRequest } from '../../../workflows/steps.ts'
import { AGENTS } from '../../catalog/resources/agents.ts'
import { isSegment } from '../../client/address.ts'
import { VendorError } from '../../client/faults.ts'
import { ConvohouseError, ERRORS, isUnanswered } from '../../core/errors.ts'
import type { GovernorState } from '../../core/governor/governor.ts'
import { recoverGovernor } from '../../core/governor/governor-recovery.ts'
import { type LeaseEntry, momentOf } from '../../core/governor/lease-entries.ts'
import { storedBills } from '../../core/governor/page-size.ts'
import { PERIOD_DAYS } from '../../core/planning/estimate.ts'
import { agentsLeft, type FullExport, newestFullExports } from '../../core/planning/full-export.ts'
import { agentBackoffUntilMs, isBackingOff } from '../../core/planning/gaps.ts'
import { conversationKeys, groupedByAgent } from '../../core/planning/id-windows.ts'
import { type PlanOptions, planWindows } from '../../core/planning/planner.ts'
import { needsConsent } from '../../core/planning/price.ts'
import type { ClockReading } from '../../core/planning/unpassed-time.ts'
import { recoverQuota } from '../../core/quota/billing-period.ts'
import type { QuotaState } from '../../core/quota/quota.ts'
import { DAY, MAX_CLOCK_SKEW_MS, momentText } from '../../core/time.ts'
import { counted } from '../../core/words.ts'
import type { LoadablePage } from '../../warehouse/load/load-input.ts'
import type { KnownAgent } from '../../warehouse/planning/planner-queries.ts'
import { failureOf } from '../export/fetch.ts'
import { type ListedAgent, listAgents } from '../listing/agents.ts'
import { clocksApart, type ServerClock } from '../server-clock.ts'
import { factsOf, type KnownWindows, withPending, withUnloaded } from './agent-facts.ts'
import type { Planning } from './facts.ts'
import { planRefresh } from './refresh.ts'

interface Agents {
  agents: ListedAgent[]
  /** Ids of agents that answered 404 and are not requested yet. */
  resting: ReadonlySet<string>
  /** Warnings about the listing, for the user. */
  warnings: string[]
  /** Reason why the agents could not be listed. */
  failure?: Failure
}

const SHOWN_CHARS = 60

/** Returns the warning about an agent whose id no URL can carry. The id may be any text, so it is quoted and cut. */
const unusableText = (id: string): string =>
  `Agent ${JSON.stringify(id.slice(0, SHOWN_CHARS))} is not exported: its ID cannot be part of a URL. All other agents are exported.`

/** Returns the warning about a configured organization whose id no URL can carry. */
const unusableOrganizationText = (id: string): string =>
  `Organization ${JSON.stringify(id.slice(0, SHOWN_CHARS))} is not requested: its ID cannot be part of a URL. Correct it in \`organizations\`, or remove it.`

/** Returns the warning about known agents that the listing lacks. */
function lackingText(lacking: readonly ListedAgent[]): string {
  const shown = lacking.slice(0, 5).map(({ agentId }) => agentId)
  return `The list of agents lacks ${counted(lacking.length, 'known agent')} (${[...shown, ...(lacking.length > 5 ? ['…'] : [])].join(', ')}). They are exported as before: an agent is gone only if its own export says so (404).`
}

/** Returns known agents whose exports answered 404 and are not due. Agents that are listed again are due at once. */
function restingAmong(
  known: readonly KnownAgent[],
  listed: readonly ListedAgent[],
  { clock, now, pending }: Planning,
): Set<string> {
  const ids = new Set(listed.map(({ agentId }) => agentId))
  const waiting = pending.all().flatMap(({ head }) => (head.goneAgentId === undefined ? [] : [head]))
  const resting = known.filter(({ agentId, isListed, refusedMs }) => {
    const refused = waiting.filter(({ goneAgentId }) => goneAgentId === agentId).map(head => head.sentAtServerMs)
    const isBack = ids.has(agentId) && !isListed
    return !isBack && isBackingOff(agentBackoffUntilMs([...refusedMs, ...refused]), clock.at(now()))
  })
  return new Set(resting.map(({ agentId }) => agentId))
}

/** Lists the workspace's agents, and adds known ones that the listing lacks. Without an answer, returns the known ones. */
async function agentsNow(fetching: Planning): Promise<Agents> {
  const known = (await fetching.facts.knownAgents()).filter(({ agentId }) => isSegment(agentId))
  try {
    const { agents, unusable, cutOff } = await listAgents(fetching)
    const ids = new Set(agents.map(({ agentId }) => agentId))
    const unlisted = known.filter(({ agentId }) => !ids.has(agentId))
    const gone = new Set(await fetching.facts.goneAgents())
    const lacking = unlisted.filter(({ agentId }) => !gone.has(agentId))
    const cut =
      cutOff &&
      `The listing of agents may be cut off: ${cutOff.issue} (${cutOff.detail}). New agents may be missing from the plan.`
    return {
      agents: [...agents, ...unlisted],
      resting: restingAmong(known, agents, fetching),
      warnings: [
        ...(cut ? [cut] : []),
        ...(lacking.length > 0 ? [lackingText(lacking)] : []),
        ...unusable.map(unusableText),
      ],
    }
  } catch (error) {
    // Even if the listing is refused, the exports of known agents may still be answered.
    if (!(error instanceof VendorError) || error.code === 'INTERRUPTED' || known.length === 0) throw error
    const warning = `The agents could not be listed (${error.code}): the sync continues with the agents of the last listing; new agents are missing.`
    const resting = restingAmong(known, [], fetching)
    return { agents: known, resting, warnings: [warning], failure: failureOf(error) }
  }
}

/**
 * Makes one more unmetered request if a single answer reported a new clock offset: covered seconds are never read
 * again, so coverage must not depend on one answer.
 */
async function settleClock({ clock, vendor, workspaceId, signal }: Planning): Promise<void> {
  if (!clock.doubts()) return
  try {
    clock.observe((await vendor.resource({ resource: AGENTS, workspaceId, limit: 1, signal })).receipt)
  } catch (error) {
    if (!isUnanswered(error)) throw error
  }
}

function clockWarnings(clock: ServerClock): string[] {
  const aheadMs = clock.aheadMs()
  if (Math.abs(aheadMs) <= MAX_CLOCK_SKEW_MS) return []
  return [
    `This machine's clock ${clocksApart(aheadMs)}. Synchronise it (NTP), or ask the vendor about the dates of its answers.`,
  ]
}

function chosen(agents: ListedAgent[], wanted: readonly string[]): ListedAgent[] {
  const unknown = wanted.find(id => !agents.some(agent => agent.agentId === id))
  if (unknown !== undefined) {
    throw new ConvohouseError('AGENT_UNKNOWN', {
      what: `The workspace has no agent ${JSON.stringify(unknown)}.`,
      hint: `Choose one of: ${
        agents
          .map(agent => agent.agentId)
          .slice(0, 10)
          .join(', ') || '(none)'
      }.`,
      facts: { agentId: unknown },
    })
  }
  return wanted.length === 0 ? agents : agents.filter(agent => wanted.includes(agent.agentId))
}

/** Returns the selected agents; resting agents must be named. @throws AGENT_UNKNOWN for an agent that the workspace does not have */
async function agentsToPlan(fetching: Planning, { agents, ids }: SyncRequest): Promise<Agents> {
  const { agents: all, resting, ...listing } = await agentsNow(fetching)
  const named = [...agents, ...ids.map(([agentId]) => agentId)]
  const asked = new Set(named)
  const isDue = ({ agentId }: ListedAgent) => asked.has(agentId) || !resting.has(agentId)
  return { agents: chosen(all, named).filter(isDue), resting, ...listing }
}

async function knownWindows({ facts, pending }: Planning, clock: ClockReading, nowMs: number): Promise<KnownWindows> {
  const [coverage, open, gaps] = [await facts.coverage(clock), await facts.openWindows(), await facts.gaps(nowMs)]
  return withPending({ coverage, open, gaps, full: await facts.fullWindows() }, pending.all(), clock)
}

/** Share of a period's included sessions that requesting gaps again may bill for unreadable pages. */
const GAPS_SHARE = 0.01

/** Returns when refused agents are requested again, ms. A person's sync requests them at once, which bills nothing. */
async function refusedUntilMs({ facts }: Planning, { unattended }: SyncRequest): Promise<Map<string, number>> {
  const left = await facts.leftAgents()
  return new Map(
    left
      .filter(({ code }) => unattended || ERRORS[code].kind !== 'access')
      .map(({ agentId, retryAtMs }) => [agentId, retryAtMs]),
  )
}

/** Returns the quota by the reported periods and all landed pages, loaded or not. */
async function quotaNow({ facts, pending }: Planning): Promise<QuotaState> {
  const reported = await facts.reportedPeriods()
  const own = (key: string) =>
    pending.all().reduce((sum, { head }) => sum + (head.usage?.periodKey === key ? (head.facts?.billed ?? 0) : 0), 0)
  return recoverQuota(reported.map(one => ({ ...one, certainSessions: one.certainSessions + own(one.key) })))
}

/** Returns answers that landed and are not loaded, without those in the lease log: a kill may come between landing and log. */
function unlogged(pages: readonly LoadablePage[], entries: readonly LeaseEntry[]): LeaseEntry[] {
  const idOf = (agentId: string | null, sentAtMs: number) => `${sentAtMs} ${agentId}`
  const logged = new Set(entries.map(entry => (entry.kind === 'request' ? idOf(entry.agentId, entry.sentAtMs) : null)))
  return pages.flatMap(({ head: { place, facts, sentAtMs, receivedAtMs, status, usage, rateLimit } }) => {
    if (usage === null || facts === null || logged.has(idOf(place.agentId, sentAtMs))) return []
    const { returned, billed } = facts
    const answer = { sentAtMs, receivedAtMs, status, returned, billed, usage, rateLimit, retryAfterMs: null }
    return [{ kind: 'request' as const, lease: null, agentId: place.agentId ?? '', error: null, ...answer }]
  })
}

/** True for an answer that reported the period's usage. */
const reportsUsage = (entry: LeaseEntry): boolean =>
  entry.kind === 'request' &&
  (entry.usage?.billableUsedThisPeriod ?? entry.usage?.billableRemainingThisPeriod ?? null) !== null

/**
 * Returns the lease log of the last hour and its newest usage reports. Since the last report the log is the only record
 * of billed sessions, so it includes all later requests, up to the longest possible period.
 */
async function recentEntries({ leaseLog, settings }: Planning, nowMs: number): Promise<LeaseEntry[]> {
  const { hourMs } = settings
  const recent = await leaseLog.recent(nowMs, hourMs)
  const newest = recent.findLast(reportsUsage)
  const sinceMs = Math.max(nowMs - PERIOD_DAYS * DAY, newest ? momentOf(newest) : 0)
  if (sinceMs >= nowMs - hourMs) return recent
  const all = await leaseLog.recent(nowMs, nowMs - sinceMs)
  return all.filter(entry => entry.kind === 'request' || momentOf(entry) >= nowMs - hourMs)
}

async function recoveredGovernor(fetching: Planning, request: SyncRequest): Promise<GovernorState> {
  const { settings } = fetching
  const nowMs = fetching.now()
  const options = {
    hourMs: settings.hourMs,
    requestsPerHour: settings.requestsPerHour,
    hourReserveShare: settings.hourReserveShare,
    headReserveShare: settings.headReserveShare,
    maxPage: settings.maxPage,
    ...(settings.leaseMs !== undefined && { leaseMs: settings.leaseMs }),
    allowedPacks: request.allowedPacks,
    packsForHistory: request.unattended !== true,
    maxRequests: request.maxRequests,
    maxSessions: request.maxSessions,
  }
  const logged = await recentEntries(fetching, nowMs)
  const entries = [...logged, ...unlogged(fetching.pending.all(), logged)].sort((a, b) => momentOf(a) - momentOf(b))
  // This process holds the warehouse and has waited for other processes' leases.
  return recoverGovernor(options, entries, { nowMs, holdersDead: true, quota: await quotaNow(fetching) })
}

function modeOf({ mode, ids, agents }: SyncRequest): PlanOptions['mode'] {
  if (mode === 'selected') return { kind: 'selected', ids: groupedByAgent(conversationKeys(ids)) }
  return mode === 'full' ? { kind: 'full', agents } : { kind: 'incremental' }
}

/** Returns the flags that continue a full export; other flags would begin a new one, which bills everything again. */
const flagsOf = ({ agents, fromSec, untilMs }: FullExport): string =>
  [
    ...agents.map(agentId => ` --agent ${agentId}`),
    ...(fromSec === null ? [] : [` --since ${momentText(fromSec * 1_000)}`]),
    ...(untilMs === null ? [] : [` --until ${momentText(untilMs)}`]),
  ].join('')

/** Returns warnings about unfinished full exports, for a sync that does not continue them. */
function unfinishedFulls(
  { full = [] }: KnownWindows,
  { agents, request, droppedMs }: { agents: readonly ListedAgent[]; request: SyncRequest; droppedMs: number | null },
): string[] {
  if (request.mode !== 'incremental' || request.agents.length > 0) return []
  const there = agents.map(({ agentId }) => agentId)
  return newestFullExports(full, droppedMs).flatMap(begun => {
    const left = agentsLeft(begun, there).length
    if (left === 0) return []
    const of = begun.agents.length === 0 ? there.length : begun.agents.length
    return [
      `a full export begun at ${momentText(begun.openedAtMs)} is not finished (${left} of ${of} agents are left): \`convohouse sync --full${flagsOf(begun)}\` continues it, \`convohouse sync --drop-full\` drops it`,
    ]
  })
}

/** Drops the full exports planned up to `untilMs`. The landing records this, so that a replay into a new warehouse drops them too. */
async function drop({ landing, now, facts }: Planning, run: string, untilMs: number): Promise<void> {
  await landing.noteRun({ run, fullsDroppedMs: untilMs }, now())
  await facts.dropFulls(untilMs)
}

/**
 * Prepares and plans. Exports nothing, and drops no full export before the user has confirmed.
 * @throws AGENT_UNKNOWN, and access errors of the vendor
 */
export async function prepare(fetching: Planning, request: SyncRequest): Promise<Prepared> {
  const { settings, facts } = fetching
  const startedMs = fetching.now()
  const governor = await recoveredGovernor(fetching, request)
  const { agents, warnings: ofAgents, failure } = await agentsToPlan(fetching, request)
  const unusable = settings.organizations.filter(id => !isSegment(id))
  await settleClock(fetching)
  const warnings = [...ofAgents, ...unusable.map(unusableOrganizationText), ...clockWarnings(fetching.clock)]
  // If our clock jumps in between, the earlier time is either right or only costs a delay.
  const localMs = Math.min(startedMs, fetching.now())
  const nowMs = fetching.clock.passedAt(localMs)
  // A head window must end before conversations that the mirror may still lack.
  const settleMs = Math.max(settings.settleMs, settings.mirrorLagMs)
  const { quota } = governor
  const since = await facts.periodSinceMs(quota.key)
  const refreshes = await planRefresh({
    dependencies: fetching,
    request,
    includedSessions: quota.includedSessions,
    nowMs,
    waiting: fetching.pending.all().length,
  })
  const windows = await knownWindows(fetching, { latestMs: fetching.clock.latestAt(localMs), settleMs }, nowMs)
  const spentOnGaps = await facts.billedForGaps(nowMs - PERIOD_DAYS * DAY)
  const droppedMs = request.dropFull ? nowMs - 1 : await facts.droppedFullsMs()
  const unfinished = unfinishedFulls(windows, { agents, request, droppedMs })
  const densities = await facts.densities(nowMs)
  const plan = planWindows({
    agents: factsOf({
      agents,
      windows,
      densities,
      active: request.mode === 'incremental' ? await facts.activeConversations(nowMs) : [],
      resting: request.unattended ? await facts.pausedWindows(nowMs) : [],
      stored: request.mode === 'full' ? withUnloaded(await facts.storedByDay(), fetching.pending.all()) : new Map(),
      selected: request.mode === 'selected',
      refusedUntilMs: await refusedUntilMs(fetching, request),
      seenThrough: await facts.seenThrough(nowMs),
      unloaded: new Set(fetching.pending.all().flatMap(({ head }) => head.place.agentId ?? [])),
    }),
    nowMs,
    settleMs,
    sinceMs: request.sinceMs,
    untilMs: request.untilMs,
    mode: modeOf(request),
    droppedMs,
    continuesMs: request.exporting?.fullMs ?? null,
    refreshes,
    gapSessions: quota.includedSessions * GAPS_SHARE - spentOnGaps,
    maxPage: settings.maxPage,
    idsPerRequest: settings.maxPage,
    requestsPerHour: governor.rateLimit.requestsPerHour,
  })
  const isBegun = request.consented !== false || !needsConsent(plan, quota.includedSessions)
  if (request.dropFull && isBegun) await drop(fetching, request.run, nowMs - 1)
  return {
    plan,
    plannedAtMs: nowMs,
    agents,
    governor: {
      ...governor,
      options: { ...governor.options, polledAgents: agents.length },
      quota: { ...quota, sinceMs: since ?? quota.sinceMs ?? null },
      outlook: plan.outlook,
      agents: [...governor.agents.filter(({ agentId }) => !densities.has(agentId)), ...[...densities].map(storedBills)],
    },
    pagesWaiting: fetching.pending.all().length,
    hasRows: windows.coverage.size > 0 || windows.open.length > 0,
    ...(failure && plan.windows.length === 0 && { failure }),
    aheadMs: fetching.clock.aheadMs(),
    // Each warning about the listing concerns agents that it lacks, or may lack.
    ...(ofAgents.length > 0 && { agentsLeftOut: true as const }),
    ...(warnings.length + unfinished.length > 0 && { warnings: [...warnings, ...unfinished] }),
  }
}
