// Paths at which DuckDB creates database files.
import { resolve } from 'node:path'
import { ConvohouseError } from '../core/errors.ts'

const DEFAULT_HOME = 'convohouse-data'

/**
 * DuckDB takes what follows a question mark for the parameters of an address, and looks for the log of such a file elsewhere.
 * @returns `path` @throws CONFIG_INVALID; `subject`: whose path it is, for people
 */
export function databasePath(path: string, subject: string): string {
  if (!path.includes('?')) return path
  throw new ConvohouseError('CONFIG_INVALID', {
    what: `${subject} is ${path}, and DuckDB cannot use a path with a question mark.`,
    hint: 'Choose a path without one.',
  })
}

/** A relative path is relative to `folder`. @throws CONFIG_INVALID for a path that DuckDB cannot use */
export const dataFolder = (folder: string, given: string | undefined): string =>
  databasePath(resolve(folder, given || DEFAULT_HOME), 'The data folder')
