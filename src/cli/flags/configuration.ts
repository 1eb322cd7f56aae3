// The configuration that a command uses, its storage, and the chosen workspaces.

import { availableParallelism } from 'node:os'
import {
  type Config,
  DEFAULT_MEMORY_LIMITS,
  readConfig,
  readHome,
  readHomeConfig,
  type WorkspaceConfig,
} from '../../config.ts'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import type { SyncFlags } from './sync-flags.ts'
import { invalidFlag } from './values.ts'

export type Storage = Pick<Config, 'home' | 'memoryLimit' | 'replayMemoryLimit' | 'threads'>

/** Reads the configuration that `--config` names, else the default one. @throws CONFIG_INVALID, CONFIG_MISSING */
export const configAt = (path: string | undefined): Config => readConfig(path === undefined ? {} : { path })

/** Returns the arguments that give another command of ours the same configuration. */
export const configArgs = (path: string | undefined): string[] => (path === undefined ? [] : ['--config', path])

/** Returns the configuration, or null if there is none. @throws CONFIG_INVALID; CONFIG_MISSING if `path` names a missing one */
export function configIfAny(path: string | undefined): Config | null {
  try {
    return configAt(path)
  } catch (error) {
    if (path === undefined && isCode(error, 'CONFIG_MISSING')) return null
    throw error
  }
}

/** Like `configAt`, for commands that need a data folder but no workspace. */
export const configOrHome = (path: string | undefined): Config =>
  configIfAny(path) ?? readHomeConfig() ?? configAt(path)

/** Returns the configured storage, else the default data folder and limits. */
export const storageOf = (path: string | undefined): Storage =>
  configIfAny(path) ?? { home: readHome(), ...DEFAULT_MEMORY_LIMITS, threads: availableParallelism() }

/** Returns the named workspace, or all configured ones. @throws WORKSPACE_UNKNOWN */
export function chooseWorkspaces(config: Config, id: string | undefined): WorkspaceConfig[] {
  if (id === undefined) return config.workspaces
  const chosen = config.workspaces.find(workspace => workspace.id === id)
  if (chosen) return [chosen]
  throw new ConvohouseError('WORKSPACE_UNKNOWN', {
    what: `No workspace ${JSON.stringify(id)} is configured in ${config.source}.`,
    hint: `Choose one of: ${config.workspaces.map(workspace => workspace.id).join(', ')}.`,
  })
}

/** Returns the named workspace, or all. `all` lists those that are configured or in the warehouse. @throws WORKSPACE_UNKNOWN */
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
