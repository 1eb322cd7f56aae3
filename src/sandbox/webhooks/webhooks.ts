// Sends the world's events to the configured address, by the sandbox's clock: each once, whatever the answer.
//
//   world, announcements ──▶ subscribed? ──▶ faults ──▶ dispatch (delayed, reordered, duplicated) ──▶ POST ──▶ log
//
// A payload is built when it is sent, with the state at the event's creation.

import { ConvohouseError } from '../../core/errors.ts'
import type { SandboxClock } from '../clock.ts'
import type { EventName, WorldEvent } from '../events/event-types.ts'
import type { Readings } from '../readings.ts'
import { Dispatch, type Dispatched, Poster } from './dispatch.ts'
import { bodyOf } from './event-body.ts'
import { type EventFate, EventFaults } from './event-faults.ts'
import { type EmittedEvent, EventLog } from './event-log.ts'
import { type WebhookSettings, webhookIssues } from './webhook-settings.ts'

interface WebhookWorld {
  clock: SandboxClock
  events(afterMs: number, untilMs: number): Iterator<WorldEvent>
  isGone(agentId: string): boolean
  readings: Readings
}

interface Settled {
  url: string | null
  secret: string
  types: EventName[] | null
  concurrency: number
  timeoutMs: number
}

/** The vendor's timeout (API document, section 6.1). */
const DEFAULTS: Settled = {
  url: null,
  secret: 'sandbox-webhook-secret',
  types: null,
  concurrency: 8,
  timeoutMs: 60_000,
}

/** Real milliseconds between two checks of the clock. */
const LOOK_MS = 50

export class Webhooks {
  readonly log = new EventLog()
  private readonly world: WebhookWorld
  private readonly dispatch: Dispatch
  private readonly poster = new Poster()
  private settings = DEFAULTS
  private faults = new EventFaults()
  private timer: NodeJS.Timeout | undefined
  private underWay = 0
  private idle: (() => void)[] = []
  private closed = false

  /** @throws ConvohouseError CONFIG_INVALID */
  constructor(world: WebhookWorld, given: WebhookSettings) {
    this.world = world
    const { events } = world
    this.dispatch = new Dispatch({ events, judge: event => this.judge(event) }, world.clock.now())
    this.set(given)
  }

  /** Validation issues of settings; empty if they are valid. */
  issuesOf(given: unknown): string[] {
    return webhookIssues(given)
  }

  /**
   * Changes the given settings. A first address receives the events from now on.
   * @throws ConvohouseError CONFIG_INVALID
   */
  set({ faults, test, ...given }: WebhookSettings): void {
    const issues = webhookIssues({ faults, test, ...given })
    if (issues.length > 0) {
      throw new ConvohouseError('CONFIG_INVALID', {
        what: `The sandbox's webhooks cannot be read: ${issues.join('; ')}`,
        hint: 'Give an address, and what else docs/sandbox.md lists.',
        facts: { option: 'webhooks' },
      })
    }
    const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    const silent = this.settings.url === null
    this.settings = { ...this.settings, ...defined }
    if (faults !== undefined) this.faults = new EventFaults(faults)
    if (silent || this.settings.url === null) this.dispatch.skipTo(this.world.clock.now())
    this.look()
    if (test) this.announce('webhook_test', { message: 'This is a test of your webhook.' })
  }

  /** Settings without the secret, and counts of events so far. */
  report() {
    const { secret: _, ...settings } = this.settings
    return {
      settings: { ...settings, faults: this.faults.settings },
      ...this.faults.report(),
      total: this.log.total,
      outcomes: this.log.outcomes(),
      underWay: this.underWay,
      waiting: this.dispatch.waiting,
    }
  }

  /** Sends an event from outside the world's schedule, such as that of a write, at the current time. */
  announce(type: EventName, fields: Record<string, unknown>, agentId?: string): void {
    if (this.settings.url === null) return
    const createdMs = this.world.clock.now()
    const payload = { event: type, createdAt: createdMs, ...fields }
    this.dispatch.announce({ type, createdMs, agentId, convoId: undefined, payload })
    this.pump()
  }

  /** Resolves when all due events have been sent and answered. Delayed ones keep waiting. */
  async settled(): Promise<void> {
    this.pump()
    if (this.underWay > 0) await new Promise<void>(resolve => this.idle.push(resolve))
  }

  /** Aborts requests in flight and sends nothing more. */
  async close(): Promise<void> {
    this.closed = true
    clearInterval(this.timer)
    await this.poster.close()
  }

  private look(): void {
    clearInterval(this.timer)
    this.timer = this.settings.url === null ? undefined : setInterval(() => this.pump(), LOOK_MS).unref()
  }

  private judge(event: WorldEvent): Dispatched | undefined {
    const { types } = this.settings
    if (types !== null && !types.includes(event.type)) return undefined
    const isOfGone = event.agentId !== undefined && this.world.isGone(event.agentId)
    if (isOfGone && event.type !== 'agent_deleted') return undefined
    const fate = this.faults.fateOf(event)
    const entry = this.log.add(event, namesOf(fate))
    if (fate.content?.name !== 'dropped') return { event, fate, entry }
    entry.outcome = 'dropped'
    return undefined
  }

  private pump(): void {
    while (!this.closed && this.settings.url !== null && this.underWay < this.settings.concurrency) {
      const next = this.dispatch.take(this.world.clock.now())
      if (next === undefined) break
      this.underWay++
      void this.send(next).finally(() => {
        this.underWay--
        this.pump()
      })
    }
    if (this.underWay === 0) for (const resolve of this.idle.splice(0)) resolve()
  }

  private async send({ event, fate, entry }: Dispatched): Promise<void> {
    const { url, secret, timeoutMs } = this.settings
    const body = bodyOf(event, fate, { secret, readings: this.world.readings })
    const attempt = { atMs: this.world.clock.now(), bytes: Buffer.byteLength(body), status: 0 }
    entry.attempts.push(attempt)
    if (entry.outcome === 'waiting') entry.outcome = 'sending'
    attempt.status = await this.poster.post({ url: url!, body, timeoutMs })
    conclude(entry, attempt.status)
  }
}

const namesOf = (fate: EventFate) => Object.values(fate).map(({ name }) => name)

/** One delivered copy is enough. */
function conclude(entry: EmittedEvent, status: number): void {
  if (entry.outcome === 'delivered') return
  if (status === 200) entry.outcome = 'delivered'
  else entry.outcome = status === 0 ? 'failed' : 'refused'
}
