// Errors of a lake as ours. DuckDB passes on a text only, in which a catalog's statement may follow: only its first line is kept.
import { catalogText } from '../../config/lake-target.ts'
import type { LakeTarget } from '../../config/targets.ts'
import { diskErrorCode, diskErrorText } from '../../core/disk.ts'
import { ConvohouseError, type ErrorCode, isCode } from '../../core/errors.ts'
import { isLocked, messageOf } from '../../warehouse/fault.ts'
import { postgresError } from '../postgres/postgres-error.ts'

/** Another process has opened the catalog's file. */
export const isHeld = (cause: unknown): boolean => isLocked(cause) || messageOf(cause).includes('database is locked')

interface Known {
  pattern: RegExp
  code: Extract<ErrorCode, 'TARGET_UNUSABLE' | 'TARGET_LOCKED' | 'TARGET_CHANGED'>
  what: (target: LakeTarget) => string
  hint: (target: LakeTarget) => string
}

const KNOWN: readonly Known[] = [
  {
    pattern: /Transaction conflict|conflicting changes|could not serialize access/,
    code: 'TARGET_CHANGED',
    what: target => `${catalogText(target)} was changed by something else during a publication, which was discarded.`,
    hint: () => 'Nothing to do: the next publication starts from the present state of the lake.',
  },
  {
    pattern: /does not match existing data path/,
    code: 'TARGET_UNUSABLE',
    what: target => `The lake of ${catalogText(target)} keeps its data elsewhere than in ${target.data}.`,
    hint: () =>
      'Set `data` as it was when the lake was created, or give the target another catalog: the next publication fills a new lake.',
  },
  {
    pattern: /catalog version|DuckLake version/i,
    code: 'TARGET_UNUSABLE',
    what: target => `${catalogText(target)} was written by another version of DuckLake.`,
    hint: () => 'Give the target another catalog: the next publication fills a new lake.',
  },
  {
    pattern: /^(Binder|Catalog) Error/,
    code: 'TARGET_UNUSABLE',
    what: target => `A table of ${catalogText(target)} is not as publications have written it.`,
    hint: ({ name }) =>
      `Somebody has changed its columns, or put something else in its place, which is to be removed. \`convohouse publish ${name} --refill\` then brings it up to date.`,
  },
  {
    pattern: /Cannot open file[\s\S]*No such file or directory/,
    code: 'TARGET_UNUSABLE',
    what: target => `Files that ${catalogText(target)} names are not in ${target.data}.`,
    hint: () =>
      'Restore the folder, or mount its disk. If it is gone for good, remove the catalog too: the next publication fills a new lake.',
  },
]

const HELD: Known = {
  pattern: /./,
  code: 'TARGET_LOCKED',
  what: target => `Another process holds ${catalogText(target)}.`,
  hint: () =>
    'The next publication tries again. A catalog in a DuckDB file can be opened by one process at a time, and one in SQLite is not written while a query reads it. For several readers with long queries, keep it in PostgreSQL.',
}

const DISK_HINT =
  'Free disk space, or make the folders of catalog and data writable. The lake is as it was before; the next publication tries again.'

/** Where DuckDB quotes a path or a statement. */
const QUOTED = /"[^"]*"|'[^']*'/g

/** PostgreSQL and libpq say so in their texts. */
const OF_SERVER = /(FATAL|ERROR): {2}|connection to server|server closed the connection|Postgres/

/** The error of a lake. The password of a server is removed by the caller, who knows it. */
export function lakeError(target: LakeTarget, cause: unknown): ConvohouseError {
  const { name, catalog } = target
  if (isCode(cause, 'HOME_UNUSABLE'))
    return new ConvohouseError('TARGET_UNUSABLE', { what: cause.message, hint: DISK_HINT, cause })
  if (cause instanceof ConvohouseError) return cause
  const text = messageOf(cause)
  const known = isHeld(cause) ? HELD : KNOWN.find(({ pattern }) => pattern.test(text))
  if (known) return new ConvohouseError(known.code, { what: known.what(target), hint: known.hint(target), cause })
  if (catalog.type === 'postgres' && OF_SERVER.test(text))
    return postgresError({ ...catalog, name }, { cause, password: null })
  const reason = diskErrorCode(cause) === null ? text.split('\n')[0]!.replace(QUOTED, '…') : diskErrorText(cause)
  return new ConvohouseError('TARGET_UNUSABLE', {
    what: `Cannot use the lake ${catalogText(target)}: ${reason}`,
    hint: DISK_HINT,
    cause,
  })
}
