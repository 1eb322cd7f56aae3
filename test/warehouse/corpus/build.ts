// Lands and loads all cases of the corpus into a data folder, as a sync does: pages through the landing, events through the spool.
import { SECOND } from '../../../src/core/time.ts'
import type { SpoolEvent } from '../../../src/spool/event-line.ts'
import { openSpool } from '../../../src/spool/spool.ts'
import { spoolSteps } from '../../../src/steps/events/drain.ts'
import type { LoadablePage } from '../../../src/warehouse/load/load-input.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { applyResponseRules } from '../../../src/warehouse/marts/response-rules.ts'
import { openWarehouse } from '../../../src/warehouse/open.ts'
import { spoolEvent } from '../../spool/arbitrary-events.ts'
import {
  AGENT,
  freshWindow,
  landAgents,
  landConversations,
  landMetric,
  landOrganization,
  landTeams,
  landVoices,
  NO_USAGE,
  SENT_AT_MS,
} from '../landed-pages.ts'
import { LOADED_AT_MS, SMALL, type Workspace, workspaceIn } from '../temporary-warehouse.ts'
import { RECORDS, RECORDS_WORKSPACE, recordsText, type Step, WORKSPACES, workspaceCase } from './cases.ts'

type EventStep = Extract<Step, { event: string }>

const msOf = ({ at }: Step): number => (at === undefined ? SENT_AT_MS : Date.parse(at))

/** Lands the page of a step. */
function land({ landing }: Workspace, step: Exclude<Step, EventStep>): Promise<LoadablePage> {
  const sentAtMs = msOf(step)
  if ('conversations' in step) {
    const { conversations: records, agent: agentId = AGENT, text, facts = {}, usage, bill, rateLimit } = step
    const { kind = 'full', from = null, to, opened } = step.window ?? {}
    const openedAt = opened !== undefined && { openedAtMs: opened * SECOND }
    const window = freshWindow({ agentId, kind, fromSec: from, ...(to && { toSec: to }), ...openedAt })
    const reported = {
      ...(usage && { usage: { ...NO_USAGE, ...usage } }),
      ...(bill && { bill }),
      ...(rateLimit && { rateLimit }),
    }
    return landConversations(landing, { records, window, sentAtMs, facts, ...reported, ...(text && { body: text }) })
  }
  if ('agents' in step) return landAgents(landing, { ...step, starredAgents: step.starred ?? [], sentAtMs })
  if ('organization' in step) return landOrganization(landing, { id: step.id, data: step.organization, sentAtMs })
  if ('teams' in step)
    return landTeams(landing, { id: step.id, teams: step.teams, lastPage: step.lastPage ?? true, sentAtMs })
  if ('metric' in step) return landMetric(landing, { metric: step.metric, sentAtMs })
  return landVoices(landing, { voices: step.voices, sentAtMs })
}

/** Returns the event as the receiver appends it. */
function eventOf(step: EventStep, workspaceId: string): SpoolEvent {
  if (!('text' in step)) return spoolEvent({ event: step.event, ...step.payload }, workspaceId, msOf(step))
  const event = spoolEvent(JSON.parse(step.text) as Record<string, unknown>, workspaceId, msOf(step))
  return { ...event, payload: Buffer.from(step.text.replaceAll('\n', '')) }
}

/** Receives events in order, and applies them. */
async function receive(home: string, { id, context }: Workspace, steps: readonly EventStep[]): Promise<void> {
  const spool = openSpool({ home, now: () => LOADED_AT_MS })
  for (const step of steps) await spool.append(eventOf(step, id))
  await spool.close()
  await spoolSteps({ ...context, home }).drain({ workspaceId: id })
}

/** Loads consecutive pages at once, and likewise events, up to a step with `load`. */
async function follow(home: string, workspace: Workspace, steps: readonly Step[]): Promise<void> {
  let pages: LoadablePage[] = []
  let events: EventStep[] = []
  const apply = async () => {
    if (pages.length > 0) await workspace.load(...pages)
    if (events.length > 0) await receive(home, workspace, events)
    pages = []
    events = []
  }
  for (const step of steps) {
    if ('event' in step) events.push(step)
    else {
      if (events.length > 0) await apply()
      pages.push(await land(workspace, step))
    }
    if (step.load) await apply()
  }
  await apply()
}

/** Fills the data folder with a warehouse of all cases, its landing and its spool. */
export async function buildCorpus(home: string): Promise<void> {
  const warehouse = await openWarehouse({ home, ...SMALL })
  try {
    const records = workspaceIn({ home, warehouse, id: RECORDS_WORKSPACE, timeZone: 'UTC' })
    const pages = RECORDS.map(agentId => {
      const body = `{"data":${recordsText(agentId)}}`
      return landConversations(records.landing, { body, window: freshWindow({ agentId }) })
    })
    await records.load(...(await Promise.all(pages)))
    for (const id of WORKSPACES) {
      const { timeZone = 'UTC', rules, steps } = workspaceCase(id)
      await follow(home, workspaceIn({ home, warehouse, id, timeZone }), steps)
      if (rules)
        await applyResponseRules(warehouse.writer, id, { businessHours: null, serviceLevels: [], ...rules, timeZone })
    }
    await refreshMarts(warehouse.writer)
  } finally {
    await warehouse.close()
  }
}
