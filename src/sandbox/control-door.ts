// The control door under /_sandbox/: for tests and demos, without a token, and no part of the vendor's API.
//
//   GET  /_sandbox/requests?since=N&agentId=A&kind=export   requests served, in order
//   GET  /_sandbox/requests?summary=true                    the same, counted by agent, query and cursor
//   GET  /_sandbox/state                                    clock, hour, usage, options without the token
//   GET  /_sandbox/truth                                    per agent: conversations visible, exportable, billable sessions
//   POST /_sandbox/clock {nowMs?|advanceMs?, speed?}        sets the time, its speed, or both
//   POST /_sandbox/reset-requests                           forgets the requests served; hour and usage stay
import { z } from 'zod'
import type { Answer } from './answer.ts'
import { fault, jsonAnswer } from './answer.ts'
import type { ExportService } from './export-endpoint.ts'
import type { RequestLog } from './request-log.ts'

export interface ControlService extends ExportService {
  log: RequestLog
}

export interface ControlRequest {
  method: string
  /** Path behind `/_sandbox/`. */
  name: string
  params: URLSearchParams
  body: string
}

type Door = (service: ControlService, request: ControlRequest) => Answer

const DOORS: Record<string, { method: 'GET' | 'POST'; answer: Door }> = {
  requests: { method: 'GET', answer: tellRequests },
  state: { method: 'GET', answer: tellState },
  truth: { method: 'GET', answer: tellTruth },
  clock: { method: 'POST', answer: setClock },
  'reset-requests': { method: 'POST', answer: resetRequests },
}

export function answerControl(service: ControlService, request: ControlRequest): Answer {
  const door = Object.hasOwn(DOORS, request.name) ? DOORS[request.name] : undefined
  if (!door) return fault(404, `The control door knows ${Object.keys(DOORS).join(', ')}`)
  if (door.method !== request.method) return fault(405, `Use ${door.method}`, { headers: { Allow: door.method } })
  return door.answer(service, request)
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
  const { token: _, ...shown } = options
  return jsonAnswer({
    clock: clockState(service),
    hour: { requestsPerHour: hour.requestsPerHour, remainingHour: hour.remaining(nowMs), hourMs: options.hourMs },
    usage: quota.peek(nowMs),
    requests: log.total,
    options: shown,
  })
}

function tellTruth({ world, clock, options }: ControlService): Answer {
  const dataMs = clock.now() - options.mirrorLagMs
  const agents = world.agentIds().map(agentId => ({ agentId, ...world.tally(agentId, dataMs) }))
  return jsonAnswer({ dataMs, agents })
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
  if (!setting.success)
    return fault(400, 'Invalid clock setting', { issues: setting.error.issues.map(({ message }) => message) })
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
