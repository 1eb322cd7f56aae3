// Counts of requests that receivers have refused, by workspace and reason, for `status` and `doctor` in other processes: a
// small file in the spool that outlives the receiver. It contains counts and times, and no content of requests.
//
//   spool/.refused.json
//
// Several receivers may share a spool: each adds the counts since its last write. If two receivers write within the same
// milliseconds, one may lose its counts.
import { readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DAY } from '../core/time.ts'
import { makeFolder, temporaryName } from '../files/durable.ts'
import { spoolRoot } from './folders.ts'

export interface Refused {
  /** Null if the request cannot be attributed to a workspace. */
  workspaceId: string | null
  reason: string
  count: number
  /** Number of refusals in earlier spells; omitted for none. */
  earlier?: number
  /** First and last refusal of the current spell, ms. A day without a refusal ends a spell. */
  firstMs: number
  lastMs: number
}

const SPELL_ENDS_MS = DAY

const fileOf = (home: string): string => join(spoolRoot(home), '.refused.json')

const isRefused = (value: unknown): value is Refused => {
  const { workspaceId, reason, count, earlier = 0, firstMs, lastMs } = (value ?? {}) as Record<keyof Refused, unknown>
  const isOfSome = workspaceId === null || typeof workspaceId === 'string'
  return isOfSome && typeof reason === 'string' && [count, earlier, firstMs, lastMs].every(Number.isSafeInteger)
}

/** Returns the counts, latest first; empty if nothing is recorded. */
export async function readRefused(home: string): Promise<Refused[]> {
  try {
    const value: unknown = JSON.parse(await readFile(fileOf(home), 'utf8'))
    return Array.isArray(value) ? value.filter(isRefused).sort((a, b) => b.lastMs - a.lastMs) : []
  } catch {
    return []
  }
}

const isSame = (a: Refused, b: Refused): boolean => a.workspaceId === b.workspaceId && a.reason === b.reason

/** Returns the refusals of the current spell and of all before it. */
export const totalRefused = ({ count, earlier = 0 }: Refused): number => count + earlier

/** Sums two counts. Starts a new spell if the earlier one had ended. */
function merged(before: Refused | undefined, more: Refused): Refused {
  if (!before) return more
  if (more.firstMs - before.lastMs > SPELL_ENDS_MS) return { ...more, earlier: totalRefused(before) }
  return {
    ...before,
    ...more,
    count: before.count + more.count,
    firstMs: Math.min(before.firstMs, more.firstMs),
    lastMs: Math.max(before.lastMs, more.lastMs),
  }
}

/** Adds counts to the existing ones, by workspace and reason. */
export const addRefused = (before: readonly Refused[], more: readonly Refused[]): Refused[] => [
  ...before.filter(one => !more.some(other => isSame(one, other))),
  ...more.map(one =>
    merged(
      before.find(other => isSame(one, other)),
      one,
    ),
  ),
]

/** Adds counts to the file. @throws the error of the file system */
export async function recordRefused(home: string, more: readonly Refused[]): Promise<void> {
  const folder = spoolRoot(home)
  const temporary = join(folder, temporaryName())
  await makeFolder(folder)
  try {
    await writeFile(temporary, JSON.stringify(addRefused(await readRefused(home), more)), { mode: 0o600 })
    await rename(temporary, fileOf(home))
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
}
