// Conditions of the workspace and its mirror: paid or not, deleted agents, mirror lag, clock offset. Settings can also trigger
// one-time changes: a new billing period, a reset of the hourly count.

import type { SandboxClock } from '../clock.ts'
import type { ResolvedOptions } from '../options.ts'
import { invalidOption } from '../rates.ts'
import { type ConditionSettings, shapeIssues } from './condition-settings.ts'
import type { Quota } from './quota.ts'
import type { RateLimit } from './rate-limit.ts'

interface ReportedConditions {
  paid: boolean
  mirrorLagMs: number
  clockOffsetMs: number
  gone: string[]
  failedProviders: string[]
}

interface Affected {
  options: ResolvedOptions
  agentIds: readonly string[]
  clock: SandboxClock
  hour: RateLimit
  quota: Quota
  /** Called when an agent is deleted or comes back. */
  onAgent(change: 'created' | 'deleted', agentId: string): void
}

export class Conditions {
  private readonly affected: Affected
  private lagMs: number
  /** The time of the mirror's data when its lag was last changed; the mirror never returns to an earlier time. */
  private reachedMs = Number.NEGATIVE_INFINITY
  private goneAgents: ReadonlySet<string> = new Set()
  private hasPaid: boolean
  private offsetMs: number
  /** Voice providers that fail. */
  failedProviders: readonly string[] = []

  constructor(affected: Affected) {
    this.affected = affected
    this.lagMs = affected.options.mirrorLagMs
    this.hasPaid = affected.options.paid
    this.offsetMs = affected.options.clockOffsetMs
  }

  get paid(): boolean {
    return this.hasPaid
  }

  get clockOffsetMs(): number {
    return this.offsetMs
  }

  isGone(agentId: string): boolean {
    return this.goneAgents.has(agentId)
  }

  /** Time of the data that the mirror holds. */
  dataMs(nowMs: number): number {
    return Math.max(nowMs - this.lagMs, Math.min(this.reachedMs, nowMs))
  }

  report(): ReportedConditions {
    return {
      paid: this.paid,
      mirrorLagMs: this.lagMs,
      clockOffsetMs: this.offsetMs,
      gone: [...this.goneAgents],
      failedProviders: [...this.failedProviders],
    }
  }

  /** Validation issues of settings; empty if they are valid. */
  issuesOf(given: unknown): string[] {
    const issues = shapeIssues(given)
    if (issues.length > 0) return issues
    const unknown = ((given as ConditionSettings).gone ?? []).filter(agent => this.agentOf(agent) === undefined)
    return unknown.map(agent => `gone: the workspace has no agent ${JSON.stringify(agent)}`)
  }

  /** @throws ConvohouseError CONFIG_INVALID */
  set(given: ConditionSettings): void {
    const issues = this.issuesOf(given)
    if (issues.length > 0)
      throw invalidOption('conditions', `cannot be read: ${issues.join('; ')}`, 'docs/sandbox.md lists the conditions.')
    this.trigger(given)
    if (given.mirrorLagMs !== undefined) this.setLag(given.mirrorLagMs)
    this.hasPaid = given.paid ?? this.hasPaid
    this.offsetMs = given.clockOffsetMs ?? this.offsetMs
    this.failedProviders = given.failedProviders ?? this.failedProviders
    if (given.gone) this.remove(new Set(given.gone.map(agent => this.agentOf(agent)!)))
  }

  private trigger({ turnPeriod, forgetHour, othersRequests }: ConditionSettings): void {
    const { clock, hour, quota } = this.affected
    const nowMs = clock.now()
    if (turnPeriod) quota.turn(nowMs)
    if (forgetHour) hour.restart()
    if (othersRequests) hour.take(othersRequests, nowMs)
  }

  private remove(away: ReadonlySet<string>): void {
    const { onAgent } = this.affected
    const before = this.goneAgents
    this.goneAgents = away
    for (const agentId of away) if (!before.has(agentId)) onAgent('deleted', agentId)
    for (const agentId of before) if (!away.has(agentId)) onAgent('created', agentId)
  }

  private setLag(lagMs: number): void {
    this.reachedMs = this.dataMs(this.affected.clock.now())
    this.lagMs = lagMs
  }

  private agentOf(agent: string | number): string | undefined {
    const { agentIds } = this.affected
    return typeof agent === 'number' ? agentIds[agent - 1] : agentIds.find(id => id === agent)
  }
}
