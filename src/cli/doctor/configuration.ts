// The configuration: where it was found, and what it names.
import { type Config, readConfig, type WorkspaceConfig } from '../../config.ts'
import { isCode } from '../../core/errors.ts'
import { counted } from '../../core/words.ts'
import { chooseWorkspaces } from '../flags/workspaces.ts'
import { type Storage, storageOf } from '../query/storage.ts'
import { type Finding, fail, ok } from './findings.ts'

export interface DoctorFlags {
  config?: string
  workspace?: string
  offline?: boolean
  json?: boolean
}

export interface Configured {
  findings: Finding[]
  /** Those that are to be looked at; none where there is no configuration. */
  workspaces: WorkspaceConfig[]
  /** Every one that is configured; null where that is not known. */
  all: string[] | null
  /** Null where there is none that can be read. */
  config: Config | null
  /** Null where a configuration that cannot be read may name another data folder than the one that goes without saying. */
  storage: Storage | null
}

const SUBJECT = { check: 'configuration' }

/** Without a configuration there still is a data folder. */
function storageWithout(error: unknown, path: string | undefined): Storage | null {
  return isCode(error, 'CONFIG_MISSING') && path === undefined ? storageOf(undefined) : null
}

export function configuration(flags: DoctorFlags): Configured {
  let config: Config
  try {
    config = readConfig(flags.config === undefined ? {} : { path: flags.config })
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
