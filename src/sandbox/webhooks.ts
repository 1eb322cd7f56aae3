// Posts the world's events to the configured address, by the sandbox's clock, each once: the vendor never resends.
//
// A payload is built when it is sent, with the state at the event's creation.

import type { SandboxClock } from './clock.ts'
import type { WorldEvent } from './events/event-types.ts'
import { invalidOption } from './rates.ts'

export const DEFAULT_WEBHOOK_SECRET = 'sandbox-webhook-secret'

export interface WebhookSettings {
  /** Address of events. Without one, none are sent. */
  url?: string | undefined
  /** Sent as `workspaceSecret` in every event. */
  secret?: string | undefined
}

interface WebhookWorld {
  clock: SandboxClock
  /** Yields events created after `afterMs`, up to `untilMs`, in order. */
  events(afterMs: number, untilMs: number): Iterable<WorldEvent>
  isGone(agentId: string): boolean
}

/** Maximum number of requests in flight. */
const CONCURRENCY = 8

/** Real milliseconds between two checks of the clock. */
const CHECK_EVERY_MS = 50

/** The vendor's timeout (API document, section 6.1). */
const TIMEOUT_MS = 60_000

export class Webhooks {
  private readonly world: WebhookWorld
  private readonly settings: WebhookSettings
  private readonly closing = new AbortController()
  private readonly timer: NodeJS.Timeout | undefined
  /** Time up to which events were taken from the world. */
  private reachedMs: number
  /** Iterator of the events up to `reachedMs` that are not sent yet. */
  private due: Iterator<WorldEvent> = [][Symbol.iterator]()
  private readonly announced: WorldEvent[] = []
  private underWay = 0

  /** @throws ConvohouseError CONFIG_INVALID */
  constructor(world: WebhookWorld, settings: WebhookSettings) {
    this.world = world
    this.settings = settings
    this.reachedMs = world.clock.now()
    const { url } = settings
    if (url === undefined) return
    if (!/^https?:/.test(url) || !URL.canParse(url))
      throw invalidOption('webhooks', 'cannot be read', 'Give an address such as http://127.0.0.1:8080/.')
    this.timer = setInterval(() => this.pump(), CHECK_EVERY_MS).unref()
  }

  /** Immediately sends an event that is not in the world's schedule, such as the deletion of an organization by a caller. */
  announce(event: WorldEvent): void {
    if (this.settings.url === undefined) return
    this.announced.push(event)
    this.pump()
  }

  /** Aborts requests in flight and sends nothing more. */
  close(): void {
    clearInterval(this.timer)
    this.closing.abort()
  }

  private pump(): void {
    while (!this.closing.signal.aborted && this.underWay < CONCURRENCY) {
      const next = this.announced.shift() ?? this.take()
      if (next === undefined) return
      if (!this.isSent(next)) continue
      this.underWay++
      void this.post(next).finally(() => {
        this.underWay--
        this.pump()
      })
    }
  }

  /** Takes the next event of the world that is due; undefined if there is none. */
  private take(): WorldEvent | undefined {
    const next = this.due.next()
    if (!next.done) return next.value
    const nowMs = this.world.clock.now()
    this.due = this.world.events(this.reachedMs, nowMs)[Symbol.iterator]()
    this.reachedMs = nowMs
    return this.due.next().value
  }

  /** A deleted agent sends only the event of its deletion. */
  private isSent({ agentId, type }: WorldEvent): boolean {
    return agentId === undefined || type === 'agent_deleted' || !this.world.isGone(agentId)
  }

  /** Posts an event once, whatever the answer. */
  private async post({ payload }: WorldEvent): Promise<void> {
    const { url, secret = DEFAULT_WEBHOOK_SECRET } = this.settings
    const headers = { 'content-type': 'application/json; charset=utf-8', 'user-agent': 'convohouse-sandbox' }
    const body = JSON.stringify({ ...payload, workspaceSecret: secret })
    const signal = AbortSignal.any([this.closing.signal, AbortSignal.timeout(TIMEOUT_MS)])
    try {
      const answer = await fetch(url!, { method: 'POST', headers, body, redirect: 'manual', signal })
      await answer.arrayBuffer()
    } catch {
      // The vendor neither reports nor repeats a failed delivery.
    }
  }
}
