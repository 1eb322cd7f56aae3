// Sends the world's events to the configured address, by the sandbox's clock. Each event is sent once, regardless of the answer.
//
//   world, announcements ──▶ faults ──▶ dispatch (delayed, duplicated) ──▶ POST ──▶ count
//
// A payload is built when it is sent, with the state at the event's creation.

import type { SandboxClock } from '../clock.ts'
import type { WorldEvent } from '../events/event-types.ts'
import { workspaceEvent } from '../events/workspace-events.ts'
import { invalidOption } from '../rates.ts'
import { Dispatch, type Dispatched, Poster } from './dispatch.ts'
import { DEFAULT_WEBHOOK_SECRET, EventFaults, type WebhookSettings, webhookIssues } from './webhook-settings.ts'

interface WebhookWorld {
  clock: SandboxClock
  events(afterMs: number, untilMs: number): Iterator<WorldEvent>
  isGone(agentId: string): boolean
}

interface ResolvedSettings {
  url: string | null
  secret: string
}

const DEFAULTS: ResolvedSettings = { url: null, secret: DEFAULT_WEBHOOK_SECRET }

/** Maximum number of requests in flight. */
const CONCURRENCY = 8

/** `delivered`: answered with 200. `refused`: answered with another status. `failed`: no answer in time. `dropped`: never sent. */
type EventOutcome = 'delivered' | 'refused' | 'failed' | 'dropped'

/** Real milliseconds between two checks of the clock. */
const CHECK_EVERY_MS = 50

export class Webhooks {
  private readonly world: WebhookWorld
  private readonly dispatch: Dispatch
  private readonly poster = new Poster()
  private settings = DEFAULTS
  private faults = new EventFaults()
  private timer: NodeJS.Timeout | undefined
  private total = 0
  private readonly outcomes: Partial<Record<EventOutcome, number>> = {}
  private underWay = 0
  private idle: (() => void)[] = []
  private closed = false

  /** @throws ConvohouseError CONFIG_INVALID */
  constructor(world: WebhookWorld, given: WebhookSettings) {
    this.world = world
    const { events } = world
    this.dispatch = new Dispatch({ events, admit: event => this.admit(event) }, world.clock.now())
    this.set(given)
  }

  /** Returns the validation issues of settings; empty if they are valid. */
  issuesOf(given: unknown): string[] {
    return webhookIssues(given)
  }

  /**
   * Changes the given settings. When an address is set for the first time, it receives events from now on.
   * @throws ConvohouseError CONFIG_INVALID
   */
  set({ faults, test, ...given }: WebhookSettings): void {
    const issues = webhookIssues({ faults, test, ...given })
    if (issues.length > 0) {
      const hint = 'Give an address and the settings that docs/sandbox.md lists.'
      throw invalidOption('webhooks', `cannot be read: ${issues.join('; ')}`, hint)
    }
    const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    const silent = this.settings.url === null
    this.settings = { ...this.settings, ...defined }
    if (faults !== undefined) this.faults = new EventFaults(faults)
    if (silent || this.settings.url === null) this.dispatch.skipTo(this.world.clock.now())
    this.restartTimer()
    if (test) this.announce(workspaceEvent('webhook_test', this.world.clock.now(), { message: 'This is a test.' }))
  }

  /** Returns the settings without the secret, and counts of events so far. */
  report() {
    const { secret: _, ...settings } = this.settings
    return {
      settings: { ...settings, faults: this.faults.settings },
      ...this.faults.report(),
      total: this.total,
      outcomes: { ...this.outcomes },
      underWay: this.underWay,
      waiting: this.dispatch.waiting,
    }
  }

  /** Immediately sends an event that is not in the world's schedule, such as the deletion of an organization by a caller. */
  announce(event: WorldEvent): void {
    if (this.settings.url === null) return
    this.dispatch.announce(event)
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

  private restartTimer(): void {
    clearInterval(this.timer)
    this.timer = this.settings.url === null ? undefined : setInterval(() => this.pump(), CHECK_EVERY_MS).unref()
  }

  private admit(event: WorldEvent): Dispatched | undefined {
    const isOfGone = event.agentId !== undefined && this.world.isGone(event.agentId)
    if (isOfGone && event.type !== 'agent_deleted') return undefined
    const plan = this.faults.next()
    this.total++
    if (plan.dropped === undefined) return { event, plan }
    this.count('dropped')
    return undefined
  }

  private pump(): void {
    while (!this.closed && this.settings.url !== null && this.underWay < CONCURRENCY) {
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

  private async send({ event }: Dispatched): Promise<void> {
    const { url, secret } = this.settings
    const status = await this.poster.post(url!, JSON.stringify({ ...event.payload, workspaceSecret: secret }))
    if (status === 200) this.count('delivered')
    else this.count(status === 0 ? 'failed' : 'refused')
  }

  private count(outcome: EventOutcome): void {
    this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + 1
  }
}
