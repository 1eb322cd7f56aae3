// Conditions of the workspace and its mirror: paid or not, deleted agents, mirror lag, failing voice providers.
// Settings come from options, a fault script, or the control endpoints.

import { z } from 'zod'
import { DAY } from '../../core/time.ts'
import type { SandboxClock } from '../clock.ts'
import { invalidOption, issueTexts } from '../rates.ts'
import { PROVIDERS } from '../world/voices.ts'
import type { Quota } from './limits.ts'

export const Settings = z.strictObject({
  /** False to refuse the export with 403. */
  paid: z.boolean().optional(),
  /** Lag of the mirror. A longer one stops the mirror until it is reached; with a shorter one it catches up at once. */
  mirrorLagMs: z
    .number()
    .int()
    .min(0)
    .max(366 * DAY)
    .optional(),
  /** Deleted agents, by ID or number from 1: not listed, and their export is a 404. All others exist. */
  gone: z.array(z.union([z.string(), z.number().int().min(1)])).optional(),
  /** Voice providers that fail, by name; all others answer. */
  failedProviders: z.array(z.enum(PROVIDERS)).optional(),
  /** Starts a new billing period now. */
  turnPeriod: z.literal(true).optional(),
})

/** Changes of settings. Omitted settings stay unchanged. */
export type ConditionSettings = z.infer<typeof Settings>

interface Affected {
  options: { mirrorLagMs: number; paid: boolean }
  agentIds: readonly string[]
  clock: SandboxClock
  quota: Quota
  /** Called when an agent is deleted or comes back. */
  onAgent(change: 'created' | 'deleted', agentId: string): void
}

export class Conditions {
  private readonly affected: Affected
  private lagMs: number
  /** The time of the mirror's data when its lag was last changed; the mirror never returns to an earlier time. */
  private reachedMs = Number.NEGATIVE_INFINITY
  private gone: ReadonlySet<string> = new Set()
  paid: boolean
  failedProviders: readonly string[] = []

  constructor(affected: Affected) {
    this.affected = affected
    this.lagMs = affected.options.mirrorLagMs
    this.paid = affected.options.paid
  }

  isGone(agentId: string): boolean {
    return this.gone.has(agentId)
  }

  /** Returns the time of the mirror's data. */
  dataMs(nowMs: number): number {
    return Math.max(nowMs - this.lagMs, Math.min(this.reachedMs, nowMs))
  }

  report() {
    const { paid, lagMs: mirrorLagMs, failedProviders } = this
    return { paid, mirrorLagMs, gone: [...this.gone], failedProviders }
  }

  /** Returns the validation issues of settings; empty if they are valid. */
  issuesOf(given: unknown): string[] {
    const read = Settings.safeParse(given)
    if (!read.success) return issueTexts(read.error)
    const unknown = (read.data.gone ?? []).filter(agent => this.agentOf(agent) === undefined)
    return unknown.map(agent => `gone: the workspace has no agent ${JSON.stringify(agent)}`)
  }

  /** @throws ConvohouseError CONFIG_INVALID */
  set(given: ConditionSettings): void {
    const issues = this.issuesOf(given)
    if (issues.length > 0)
      throw invalidOption('conditions', `cannot be read: ${issues.join('; ')}`, 'docs/sandbox.md lists the conditions.')
    const { clock, quota } = this.affected
    if (given.turnPeriod) quota.turn(clock.now())
    if (given.mirrorLagMs !== undefined) {
      this.reachedMs = this.dataMs(clock.now())
      this.lagMs = given.mirrorLagMs
    }
    this.paid = given.paid ?? this.paid
    this.failedProviders = given.failedProviders ?? this.failedProviders
    if (given.gone) this.remove(new Set(given.gone.map(agent => this.agentOf(agent)!)))
  }

  private remove(gone: ReadonlySet<string>): void {
    const { onAgent } = this.affected
    const before = this.gone
    this.gone = gone
    for (const agentId of gone) if (!before.has(agentId)) onAgent('deleted', agentId)
    for (const agentId of before) if (!gone.has(agentId)) onAgent('created', agentId)
  }

  private agentOf(agent: string | number): string | undefined {
    const { agentIds } = this.affected
    return typeof agent === 'number' ? agentIds[agent - 1] : agentIds.find(id => id === agent)
  }
}
