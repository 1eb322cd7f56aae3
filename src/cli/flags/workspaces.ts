// Selects the workspaces that a command works on.
import type { Config, WorkspaceConfig } from '../../config.ts'
import { ConvohouseError } from '../../core/errors.ts'
import type { SyncFlags } from './sync-flags.ts'
import { invalidFlag } from './values.ts'

/** The named workspace, or all configured ones. @throws WORKSPACE_UNKNOWN */
export function chooseWorkspaces(config: Config, id: string | undefined): WorkspaceConfig[] {
  if (id === undefined) return config.workspaces
  const chosen = config.workspaces.find(workspace => workspace.id === id)
  if (chosen) return [chosen]
  throw new ConvohouseError('WORKSPACE_UNKNOWN', {
    what: `No workspace ${JSON.stringify(id)} is configured in ${config.source}.`,
    hint: `Choose one of: ${config.workspaces.map(workspace => workspace.id).join(', ')}.`,
  })
}

/** The named workspace, or all; `all` has those that are configured or in the warehouse. @throws WORKSPACE_UNKNOWN */
export function chooseIds(all: readonly string[], named: string | undefined): readonly string[] {
  if (named === undefined) return all
  if (all.includes(named)) return [named]
  throw new ConvohouseError('WORKSPACE_UNKNOWN', {
    what: `Workspace ${JSON.stringify(named)} is neither configured nor in the warehouse.`,
    hint: all.length > 0 ? `Choose one of: ${all.join(', ')}.` : 'Configure it with `convohouse init`.',
  })
}

/** Like `chooseWorkspaces`. @throws FLAG_INVALID for --agent or --ids without a single workspace */
export function workspacesFor(config: Config, flags: SyncFlags): WorkspaceConfig[] {
  const chosen = chooseWorkspaces(config, flags.workspace)
  const flag = flags.agent ? '--agent' : flags.ids ? '--ids' : null
  if (flag === null || chosen.length === 1) return chosen
  throw invalidFlag(
    `${flag} needs --workspace: ${chosen.length} workspaces are configured.`,
    `Add --workspace with one of: ${chosen.map(workspace => workspace.id).join(', ')}.`,
  )
}
