// Builds the request of a sync from flags and configuration.
import type { SyncRequest } from '../../../workflows/steps.ts'
import type { App } from '../../app.ts'
import type { WorkspaceConfig } from '../../config.ts'
import { parseMoment } from '../../core/time.ts'
import { agentsOfConversations } from '../../warehouse/planning/planner-queries.ts'
import { idsByAgent, type LookUp, type NamedConversation } from './ids-file.ts'
import type { SyncFlags } from './sync-flags.ts'
import { invalidFlag } from './values.ts'

type AskedSync = Omit<SyncRequest, 'run' | 'workspaceId'>

/** Returns the start of the range: the flag's or the configured one. @throws FLAG_INVALID if `since` is not before --until */
function sinceOf(flags: SyncFlags, workspace: WorkspaceConfig, nowMs: number): number | null {
  if (flags.since !== undefined) return flags.since
  const configured = workspace.since === null ? undefined : parseMoment(workspace.since, nowMs)
  if (configured !== undefined && flags.until !== undefined && configured >= flags.until)
    throw invalidFlag(
      `--until lies before the configured since of workspace ${workspace.id}.`,
      'Give a later --until, or an earlier --since.',
    )
  return configured ?? null
}

/**
 * Returns the request for one workspace.
 * @throws FLAG_INVALID for unknown ids, and for ids with several --agent
 */
export async function syncRequest(options: {
  flags: SyncFlags
  workspace: WorkspaceConfig
  /** Conversations listed by `--ids`; null without it. */
  named: readonly NamedConversation[] | null
  lookUp: LookUp
  nowMs: number
}): Promise<AskedSync> {
  const { flags, workspace, named, lookUp, nowMs } = options
  const agents = flags.agent ?? []
  if (named && agents.length > 1)
    throw invalidFlag(`--ids allows one --agent at most.`, 'Write the lines as agent,id instead.')
  const limits = {
    origin: flags.watch === undefined ? ('sync' as const) : ('watch' as const),
    maxRequests: flags.maxRequests ?? null,
    maxSessions: flags.maxSessions ?? null,
    allowedPacks: flags.allowOveragePacks ?? 0,
    wait: flags.wait,
    unattended: flags.watch !== undefined,
    ...(flags.dropFull && { dropFull: true }),
    ...(flags.resources && { resources: flags.resources }),
  }
  if (named) {
    const ids = await idsByAgent({ named, agents, lookUp })
    return { ...limits, agents: [], sinceMs: null, untilMs: null, mode: 'selected', ids, refresh: null }
  }
  return {
    ...limits,
    agents,
    sinceMs: sinceOf(flags, workspace, nowMs),
    untilMs: flags.until ?? null,
    mode: flags.full ? 'full' : 'incremental',
    ids: [],
    refresh: flags.refresh === undefined ? null : { ageMs: flags.refresh },
  }
}

export const lookUpIn =
  ({ warehouse }: App, workspaceId: string): LookUp =>
  ids =>
    agentsOfConversations(warehouse.writer, workspaceId, ids)
