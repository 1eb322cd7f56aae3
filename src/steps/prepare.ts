// Preparing a run: who the agents are, what has landed, what the ledger tells of the quota, and the plan that follows.

import type { Prepared, SyncRequest } from '../../workflows/steps.ts'
import { ConvohouseError, isCode } from '../core/errors.ts'
import type { GovernorState } from '../core/governor.ts'
import { planWindows } from '../core/planner.ts'
import { recall } from '../core/recall.ts'
import { coverageByAgent, densityByAgent, knownAgents, openWindows, periodSinceMs } from '../warehouse/known.ts'
import { type ListedAgent, listAgents } from './agents.ts'
import { factsOf, type KnownWindows, withPending } from './facts.ts'
import type { Fetching } from './fetch.ts'

/** The workspace's agents: listed now or, where the vendor does not answer, as the warehouse knows them. */
async function agentsNow(fetching: Fetching): Promise<ListedAgent[]> {
  try {
    return await listAgents(fetching, fetching)
  } catch (error) {
    if (!isCode(error, 'API_UNAVAILABLE', 'API_TIMEOUT', 'API_RATE_LIMITED', 'API_NOT_JSON')) throw error
    const known = await knownAgents(fetching.warehouse.writer, fetching.workspaceId)
    if (known.length === 0) throw error
    return known
  }
}

function chosen(agents: ListedAgent[], wanted: readonly string[]): ListedAgent[] {
  const unknown = wanted.find(id => !agents.some(agent => agent.agentId === id))
  if (unknown !== undefined) {
    throw new ConvohouseError('AGENT_UNKNOWN', {
      what: `The workspace has no agent ${JSON.stringify(unknown)}.`,
      mend: `Choose one of: ${
        agents
          .map(agent => agent.agentId)
          .slice(0, 10)
          .join(', ') || '(none)'
      }.`,
    })
  }
  return wanted.length === 0 ? agents : agents.filter(agent => wanted.includes(agent.agentId))
}

async function knownWindows(fetching: Fetching): Promise<KnownWindows> {
  const { writer } = fetching.warehouse
  const [coverage, open] = [
    await coverageByAgent(writer, fetching.workspaceId),
    await openWindows(writer, fetching.workspaceId),
  ]
  return withPending({ coverage, open }, fetching.pending.all())
}

async function recalled(fetching: Fetching, request: SyncRequest): Promise<GovernorState> {
  const { settings } = fetching
  const nowMs = fetching.now()
  const options = {
    hourMs: settings.hourMs,
    requestsPerHour: settings.requestsPerHour,
    hourReserveShare: settings.hourReserveShare,
    headReserveShare: settings.headReserveShare,
    maxPage: settings.maxPage,
    allowedPacks: request.allowedPacks,
    maxRequests: request.maxRequests,
    maxSessions: request.maxSessions,
  }
  const entries = await fetching.ledger.recent(nowMs, settings.hourMs)
  // This process holds the warehouse, so whoever wrote those leases holds it no more.
  return recall(options, entries, { nowMs, holdersDead: true })
}

/** Prepares and plans; nothing is bought. @throws AGENT_UNKNOWN, and access errors of the vendor */
export async function prepare(fetching: Fetching, request: SyncRequest): Promise<Prepared> {
  const { settings, warehouse, workspaceId } = fetching
  const governor = await recalled(fetching, request)
  const agents = chosen(await agentsNow(fetching), [...request.agents, ...Object.keys(request.ids)])
  const nowMs = fetching.clock.at(fetching.now())
  const { period } = governor
  const since = await periodSinceMs(warehouse.writer, workspaceId, period.key)
  const plan = planWindows({
    agents: factsOf({
      agents,
      windows: await knownWindows(fetching),
      densities: await densityByAgent(warehouse.writer, workspaceId, nowMs),
      selected: request.mode === 'selected',
    }),
    nowMs,
    // A window must not close over what the mirror does not have yet.
    settleMs: Math.max(settings.settleMs, settings.mirrorLagMs),
    sinceMs: request.sinceMs,
    untilMs: request.untilMs,
    mode: request.mode === 'selected' ? { kind: 'selected', ids: request.ids } : { kind: request.mode },
    maxPage: settings.maxPage,
    idsPerRequest: settings.maxPage,
    requestsPerHour: governor.hour.requestsPerHour,
    periodAgeMs: since === null ? null : nowMs - since,
  })
  return {
    plan,
    agents,
    governor: { ...governor, options: { ...governor.options, projectedSessions: plan.projectedSessions } },
    pagesWaiting: fetching.pending.all().length,
  }
}
