// The control door under /_sandbox/: for tests and demos, without a token, and no part of the vendor's API.
//
//   GET  /_sandbox/requests?since=N&agentId=A&kind=export   requests served, in order
//   GET  /_sandbox/requests?summary=true                    the same, counted by agent, query and cursor
//   GET  /_sandbox/state                                    clock, hour, usage, options without the token
//   GET  /_sandbox/truth                                    per agent: conversations visible, exportable, billable sessions
//   POST /_sandbox/clock {nowMs?|advanceMs?, speed?}        sets the time, its speed, or both
//   GET  /_sandbox/faults                                   faults that are set, and how often each was served
//   POST /_sandbox/faults {seed?, rates?, script?, search?} sets them anew; {} turns them off
//   GET  /_sandbox/conditions                               paid, mirror lag, clock offset, agents that are gone
//   POST /_sandbox/conditions {paid?, mirrorLagMs?, …}      changes those that are given (`condition-settings.ts`)
//   GET  /_sandbox/webhooks                                 where events go, and how many came to what
//   POST /_sandbox/webhooks {url?, types?, faults?, …}      changes those that are given (`webhook-settings.ts`)
//   GET  /_sandbox/events?since=N&type=T&convoId=C&outcome=O  events emitted, in order, and what became of each
//   POST /_sandbox/reset-requests                           forgets the requests served; hour and usage stay

import { z } from 'zod'
import type { FaultSettings } from './faults/fault-settings.ts'
import type { ConditionSettings } from './limits/condition-settings.ts'
import { issueTexts } from './rates.ts'
import type { RequestLog } from './request-log.ts'
import { type Answer, fault, jsonAnswer } from './routes/answer.ts'
import type { ExportService } from './routes/export.ts'
import type { WebhookSettings } from './webhooks/webhook-settings.ts'
import type { Webhooks } from './webhooks/webhooks.ts'
import type { OrganizationList } from './world/organizations.ts'

export interface ControlService extends ExportService {
  log: RequestLog
  organizations: OrganizationList
  webhooks: Webhooks
}

interface ControlRequest {
  method: string
  /** Path behind `/_sandbox/`. */
  name: string
  params: URLSearchParams
  body: string
}

type Door = (service: ControlService, request: ControlRequest) => Answer

const DOORS: Record<string, Record<string, Door>> = {
  requests: { GET: tellRequests },
  state: { GET: tellState },
  truth: { GET: tellTruth },
  clock: { POST: setClock },
  faults: { GET: tellFaults, POST: setFaults },
  conditions: { GET: tellConditions, POST: setConditions },
  webhooks: { GET: tellWebhooks, POST: setWebhooks },
  events: { GET: tellEvents },
  'reset-requests': { POST: resetRequests },
}

export function answerControl(service: ControlService, request: ControlRequest): Answer {
  const doors = Object.hasOwn(DOORS, request.name) ? DOORS[request.name]! : undefined
  if (!doors) return fault(404, `The control door knows ${Object.keys(DOORS).join(', ')}`)
  const methods = Object.keys(doors).join(', ')
  const door = Object.hasOwn(doors, request.method) ? doors[request.method]! : undefined
  return door ? door(service, request) : fault(405, `Use ${methods}`, { headers: { Allow: methods } })
}

function tellRequests({ log }: ControlService, { params }: ControlRequest): Answer {
  const since = Number(params.get('since') ?? 0)
  if (!Number.isFinite(since)) return fault(400, 'since must be a number')
  const filter = { since, agentId: params.get('agentId'), kind: params.get('kind') }
  const summarised = params.get('summary') === 'true'
  return jsonAnswer({
    total: log.total,
    ...(summarised ? { summary: log.summary(filter) } : { requests: log.list(filter) }),
  })
}

function tellState(service: ControlService): Answer {
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

/** Agents that are gone are told too, as they would be exported were they there. */
function tellTruth({ world, clock, conditions }: ControlService): Answer {
  const dataMs = conditions.dataMs(clock.now())
  const agents = world.agentIds().map(agentId => ({
    agentId,
    ...world.tally(agentId, dataMs),
    ...(conditions.isGone(agentId) && { gone: true }),
  }))
  return jsonAnswer({ dataMs, agents })
}

function tellFaults({ faults }: ControlService): Answer {
  return jsonAnswer(faults.told())
}

function setFaults({ faults }: ControlService, { body }: ControlRequest): Answer {
  return set<FaultSettings>(faults, 'faults', body)
}

function tellConditions({ conditions }: ControlService): Answer {
  return jsonAnswer(conditions.told())
}

function setConditions({ conditions }: ControlService, { body }: ControlRequest): Answer {
  return set<ConditionSettings>(conditions, 'conditions', body)
}

function tellWebhooks({ webhooks }: ControlService): Answer {
  return jsonAnswer(webhooks.told())
}

function setWebhooks({ webhooks }: ControlService, { body }: ControlRequest): Answer {
  return set<WebhookSettings>(webhooks, 'webhooks', body)
}

/** Without the payloads: an event has kilobytes of it. `payload=true` tells them too. */
function tellEvents({ webhooks }: ControlService, { params }: ControlRequest): Answer {
  const since = Number(params.get('since') ?? 0)
  if (!Number.isFinite(since)) return fault(400, 'since must be a number')
  const asked = (name: string) => params.get(name) ?? undefined
  const filter = { since, type: asked('type'), convoId: asked('convoId'), outcome: asked('outcome') }
  const events = webhooks.log.list(filter).map(event => {
    const { payload, ...told } = Object.getOwnPropertyDescriptors(event)
    return params.get('payload') === 'true' ? event : Object.defineProperties({}, told)
  })
  return jsonAnswer({ total: webhooks.log.total, events })
}

interface Settable<S> {
  issuesOf(given: unknown): string[]
  set(settings: S): void
  told(): unknown
}

function set<S>(settable: Settable<S>, name: string, body: string): Answer {
  const given = parseJson(body)
  const issues = settable.issuesOf(given)
  if (issues.length > 0) return fault(400, `Invalid ${name}`, { issues })
  settable.set(given as S)
  return jsonAnswer(settable.told())
}

function resetRequests({ log }: ControlService): Answer {
  log.reset()
  return jsonAnswer({ total: log.total })
}

const ClockSetting = z
  .strictObject({
    nowMs: z.number().int().nonnegative().optional(),
    advanceMs: z.number().int().optional(),
    speed: z.number().min(0).max(1_000_000).optional(),
  })
  .refine(({ nowMs, advanceMs }) => nowMs === undefined || advanceMs === undefined, 'give nowMs or advanceMs, not both')

function setClock(service: ControlService, { body }: ControlRequest): Answer {
  const { clock, world } = service
  const setting = ClockSetting.safeParse(parseJson(body))
  if (!setting.success) return fault(400, 'Invalid clock setting', { issues: issueTexts(setting.error) })
  const { nowMs, advanceMs, speed } = setting.data
  const target = nowMs ?? clock.now() + (advanceMs ?? 0)
  if (target < 0 || target > world.lastMs) return fault(400, `The clock can be set up to ${world.lastMs}`)
  if (nowMs !== undefined) clock.set(nowMs)
  if (advanceMs !== undefined) clock.advance(advanceMs)
  if (speed !== undefined) clock.setSpeed(speed)
  return jsonAnswer(clockState(service))
}

function clockState({ clock }: ControlService) {
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
