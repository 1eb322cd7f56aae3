// Holds the writes of callers: created tools and variables, updated metrics and workspace, deleted crawler jobs and
// organizations. It ends with the process.
import type { Metric, Tool, Variable } from './world/agents/resources.ts'

interface WrittenAgent {
  tools: Tool[]
  variables: Variable[]
  /** Updated metrics by id, which replace the generated ones. */
  metrics: Map<string, Metric>
}

export class WrittenState {
  /** Updates of the workspace, except those of its profile: no answer shows them (section 2.6). */
  workspace: { workspaceName?: string | undefined; workspaceEmails?: string[] | undefined } = {}
  readonly deletedJobs = new Set<string>()
  /** Times when organizations were deleted, by id. */
  readonly deletedOrganizations = new Map<string, number>()
  private readonly agents = new Map<string, WrittenAgent>()
  private created = 0

  /** Returns the next number for the id of a created thing. */
  nextNumber(): number {
    return this.created++
  }

  agent(agentId: string): WrittenAgent {
    const agent = this.agents.get(agentId) ?? { tools: [], variables: [], metrics: new Map() }
    this.agents.set(agentId, agent)
    return agent
  }
}
