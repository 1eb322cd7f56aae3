// What the receiver has refused, by workspace and reason, as `status` and `doctor` in other processes read it: a small file in the spool, which
// outlives the receiver. It holds counts and times, and nothing of what was sent.
//
//   spool/.refused.json
//
// Several receivers may share a spool: each adds what it has counted since it wrote last. Of two that write within the same milliseconds one
// may lose some counts.
import { readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DAY } from '../core/time.ts'
import { makeFolder, temporaryName } from '../files/durable.ts'
import { spoolRoot } from './folders.ts'

export interface Refused {
  /** Null where nobody knows whose it was. */
  workspaceId: string | null
  reason: string
  count: number
  /** Of spells before this one; absent: none. */
  earlier?: number
  /** Of this spell: a day without one ends it, and the next one is counted anew. ms. */
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

/** What was refused, the latest first; none where nothing is known. */
export async function readRefused(home: string): Promise<Refused[]> {
  try {
    const value: unknown = JSON.parse(await readFile(fileOf(home), 'utf8'))
    return Array.isArray(value) ? value.filter(isRefused).sort((a, b) => b.lastMs - a.lastMs) : []
  } catch {
    return []
  }
}

const isSame = (a: Refused, b: Refused): boolean => a.workspaceId === b.workspaceId && a.reason === b.reason

/** All that were refused, in this spell and before. */
export const totalRefused = ({ count, earlier = 0 }: Refused): number => count + earlier

/** Both counts as one; the later spell's, where the earlier one had ended before. */
function together(before: Refused | undefined, more: Refused): Refused {
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

/** Counts of before with more of them. */
export const addRefused = (before: readonly Refused[], more: readonly Refused[]): Refused[] => [
  ...before.filter(one => !more.some(other => isSame(one, other))),
  ...more.map(one =>
    together(
      before.find(other => isSame(one, other)),
      one,
    ),
  ),
]

/** Adds to the file. @throws what the disk refuses */
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
