// The sandbox as an HTTP server: reads requests, waits for the configured latency, writes answers.

import { setMaxListeners } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConvohouseError } from '../core/errors.ts'
import { SandboxClock } from './clock.ts'
import { agentEvent } from './events/workspace-events.ts'
import { Faults } from './faults/faults.ts'
import { Conditions } from './limits/conditions.ts'
import { Quota, RateLimit } from './limits/limits.ts'
import { type ResolvedOptions, resolveOptions, type SandboxOptions } from './options.ts'
import { RequestLog } from './request-log.ts'
import { type Answer, fault } from './routes/answer.ts'
import type { SandboxService } from './routes/route.ts'
import { isControl, route } from './routes/router.ts'
import { Webhooks } from './webhooks.ts'
import { OrganizationList } from './world/organizations.ts'
import { createWorld, RecordCache } from './world/world.ts'
import { WrittenState } from './written-state.ts'

export interface Sandbox extends Pick<SandboxService, 'world' | 'clock' | 'faults' | 'conditions'> {
  /** Base address without a trailing slash. */
  url: string
  port: number
  /** Closes open connections and frees the port. */
  close(): Promise<void>
}

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
  const { world, clock, faults, conditions, webhooks } = service
  const closing = new AbortController()
  // Each delayed answer listens to it.
  setMaxListeners(0, closing.signal)
  const server = createServer(SERVER_SETTINGS, (request, response) => {
    // Fails only if the caller has closed the connection, or the sandbox closes during a delay.
    serve(service, request, { response, signal: closing.signal }).catch(() => response.destroy())
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
    ...{ world, clock, faults, conditions },
    close: async () => {
      webhooks.close()
      await new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
        closing.abort()
      })
    },
  }
}

function createService(options: ResolvedOptions): SandboxService {
  const state = new WrittenState()
  const world = createWorld(options)
  const clock = new SandboxClock(options)
  const hour = new RateLimit(options)
  const quota = new Quota(options)
  const conditions = new Conditions({
    paid: options.paid,
    onAgent(change, agentId) {
      webhooks.announce(agentEvent(world.agent(agentId, clock.now())!, change, clock.now()))
    },
  })
  const organizations = new OrganizationList(options, state.deletedOrganizations)
  const events = (afterMs: number, untilMs: number) => organizations.remaining(world.events(afterMs, untilMs))
  const webhooks = new Webhooks({ clock, events, isGone: id => conditions.isGone(id) }, options.webhooks)
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
    faults: new Faults(options.faults),
    records: new RecordCache(options.cacheBytes),
    log: new RequestLog(),
  }
}

interface ResponseChannel {
  response: ServerResponse
  /** Ends the delays of answers. */
  signal: AbortSignal
}

async function serve(
  service: SandboxService,
  request: IncomingMessage,
  { response, signal }: ResponseChannel,
): Promise<void> {
  const { method = 'GET', url: target = '/', headers } = request
  const { latencyMs } = service.options
  const body = await text(request)
  if (latencyMs > 0 && !isControl(target)) await sleep(latencyMs, undefined, { signal })
  const answer = answerOrFault(service, { method, target, authorization: headers.authorization, body })
  const { holdMs = 0 } = answer.delivery ?? {}
  if (holdMs > 0) await sleep(holdMs, undefined, { signal })
  await write(response, answer, service.clock.now())
}

function answerOrFault(service: SandboxService, request: Parameters<typeof route>[1]): Answer {
  try {
    return route(service, request)
  } catch (error) {
    return fault(500, 'The sandbox failed to answer', { issues: [String(error)] })
  }
}

function cannotListen({ host, port }: ResolvedOptions, cause: NodeJS.ErrnoException): ConvohouseError {
  return new ConvohouseError('CONFIG_INVALID', {
    what: `The sandbox cannot listen on ${host}:${port}: ${cause.code === 'EADDRINUSE' ? 'another program uses that port' : cause.code}.`,
    hint: 'Give a port that is free (0 takes any), and a host of this machine.',
    cause,
    facts: { host, port },
  })
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
