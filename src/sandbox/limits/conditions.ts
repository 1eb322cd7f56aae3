// Conditions of the workspace and its mirror that a running sandbox can change: paid or not, deleted agents, failing
// voice providers.

import type { Provider } from '../world/voices.ts'

/** Changes of conditions. Omitted ones stay unchanged. */
export interface ConditionSettings {
  /** False to refuse the export with 403. */
  paid?: boolean
  /** Ids of deleted agents: not listed, and their export is a 404. All others exist. */
  gone?: readonly string[]
  /** Voice providers that fail, by name; all others answer. */
  failedProviders?: readonly Provider[]
}

/** Called when an agent is deleted or comes back. */
type OnAgent = (change: 'created' | 'deleted', agentId: string) => void

export class Conditions {
  private readonly onAgent: OnAgent
  private gone: ReadonlySet<string> = new Set()
  paid: boolean
  failedProviders: readonly Provider[] = []

  constructor({ paid, onAgent }: { paid: boolean; onAgent: OnAgent }) {
    this.paid = paid
    this.onAgent = onAgent
  }

  isGone(agentId: string): boolean {
    return this.gone.has(agentId)
  }

  set(given: ConditionSettings): void {
    this.paid = given.paid ?? this.paid
    this.failedProviders = given.failedProviders ?? this.failedProviders
    if (given.gone) this.remove(new Set(given.gone))
  }

  private remove(gone: ReadonlySet<string>): void {
    const before = this.gone
    this.gone = gone
    for (const agentId of gone) if (!before.has(agentId)) this.onAgent('deleted', agentId)
    for (const agentId of before) if (!gone.has(agentId)) this.onAgent('created', agentId)
  }
}
