// Control endpoints under /_sandbox/ for tests and demos. They need no token and are not part of the vendor's API.
//
//   GET  /_sandbox/requests?since=N&agentId=A&kind=export   served requests, in order
//   GET  /_sandbox/state                                    clock, rate limit, usage, options without the token
//   GET  /_sandbox/resources                                ids of agents, metrics, crawler jobs with pages, and organizations
//   POST /_sandbox/clock {nowMs?|advanceMs?, speed?}        sets the time, its speed, or both
//   GET  /_sandbox/faults                                   current faults, and how often each was served
//   POST /_sandbox/faults {seed?, rates?, script?} replaces the faults; {} turns them off
//   GET  /_sandbox/conditions                               paid, mirror lag, deleted agents
//   POST /_sandbox/conditions {paid?, mirrorLagMs?, …}      changes the given conditions (`conditions.ts`)
//   GET  /_sandbox/webhooks                                 webhook settings, and event counts by outcome
//   POST /_sandbox/webhooks {url?, secret?, …}              changes the given settings (`webhook-settings.ts`)

import { z } from 'zod'
import { DAY, SECOND } from '../core/time.ts'
import { issueTexts } from './rates.ts'
import { metricsOf } from './routes/agent-resources.ts'
import { type Answer, fault, jsonAnswer } from './routes/answer.ts'
import type { SandboxService } from './routes/route.ts'
import { existingJobs } from './routes/workspaces.ts'

interface ControlRequest {
  method: string
  /** Path after `/_sandbox/`. */
  name: string
  params: URLSearchParams
  body: string
}

type ControlRoute = (service: SandboxService, request: ControlRequest) => Answer

const ROUTES: Record<string, Record<string, ControlRoute>> = {
  requests: { GET: getRequests },
  state: { GET: getState },
  resources: { GET: getResources },
  clock: { POST: setClock },
  faults: settingsOf('faults'),
  conditions: settingsOf('conditions'),
  webhooks: settingsOf('webhooks'),
}

export function answerControl(service: SandboxService, request: ControlRequest): Answer {
  const routes = Object.hasOwn(ROUTES, request.name) ? ROUTES[request.name]! : undefined
  if (!routes) return fault(404, `The control endpoints are ${Object.keys(ROUTES).join(', ')}`)
  const methods = Object.keys(routes).join(', ')
  const answer = Object.hasOwn(routes, request.method) ? routes[request.method]! : undefined
  return answer ? answer(service, request) : fault(405, `Use ${methods}`, { headers: { Allow: methods } })
}

function getRequests({ log }: SandboxService, { params }: ControlRequest): Answer {
  const since = Number(params.get('since') ?? 0)
  if (!Number.isFinite(since)) return fault(400, 'since must be a number')
  const filter = { since, agentId: params.get('agentId'), kind: params.get('kind') }
  return jsonAnswer({ total: log.total, requests: log.list(filter) })
}

function getState(service: SandboxService): Answer {
  const { options, clock, hour, quota, log } = service
  const nowMs = clock.now()
  const { token: _, webhooks: __, ...shown } = options
  return jsonAnswer({
    clock: clockState(service),
    hour: { requestsPerHour: hour.requestsPerHour, remainingHour: hour.remaining(nowMs), hourMs: options.hourMs },
    usage: quota.peek(nowMs),
    requests: log.total,
    options: shown,
  })
}

/** Returns all ids of resources that have no list in the API. */
function getResources(service: SandboxService): Answer {
  const { options, world, clock, conditions, organizations } = service
  const nowMs = clock.now()
  const agents = world.agentIds().filter(id => !conditions.isGone(id))
  const metrics = agents.flatMap(agentId => {
    const agent = world.agentIds().indexOf(agentId)
    const createdMs = world.agent(agentId, nowMs)!.createdAtUNIX * SECOND
    const ofAgent = metricsOf(service, { seed: options.seed, agent, agentId, createdMs })
    return ofAgent.map(({ id, isSystem }) => ({ agentId, id, isSystem }))
  })
  const crawlerJobs = existingJobs(service).map(({ id, pages }) => ({ id, pages }))
  return jsonAnswer({ agents, metrics, crawlerJobs, organizations: organizations.all(nowMs).map(({ id }) => id) })
}

/** Defines routes that show a part of the service and change its settings. */
function settingsOf(name: 'faults' | 'conditions' | 'webhooks'): Record<string, ControlRoute> {
  return {
    GET: service => jsonAnswer(service[name].report()),
    POST(service, { body }) {
      const part = service[name]
      const given = parseJson(body)
      const issues = part.issuesOf(given)
      if (issues.length > 0) return fault(400, `Invalid ${name}`, { issues })
      part.set(given as object)
      return jsonAnswer(part.report())
    },
  }
}

/** Setting the time computes all arrivals up to it. */
const LONGEST_RUN_MS = 3_000 * DAY

const ClockSetting = z
  .strictObject({
    nowMs: z.number().int().nonnegative().optional(),
    advanceMs: z.number().int().optional(),
    speed: z.number().min(0).max(1_000_000).optional(),
  })
  .refine(({ nowMs, advanceMs }) => nowMs === undefined || advanceMs === undefined, 'give nowMs or advanceMs, not both')

function setClock(service: SandboxService, { body }: ControlRequest): Answer {
  const { clock, options } = service
  const setting = ClockSetting.safeParse(parseJson(body))
  if (!setting.success) return fault(400, 'Invalid clock setting', { issues: issueTexts(setting.error) })
  const { nowMs, advanceMs, speed } = setting.data
  const target = nowMs ?? clock.now() + (advanceMs ?? 0)
  const lastMs = options.startMs + LONGEST_RUN_MS
  if (target < 0 || target > lastMs) return fault(400, `The clock can be set up to ${lastMs}`)
  if (nowMs !== undefined) clock.set(nowMs)
  if (advanceMs !== undefined) clock.advance(advanceMs)
  if (speed !== undefined) clock.setSpeed(speed)
  return jsonAnswer(clockState(service))
}

function clockState({ clock }: SandboxService) {
  const nowMs = clock.now()
  return { nowMs, now: new Date(nowMs).toISOString(), speed: clock.speed }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
