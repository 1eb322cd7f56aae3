// Errors of a lake as ours. DuckDB passes on a text, whose later lines may quote a statement: only its first line is kept.
import type { LakeTarget } from '../../../config/targets/ducklake.ts'
import { placeOf } from '../../../config/targets.ts'
import { diskErrorCode, diskErrorText } from '../../../core/disk.ts'
import { ConvohouseError, type ErrorCode, isCode } from '../../../core/errors.ts'
import { messageOf } from '../../../warehouse/fault.ts'
import { postgresError } from '../postgres/postgres-error.ts'

interface Known {
  pattern: RegExp
  code: Extract<ErrorCode, 'TARGET_UNUSABLE' | 'TARGET_CHANGED'>
  what: (target: LakeTarget) => string
  hint: string
}

const KNOWN: readonly Known[] = [
  {
    pattern: /Transaction conflict|conflicting changes|could not serialize access/,
    code: 'TARGET_CHANGED',
    what: target => `${placeOf(target)} was changed by something else during a publication, which was discarded.`,
    hint: 'Nothing to do: the next publication starts from the present state of the lake.',
  },
  {
    pattern: /does not match existing data path/,
    code: 'TARGET_UNUSABLE',
    what: target => `The lake of ${placeOf(target)} keeps its data elsewhere than in ${target.data}.`,
    hint: 'Set `data` as it was when the lake was created, or give the target another catalog: the next publication fills a new lake.',
  },
  {
    pattern: /catalog version|DuckLake version/i,
    code: 'TARGET_UNUSABLE',
    what: target => `${placeOf(target)} was written by another version of DuckLake.`,
    hint: 'Give the target another catalog: the next publication fills a new lake.',
  },
  {
    pattern: /Cannot open file[\s\S]*No such file or directory/,
    code: 'TARGET_UNUSABLE',
    what: target => `Files that ${placeOf(target)} names are not in ${target.data}.`,
    hint: 'Restore the folder, or mount its disk. If it is gone for good, drop the schema of the catalog too: the next publication fills a new lake.',
  },
]

const DISK_HINT =
  'Free disk space, or make the folder of the data writable. The lake is as it was before; the next publication tries again.'

/** Where DuckDB quotes a path or a statement. */
const QUOTED = /"[^"]*"|'[^']*'/g

/** PostgreSQL and libpq say so in their texts. */
const OF_SERVER = /(FATAL|ERROR): {2}|connection to server|server closed the connection|Postgres/

/** Returns the error of a lake. The caller removes the server's password, which it knows. */
export function lakeError(target: LakeTarget, cause: unknown): ConvohouseError {
  if (isCode(cause, 'HOME_UNUSABLE'))
    return new ConvohouseError('TARGET_UNUSABLE', { what: cause.message, hint: DISK_HINT, cause })
  if (cause instanceof ConvohouseError) return cause
  const text = messageOf(cause)
  const known = KNOWN.find(({ pattern }) => pattern.test(text))
  if (known) return new ConvohouseError(known.code, { what: known.what(target), hint: known.hint, cause })
  if (OF_SERVER.test(text)) return postgresError({ ...target.catalog, name: target.name }, { cause, password: null })
  const reason = diskErrorCode(cause) === null ? text.split('\n')[0]!.replace(QUOTED, '…') : diskErrorText(cause)
  return new ConvohouseError('TARGET_UNUSABLE', {
    what: `Cannot use the lake ${placeOf(target)}: ${reason}`,
    hint: DISK_HINT,
    cause,
  })
}
