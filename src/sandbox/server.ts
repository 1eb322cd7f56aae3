// The sandbox as an HTTP server: reads requests, waits for the configured latency, writes answers.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConvohouseError } from '../core/errors.ts'
import { SandboxClock } from './clock.ts'
import { agentEvent } from './events/workspace-events.ts'
import { Faults } from './faults/faults.ts'
import { Conditions } from './limits/conditions.ts'
import { Quota } from './limits/quota.ts'
import { RateLimit } from './limits/rate-limit.ts'
import { type ResolvedOptions, resolveOptions, type SandboxOptions } from './options.ts'
import type { Readings } from './readings.ts'
import { RequestLog } from './request-log.ts'
import { type Answer, fault } from './routes/answer.ts'
import { isControl, route } from './routes/router.ts'
import type { SandboxService } from './service.ts'
import { Webhooks } from './webhooks/webhooks.ts'
import { OrganizationList } from './world/organizations.ts'
import { createWorld, RecordCache, type World } from './world/world.ts'
import { WrittenState } from './written-state.ts'

export interface Sandbox {
  /** Base address without a trailing slash. */
  url: string
  port: number
  world: World
  clock: SandboxClock
  faults: Faults
  conditions: Conditions
  readings: Readings
  /** Webhook settings and event log. */
  webhooks: Webhooks
  /** Closes open connections and frees the port. */
  close(): Promise<void>
}

const MAX_BODY_BYTES = 1_048_576
const SERVER_SETTINGS = {
  keepAliveTimeout: 65_000,
  noDelay: true,
  // The maximum of 500 selected IDs takes 18 KB of URL.
  maxHeaderSize: 65_536,
}

/**
 * Serves the API on the options' host and port.
 * @throws ConvohouseError CONFIG_INVALID for unknown faults or settings, or if the server cannot listen on the port.
 */
export async function startSandbox(given: Partial<SandboxOptions>): Promise<Sandbox> {
  const options = resolveOptions(given)
  const service = createService(options)
  const outbox = new Outbox(() => service.clock.now())
  const server = createServer(SERVER_SETTINGS, (request, response) => {
    // Fails only if the caller has closed the connection.
    serve(service, request, { response, outbox }).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', error => reject(cannotListen(options, error)))
    server.listen(options.port, options.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  return {
    url: `http://${host}:${port}`,
    port,
    world: service.world,
    clock: service.clock,
    faults: service.faults,
    conditions: service.conditions,
    readings: options.readings,
    webhooks: service.webhooks,
    close: async () => {
      await service.webhooks.close()
      await new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
        outbox.close()
      })
    },
  }
}

function createService(options: ResolvedOptions): SandboxService {
  const state = new WrittenState(options.workspaceId)
  const world = createWorld(options)
  const clock = new SandboxClock(options)
  const hour = new RateLimit(options)
  const quota = new Quota(options)
  const conditions = new Conditions({
    options,
    agentIds: world.agentIds(),
    clock,
    quota,
    onAgent(change, agentId) {
      webhooks.announce(agentEvent(world.agent(agentId, clock.now())!, change, clock.now()))
    },
  })
  const organizations = new OrganizationList(options, state.deletedOrganizations)
  const events = (afterMs: number, untilMs: number) => organizations.remaining(world.events(afterMs, untilMs))
  const webhooks = new Webhooks(
    { clock, events, isGone: id => conditions.isGone(id), readings: options.readings },
    options.webhooks,
  )
  return {
    options,
    world,
    clock,
    hour,
    quota,
    conditions,
    organizations,
    state,
    webhooks,
    faults: new Faults(conditions, options.faults),
    records: new RecordCache(options.cacheBytes),
    log: new RequestLog(),
  }
}

interface ResponseChannel {
  response: ServerResponse
  outbox: Outbox
}

async function serve(
  service: SandboxService,
  request: IncomingMessage,
  { response, outbox }: ResponseChannel,
): Promise<void> {
  const { method = 'GET', url: target = '/', headers } = request
  const { latencyMs } = service.options
  const body = await readBody(request)
  const control = isControl(target)
  const number = control ? 0 : outbox.arrive()
  if (latencyMs > 0 && !control) await sleep(latencyMs)
  const answer =
    body === undefined
      ? fault(413, `A body holds at most ${MAX_BODY_BYTES} bytes`)
      : answerOrFault(service, { method, target, authorization: headers.authorization, body })
  await outbox.send(response, answer, number)
}

function answerOrFault(service: SandboxService, request: Parameters<typeof route>[1]): Answer {
  try {
    return route(service, request)
  } catch (error) {
    return fault(500, 'The sandbox failed to answer', { issues: [String(error)] })
  }
}

/** The request's body; undefined if it is too long. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk)
  }
  return bytes > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks).toString()
}

function cannotListen({ host, port }: ResolvedOptions, cause: NodeJS.ErrnoException): ConvohouseError {
  return new ConvohouseError('CONFIG_INVALID', {
    what: `The sandbox cannot listen on ${host}:${port}: ${cause.code === 'EADDRINUSE' ? 'another program uses that port' : cause.code}.`,
    hint: 'Give a port that is free (0 takes any), and a host of this machine.',
    cause,
    facts: { host, port },
  })
}

// Sends answers: at once, late, after a later request's answer, cut in half, or not at all.

interface Waiting {
  behindLater: boolean
  release(): void
}

class Outbox {
  /** Time for the `Date` header, in ms. */
  private readonly now: () => number
  /** Delayed answers by request number. */
  private readonly waiting = new Map<number, Waiting>()
  private arrived = 0

  constructor(now: () => number) {
    this.now = now
  }

  /** Numbers requests by arrival, from 1. */
  arrive(): number {
    return ++this.arrived
  }

  /** Sends the answer of that request, after its delay. */
  async send(response: ServerResponse, answer: Answer, number: number): Promise<void> {
    const { holdMs = 0, behindLater = false } = answer.delivery ?? {}
    if (holdMs > 0) await this.hold(number, { holdMs, behindLater })
    await write(response, answer, this.now())
    for (const [earlier, { behindLater, release }] of this.waiting) if (behindLater && earlier < number) release()
  }

  /** Releases all delayed answers. */
  close(): void {
    for (const { release } of this.waiting.values()) release()
  }

  private async hold(number: number, { holdMs, behindLater }: { holdMs: number; behindLater: boolean }) {
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>(release => {
      timer = setTimeout(release, holdMs)
      this.waiting.set(number, { behindLater, release })
    })
    clearTimeout(timer)
    this.waiting.delete(number)
  }
}

async function write(response: ServerResponse, answer: Answer, nowMs: number): Promise<void> {
  const { status, contentType, headers, body, delivery = {} } = answer
  if (delivery.sends === 'nothing') {
    response.destroy()
    return
  }
  const bytes = Buffer.from(body)
  response.sendDate = false
  response.writeHead(status, {
    ...headers,
    'Content-Type': contentType,
    'Content-Length': bytes.length,
    Date: new Date(nowMs + (delivery.dateOffsetMs ?? 0)).toUTCString(),
  })
  if (delivery.sends !== 'half') {
    await new Promise<void>(resolve => response.once('close', resolve).end(bytes, resolve))
    return
  }
  await new Promise<void>(resolve =>
    response.once('close', resolve).write(bytes.subarray(0, bytes.length >>> 1), () => resolve()),
  )
  response.destroy()
}
