// What a disk refuses: it is full, read-only, or somebody else's. Node tells it by a code, DuckDB only in words.
import { ConvohouseError } from './errors.ts'

/** Each code: the words of the C library that DuckDB passes on, and ours. */
const DISK_ERRORS: Record<string, { told: RegExp; words: string }> = {
  ENOSPC: { told: /No space left on device/, words: 'the disk is full' },
  EDQUOT: { told: /Disk quota exceeded/, words: 'the quota of the disk is used up' },
  EFBIG: { told: /File too large/, words: 'files may not become so large' },
  EROFS: { told: /Read-only file system/, words: 'the disk is read-only' },
  EACCES: { told: /Permission denied/, words: 'no permission' },
  EPERM: { told: /Operation not permitted/, words: 'no permission' },
  EIO: { told: /Input\/output error/, words: 'the disk fails' },
}

export const hasCode = (error: unknown, code: string): boolean =>
  (error as { code?: unknown } | null | undefined)?.code === code

/** The code of what the disk refused, whichever way it was told; null where an error is none of the disk's. */
export function diskErrorCode(cause: unknown): string | null {
  const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown }
  if (typeof code === 'string' && Object.hasOwn(DISK_ERRORS, code)) return code
  const text = String(message ?? cause)
  return Object.keys(DISK_ERRORS).find(name => DISK_ERRORS[name]!.told.test(text)) ?? null
}

/** Why, in words and by code. */
export function diskErrorText(cause: unknown): string {
  const code = diskErrorCode(cause)
  if (code !== null) return `${DISK_ERRORS[code]!.words} (${code})`
  return (cause as { code?: string }).code ?? String(cause)
}

/** The disk refuses: full, read-only, no permission. */
export const homeUnusable = (path: string, cause: unknown): ConvohouseError =>
  new ConvohouseError('HOME_UNUSABLE', {
    what: `Cannot use ${path}: ${diskErrorText(cause)}.`,
    hint: 'Give the data folder space and write permission, then run the same command again; what has landed is kept.',
    cause,
  })
