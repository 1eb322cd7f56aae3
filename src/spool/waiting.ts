// Events in the spool that are not applied yet. A repeated count reads only the bytes appended since the last one:
// under load a segment grows by megabytes per second.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { compactTime } from '../core/time.ts'
import { namesIn } from '../files/durable.ts'
import { isSegment, spoolFolders } from './folders.ts'

interface Counted {
  events: number
  bytes: number
}

export interface SpoolBacklog extends Counted {
  /** Time when the oldest segment with events was opened, ms; null if no event waits. */
  sinceMs: number | null
  /** Number of segments that cannot be read. */
  unreadable: number
}

const NEW_LINE = 0x0a

function lineCount(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(NEW_LINE); at >= 0; at = bytes.indexOf(NEW_LINE, at + 1)) lines += 1
  return lines
}

const NONE: Counted = { events: 0, bytes: 0 }

/** Continues an earlier count, or starts again if the file has been truncated since; null if the file is gone. @throws HOME_UNUSABLE */
async function grown(file: string, before: Counted): Promise<Counted | null> {
  try {
    const { size } = await stat(file)
    const counted = { ...(size < before.bytes ? NONE : before) }
    if (size === counted.bytes) return counted
    for await (const chunk of createReadStream(file, { start: counted.bytes })) {
      counted.events += lineCount(chunk)
      counted.bytes += chunk.length
    }
    return counted
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return null
    throw homeUnusable(file, cause)
  }
}

/** Returns a function that counts the waiting events. Segments that cannot be read are counted in `unreadable`. */
export function countWaiting(home: string, workspaceId: string): () => Promise<SpoolBacklog> {
  const { open, abandoned, sealed } = spoolFolders(home, workspaceId)
  let known = new Map<string, Counted>()
  return async () => {
    // Keyed by name, because a segment that is sealed during the read appears in two folders.
    const found = new Map<string, Counted>()
    const unreadable = new Set<string>()
    for (const folder of [open, abandoned, sealed])
      for (const name of (await namesIn(folder)).filter(isSegment)) {
        const counting = grown(join(folder, name), found.get(name) ?? known.get(name) ?? NONE)
        const counted = await counting.catch(() => unreadable.add(name) && null)
        if (counted) found.set(name, counted)
      }
    known = found
    const all = [...found.values()]
    const sum = (key: keyof Counted) => all.reduce((total, segment) => total + segment[key], 0)
    const names = [...unreadable, ...[...found].filter(([, { events }]) => events > 0).map(([name]) => name)]
    const [oldest] = names.sort()
    return {
      events: sum('events'),
      bytes: sum('bytes'),
      sinceMs: oldest === undefined ? null : compactTime(oldest),
      unreadable: unreadable.size,
    }
  }
}

/** Counts the waiting events once. @throws HOME_UNUSABLE */
export const spoolWaiting = (home: string, workspaceId: string): Promise<SpoolBacklog> =>
  countWaiting(home, workspaceId)()
