// What the spool holds that is not applied yet. Who looks again and again reads only what has come since: under load a segment grows by
// megabytes a second.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, unusable } from '../core/disk.ts'
import { namesIn } from '../files/durable.ts'
import { isSegment, spoolFolders } from './folders.ts'

export interface SpoolWaiting {
  events: number
  bytes: number
}

const NEW_LINE = 0x0a

function lineCount(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(NEW_LINE); at >= 0; at = bytes.indexOf(NEW_LINE, at + 1)) lines += 1
  return lines
}

const NONE: SpoolWaiting = { events: 0, bytes: 0 }

/** Counts on from what was counted of that file, unless it has been cut back since; null where it has moved on meanwhile. */
async function grown(file: string, before: SpoolWaiting): Promise<SpoolWaiting | null> {
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
    throw unusable(file, cause)
  }
}

/** Asked, it tells which events have been received and wait for whoever drains. @throws HOME_UNUSABLE */
export function countWaiting(home: string, workspaceId: string): () => Promise<SpoolWaiting> {
  const { open, abandoned, sealed } = spoolFolders(home, workspaceId)
  let known = new Map<string, SpoolWaiting>()
  return async () => {
    // By name: one that is sealed while we look is in two folders.
    const found = new Map<string, SpoolWaiting>()
    for (const folder of [open, abandoned, sealed])
      for (const name of (await namesIn(folder)).filter(isSegment)) {
        const counted = await grown(join(folder, name), found.get(name) ?? known.get(name) ?? NONE)
        if (counted) found.set(name, counted)
      }
    known = found
    const all = [...found.values()]
    const sum = (key: keyof SpoolWaiting) => all.reduce((total, segment) => total + segment[key], 0)
    return { events: sum('events'), bytes: sum('bytes') }
  }
}

/** Events that have been received, and wait for whoever drains. @throws HOME_UNUSABLE */
export const spoolWaiting = (home: string, workspaceId: string): Promise<SpoolWaiting> =>
  countWaiting(home, workspaceId)()
