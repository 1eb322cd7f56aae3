// Checks the configuration: its file, workspaces and data folder.
import type { Config, WorkspaceConfig } from '../../config.ts'
import { isCode } from '../../core/errors.ts'
import { counted } from '../../core/words.ts'
import { chooseWorkspaces, configAt, type Storage, storageOf } from '../flags/configuration.ts'

import { type Finding, fail, ok } from './findings.ts'

export interface DoctorFlags {
  config?: string
  workspace?: string
  offline?: boolean
  json?: boolean
}

export interface Configured {
  findings: Finding[]
  /** The workspaces to check; none without a configuration. */
  workspaces: WorkspaceConfig[]
  /** All configured workspaces; null if unknown. */
  all: string[] | null
  /** Null if the configuration cannot be read. */
  config: Config | null
  /** Null if the configuration cannot be read: it may name another data folder than the default. */
  storage: Storage | null
}

const SUBJECT = { check: 'configuration' }

/** The storage to check if the configuration cannot be read: the default data folder if there is no configuration, else unknown. */
function storageWithout(error: unknown, path: string | undefined): Storage | null {
  return isCode(error, 'CONFIG_MISSING') && path === undefined ? storageOf(undefined) : null
}

export function configuration(flags: DoctorFlags): Configured {
  let config: Config
  try {
    config = configAt(flags.config)
  } catch (error) {
    return {
      findings: [fail(SUBJECT, error)],
      workspaces: [],
      all: null,
      config: null,
      storage: storageWithout(error, flags.config),
    }
  }
  const all = config.workspaces.map(({ id }) => id)
  try {
    const workspaces = chooseWorkspaces(config, flags.workspace)
    const found = `${config.source}: ${counted(all.length, 'workspace')} (${all.join(', ')}), data folder ${config.home}`
    return { findings: [ok(SUBJECT, found)], workspaces, all, config, storage: config }
  } catch (error) {
    return { findings: [fail(SUBJECT, error)], workspaces: [], all, config, storage: config }
  }
}
