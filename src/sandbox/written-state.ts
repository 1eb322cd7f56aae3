// Holds the writes of callers: created tools and variables, updated metrics and workspace, deleted crawler jobs and
// organizations. It ends with the process.
import { SECOND } from '../core/time.ts'
import { type AuditEntry, text } from './world/agents/audit-log.ts'
import type { Metric, Tool, Variable } from './world/agents/resources.ts'

interface WrittenAgent {
  tools: Tool[]
  variables: Variable[]
  /** Updated metrics by id, which replace the generated ones. */
  metrics: Map<string, Metric>
  /** Entries in order. */
  entries: AuditEntry[]
  changedMs: number
}

/** A resource of an agent before and after a write; `path` is that of the audit log. */
export interface Write {
  path: string
  before: object | undefined
  after: object
}

export class WrittenState {
  /** Updates of the workspace, except those of its profile: no answer shows them (section 2.6). */
  workspace: { workspaceName?: string | undefined; workspaceEmails?: string[] | undefined } = {}
  readonly deletedJobs = new Set<string>()
  /** Times when organizations were deleted, by id. */
  readonly deletedOrganizations = new Map<string, number>()
  private readonly agents = new Map<string, WrittenAgent>()
  private created = 0
  /** The user that audit entries name. */
  private readonly actor: string

  constructor(actor: string) {
    this.actor = actor
  }

  /** Returns the next number for the id of a created thing. */
  nextNumber(): number {
    return this.created++
  }

  agent(agentId: string): WrittenAgent {
    const agent = this.agents.get(agentId) ?? {
      tools: [],
      variables: [],
      metrics: new Map(),
      entries: [],
      changedMs: 0,
    }
    this.agents.set(agentId, agent)
    return agent
  }

  /** Adds an entry to the agent's audit log for each field that the write changes; returns false if it changes nothing. */
  audit(agentId: string, write: Write, nowMs: number): boolean {
    const agent = this.agent(agentId)
    const own = { agentId, source: 'user_update' as const, actor: this.actor, ts: Math.floor(nowMs / SECOND) }
    const entries = differences(write).map(difference => ({ ...own, ...difference }))
    agent.entries.push(...entries)
    if (entries.length > 0) agent.changedMs = nowMs
    return entries.length > 0
  }
}

/** Ids and times of changes, which are no audited fields. */
const NO_FIELDS = ['id', 'agentId', 'userId', 'createdAt', 'updatedAt', 'createdAtUNIX', 'updatedAtUNIX']

function differences({ path, before = {}, after }: Write) {
  const old = before as Record<string, unknown>
  return Object.entries(after).flatMap(([name, value]) => {
    const difference = { field: `${path}.${name}`, oldValue: text(old[name]), newValue: text(value) }
    return NO_FIELDS.includes(name) || difference.oldValue === difference.newValue ? [] : [difference]
  })
}
