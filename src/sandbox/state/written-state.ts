// What callers have written: created tools and variables, updated metrics and workspace, deleted crawler jobs and organizations.
// The state is the sum of its changes, in order. With a folder, they are also in a file.
import { SECOND } from '../../core/time.ts'
import type { AuditEntry } from '../world/agents/audit-log.ts'
import type { Metric } from '../world/agents/metrics.ts'
import type { Tool } from '../world/agents/tools.ts'
import type { Variable } from '../world/agents/variables.ts'
import { Journal, type WorldFacts } from './journal.ts'

/** The fields of a workspace that callers can change (section 4.6). */
export interface WorkspaceUpdates {
  workspaceName?: string | undefined
  workspaceEmails?: string[] | undefined
  automaticBilling?: boolean | undefined
  marketplaceProfile?:
    | {
        username?: string | undefined
        description?: string | undefined
        email?: string | undefined
        photoURL?: string | undefined
      }
    | undefined
}

/** A field of an agent's resource before and after the change, as the audit log has it. */
export type Difference = Pick<AuditEntry, 'field' | 'oldValue' | 'newValue'>

interface AgentChange {
  agentId: string
  differences: Difference[]
}

type Written =
  | ({ type: 'tool'; tool: Tool } & AgentChange)
  | ({ type: 'variable'; variable: Variable } & AgentChange)
  | ({ type: 'metric'; metric: Metric } & AgentChange)
  | { type: 'workspace'; updates: WorkspaceUpdates }
  | { type: 'deleted-job'; jobId: string }
  | { type: 'deleted-organization'; organizationId: string }

/** `ms`: when, by the sandbox's clock. */
export type Change = Written & { ms: number }

interface WrittenAgent {
  tools: Tool[]
  variables: Variable[]
  /** By id; they replace the generated ones. */
  metrics: Map<string, Metric>
  /** In order. */
  entries: AuditEntry[]
  changedMs: number
}

export class WrittenState {
  private readonly journal: Journal<Change> | undefined
  private readonly agents = new Map<string, WrittenAgent>()
  private readonly deletedJobs = new Set<string>()
  /** When the world was first started: with a folder, maybe in an earlier process. */
  readonly startMs: number
  /** When organizations were deleted, by id. */
  readonly deletedOrganizations = new Map<string, number>()
  private updates: WorkspaceUpdates = {}
  private changes = 0
  /** Whom audit entries name. */
  private readonly actor: string

  /** @throws ConvohouseError CONFIG_INVALID if the folder cannot be used. */
  constructor({ data, seed, workspaceId, startMs }: WorldFacts & { data: string | undefined }) {
    this.actor = workspaceId
    this.journal = data === undefined ? undefined : new Journal(data, { seed, workspaceId, startMs })
    this.startMs = this.journal?.world.startMs ?? startMs
    for (const change of this.journal?.read ?? []) this.apply(change)
  }

  /** Number of changes so far: ids of created things depend on it. */
  get size(): number {
    return this.changes
  }

  get workspace(): WorkspaceUpdates {
    return this.updates
  }

  /** What was written of that agent. */
  agent(agentId: string): WrittenAgent {
    return this.agents.get(agentId) ?? { tools: [], variables: [], metrics: new Map(), entries: [], changedMs: 0 }
  }

  isJobDeleted(jobId: string): boolean {
    return this.deletedJobs.has(jobId)
  }

  /** Records a change, in the file first. */
  record(change: Change): void {
    this.journal?.append(change)
    this.apply(change)
  }

  private apply(change: Change): void {
    this.changes++
    switch (change.type) {
      case 'workspace':
        this.updates = merged(this.updates, change.updates)
        return
      case 'deleted-job':
        this.deletedJobs.add(change.jobId)
        return
      case 'deleted-organization':
        this.deletedOrganizations.set(change.organizationId, change.ms)
        return
      default:
        this.applyToAgent(change)
    }
  }

  private applyToAgent(change: Extract<Change, AgentChange>): void {
    const { agentId, ms } = change
    const agent = this.agent(agentId)
    this.agents.set(agentId, agent)
    if (change.type === 'tool') agent.tools.push(change.tool)
    else if (change.type === 'variable') agent.variables.push(change.variable)
    else agent.metrics.set(change.metric.id, change.metric)
    const ts = Math.floor(ms / SECOND)
    const { actor } = this
    const entries = change.differences.map(difference => ({
      agentId,
      ...difference,
      source: 'user_update' as const,
      actor,
      ts,
    }))
    agent.entries.push(...entries)
    agent.changedMs = Math.max(agent.changedMs, ms)
  }
}

function merged(before: WorkspaceUpdates, updates: WorkspaceUpdates): WorkspaceUpdates {
  const { marketplaceProfile } = updates
  if (marketplaceProfile === undefined) return { ...before, ...updates }
  return { ...before, ...updates, marketplaceProfile: { ...before.marketplaceProfile, ...marketplaceProfile } }
}
