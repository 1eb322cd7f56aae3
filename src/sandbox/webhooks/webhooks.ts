// Sends what happens in the world to the configured address, by the sandbox's clock: each event once, whatever is answered.
//
//   world, announcements ──▶ subscribed? ──▶ faults ──▶ dispatch (late, behind others, again) ──▶ POST ──▶ log
//
// Payloads are made when they go out, as things were when the event was created; so one that is behind tells no less truth.

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

/** The vendor's own timeout (API document, section 6.1). */
const DEFAULTS: Settled = {
  url: null,
  secret: 'sandbox-webhook-secret',
  types: null,
  concurrency: 8,
  timeoutMs: 60_000,
}

/** Real milliseconds between two looks at the clock. */
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

  /** What keeps settings from being used; empty where nothing does. */
  issuesOf(given: unknown): string[] {
    return webhookIssues(given)
  }

  /**
   * Changes what is given. Where an address is set and there was none, what happens from now on is sent.
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
    const told = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    const silent = this.settings.url === null
    this.settings = { ...this.settings, ...told }
    if (faults !== undefined) this.faults = new EventFaults(faults)
    if (silent || this.settings.url === null) this.dispatch.skipTo(this.world.clock.now())
    this.look()
    if (test) this.announce('webhook_test', { message: 'This is a test of your webhook.' })
  }

  /** Settings without the secret, and what was sent so far. */
  told() {
    const { secret: _, ...settings } = this.settings
    return {
      settings: { ...settings, faults: this.faults.settings },
      ...this.faults.told(),
      total: this.log.total,
      outcomes: this.log.outcomes(),
      underWay: this.underWay,
      waiting: this.dispatch.waiting,
    }
  }

  /** Sends an event that is no part of the world's own course, such as one of a write; by the clock it happens now. */
  announce(type: EventName, fields: Record<string, unknown>, agentId?: string): void {
    if (this.settings.url === null) return
    const createdMs = this.world.clock.now()
    const payload = { event: type, createdAt: createdMs, ...fields }
    this.dispatch.announce({ type, createdMs, agentId, convoId: undefined, payload })
    this.pump()
  }

  /** Resolves when all that is due by the clock has been sent and answered. What waits for a later time still waits. */
  async settled(): Promise<void> {
    this.pump()
    if (this.underWay > 0) await new Promise<void>(resolve => this.idle.push(resolve))
  }

  /** Gives up what is under way, and sends nothing more. */
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

/** Of several copies, one that was taken is enough. */
function conclude(entry: EmittedEvent, status: number): void {
  if (entry.outcome === 'delivered') return
  if (status === 200) entry.outcome = 'delivered'
  else entry.outcome = status === 0 ? 'failed' : 'refused'
}
