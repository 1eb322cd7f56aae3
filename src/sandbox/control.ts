// Control endpoints under /_sandbox/ for tests and demos. They need no token and are not part of the vendor's API.
//
//   GET  /_sandbox/requests?since=N&kind=export   served requests after number N, in order
//   GET  /_sandbox/state                          usage of the current billing period
//   GET  /_sandbox/resources                      ids of agents, metrics, crawler jobs with pages, and organizations
//   POST /_sandbox/faults {seed?, rates?, script?} replaces the faults; {} turns them off

import { SECOND } from '../core/time.ts'
import { FaultSettings } from './faults/fault-settings.ts'
import { metricsOf } from './routes/agent-resources.ts'
import { type Answer, fault, jsonAnswer } from './routes/answer.ts'
import { readBody } from './routes/input.ts'
import type { SandboxService } from './routes/route.ts'
import { existingJobs } from './routes/workspaces.ts'

interface ControlRequest {
  method: string
  /** Path after `/_sandbox/`. */
  name: string
  params: URLSearchParams
  body: string
}

const ROUTES: Record<string, (service: SandboxService, request: ControlRequest) => Answer> = {
  'GET requests': getRequests,
  'GET state': ({ quota, clock }) => jsonAnswer({ usage: quota.peek(clock.now()) }),
  'GET resources': getResources,
  'POST faults': setFaults,
}

export function answerControl(service: SandboxService, request: ControlRequest): Answer {
  const name = `${request.method} ${request.name}`
  if (Object.hasOwn(ROUTES, name)) return ROUTES[name]!(service, request)
  return fault(404, `The control endpoints are ${Object.keys(ROUTES).join(', ')}`)
}

function getRequests({ log }: SandboxService, { params }: ControlRequest): Answer {
  const since = Number(params.get('since') ?? 0)
  return jsonAnswer({ total: log.total, requests: log.list(since, params.get('kind')) })
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

function setFaults({ faults }: SandboxService, { body }: ControlRequest): Answer {
  const read = readBody(FaultSettings, body)
  if ('refused' in read) return read.refused
  faults.set(read.value)
  return jsonAnswer({})
}
