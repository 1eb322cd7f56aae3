// Errors of the disk: full, read-only, no permission. Node reports a code, DuckDB only a message.
import { ConvohouseError } from './errors.ts'

/** By code: the C library's message, which DuckDB passes on, and our text for people. */
const DISK_ERRORS: Record<string, { pattern: RegExp; words: string }> = {
  ENOSPC: { pattern: /No space left on device/, words: 'the disk is full' },
  EDQUOT: { pattern: /Disk quota exceeded/, words: 'the quota of the disk is used up' },
  EFBIG: { pattern: /File too large/, words: 'the maximum file size is exceeded' },
  EROFS: { pattern: /Read-only file system/, words: 'the disk is read-only' },
  EACCES: { pattern: /Permission denied/, words: 'no permission' },
  EPERM: { pattern: /Operation not permitted/, words: 'no permission' },
  EIO: { pattern: /Input\/output error/, words: 'the disk reported an I/O error' },
}

export const hasCode = (error: unknown, code: string): boolean =>
  (error as { code?: unknown } | null | undefined)?.code === code

/** Returns the code of a disk error, from its `code` or its message; null for any other error. */
export function diskErrorCode(cause: unknown): string | null {
  const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown }
  if (typeof code === 'string' && Object.hasOwn(DISK_ERRORS, code)) return code
  const text = String(message ?? cause)
  return Object.keys(DISK_ERRORS).find(name => DISK_ERRORS[name]!.pattern.test(text)) ?? null
}

/** Returns text such as `the disk is full (ENOSPC)`. */
export function diskErrorText(cause: unknown): string {
  const code = diskErrorCode(cause)
  if (code !== null) return `${DISK_ERRORS[code]!.words} (${code})`
  return (cause as { code?: string }).code ?? String(cause)
}

/** Returns the error of an output that cannot be written. `cause`: the error, or the reason in words. */
export const notWritable = (
  code: 'HOME_UNUSABLE' | 'FLAG_INVALID',
  target: string,
  cause: unknown,
  hint = 'Give a file in an existing folder with write permission.',
): ConvohouseError =>
  new ConvohouseError(code, { what: `${target} cannot be written: ${diskErrorText(cause)}.`, hint, cause })

export const homeUnusable = (path: string, cause: unknown): ConvohouseError =>
  new ConvohouseError('HOME_UNUSABLE', {
    what: `Cannot use ${path}: ${diskErrorText(cause)}.`,
    hint: 'Free disk space or make the data folder writable, then run the same command again; what has landed is kept.',
    cause,
  })
