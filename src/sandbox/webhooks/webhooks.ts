// Sends the world's events to the configured address, by the sandbox's clock. Each event is sent once, regardless of the answer.
//
//   world, announcements ──▶ dispatch ──▶ POST ──▶ count
//
// A payload is built when it is sent, with the state at the event's creation.

import type { SandboxClock } from '../clock.ts'
import type { WorldEvent } from '../events/event-types.ts'
import { workspaceEvent } from '../events/workspace-events.ts'
import { invalidOption } from '../rates.ts'
import { Dispatch, type EventsBetween, post } from './dispatch.ts'
import { DEFAULT_WEBHOOK_SECRET, type WebhookSettings, webhookIssues } from './webhook-settings.ts'

interface WebhookWorld {
  clock: SandboxClock
  events: EventsBetween
  isGone(agentId: string): boolean
}

interface ResolvedSettings {
  url: string | null
  secret: string
}

const DEFAULTS: ResolvedSettings = { url: null, secret: DEFAULT_WEBHOOK_SECRET }

/** Maximum number of requests in flight. */
const CONCURRENCY = 8

/** `delivered`: answered with 200. `refused`: answered with another status. `failed`: no answer in time. */
type EventOutcome = 'delivered' | 'refused' | 'failed'

/** Real milliseconds between two checks of the clock. */
const CHECK_EVERY_MS = 50

export class Webhooks {
  private readonly world: WebhookWorld
  private readonly dispatch: Dispatch
  private readonly closing = new AbortController()
  private settings = DEFAULTS
  private timer: NodeJS.Timeout | undefined
  private total = 0
  private readonly outcomes: Partial<Record<EventOutcome, number>> = {}
  private underWay = 0
  private idle: (() => void)[] = []

  /** @throws ConvohouseError CONFIG_INVALID */
  constructor(world: WebhookWorld, given: WebhookSettings) {
    this.world = world
    this.dispatch = new Dispatch(world.events, world.clock.now())
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
  set({ test, ...given }: WebhookSettings): void {
    const issues = webhookIssues({ test, ...given })
    if (issues.length > 0) {
      const hint = 'Give an address and the settings that docs/sandbox.md lists.'
      throw invalidOption('webhooks', `cannot be read: ${issues.join('; ')}`, hint)
    }
    const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    const silent = this.settings.url === null
    this.settings = { ...this.settings, ...defined }
    if (silent || this.settings.url === null) this.dispatch.skipTo(this.world.clock.now())
    this.restartTimer()
    if (test) this.announce(workspaceEvent('webhook_test', this.world.clock.now(), { message: 'This is a test.' }))
  }

  /** Returns the settings without the secret, and counts of events so far. */
  report() {
    const { secret: _, ...settings } = this.settings
    return { settings, total: this.total, outcomes: { ...this.outcomes }, underWay: this.underWay }
  }

  /** Immediately sends an event that is not in the world's schedule, such as the deletion of an organization by a caller. */
  announce(event: WorldEvent): void {
    if (this.settings.url === null) return
    this.dispatch.announce(event)
    this.pump()
  }

  /** Resolves when all due events have been sent and answered. */
  async settled(): Promise<void> {
    this.pump()
    if (this.underWay > 0) await new Promise<void>(resolve => this.idle.push(resolve))
  }

  /** Aborts requests in flight and sends nothing more. */
  close(): void {
    clearInterval(this.timer)
    this.closing.abort()
  }

  private restartTimer(): void {
    clearInterval(this.timer)
    this.timer = this.settings.url === null ? undefined : setInterval(() => this.pump(), CHECK_EVERY_MS).unref()
  }

  /** A deleted agent sends only the event of its deletion. */
  private isSent({ agentId, type }: WorldEvent): boolean {
    return agentId === undefined || type === 'agent_deleted' || !this.world.isGone(agentId)
  }

  private pump(): void {
    while (!this.closing.signal.aborted && this.settings.url !== null && this.underWay < CONCURRENCY) {
      const next = this.dispatch.take(this.world.clock.now())
      if (next === undefined) break
      if (!this.isSent(next)) continue
      this.total++
      this.underWay++
      void this.send(next).finally(() => {
        this.underWay--
        this.pump()
      })
    }
    if (this.underWay === 0) for (const resolve of this.idle.splice(0)) resolve()
  }

  private async send(event: WorldEvent): Promise<void> {
    const { url, secret } = this.settings
    const status = await post(url!, JSON.stringify({ ...event.payload, workspaceSecret: secret }), this.closing.signal)
    if (status === 200) this.count('delivered')
    else this.count(status === 0 ? 'failed' : 'refused')
  }

  private count(outcome: EventOutcome): void {
    this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + 1
  }
}
