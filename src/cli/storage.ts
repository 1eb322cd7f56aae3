// Where the warehouse lies, for commands that can do without a workspace.
import { availableParallelism } from 'node:os'
import { type Config, DEFAULT_MEMORY_LIMITS, readConfig, readHome } from '../config.ts'
import { isCode } from '../core/errors.ts'

export type Storage = Pick<Config, 'home' | 'memoryLimit' | 'replayMemoryLimit' | 'threads'>

/** The configuration, or null where there is none. @throws CONFIG_INVALID; CONFIG_MISSING where `path` names one */
export function configIfAny(path: string | undefined): Config | null {
  try {
    return readConfig(path === undefined ? {} : { path })
  } catch (error) {
    if (path === undefined && isCode(error, 'CONFIG_MISSING')) return null
    throw error
  }
}

/** The configured storage, else the data folder alone with the defaults. */
export const storageOf = (path: string | undefined): Storage =>
  configIfAny(path) ?? { home: readHome(), ...DEFAULT_MEMORY_LIMITS, threads: availableParallelism() }
