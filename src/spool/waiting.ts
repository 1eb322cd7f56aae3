// What the spool holds that is not applied yet.
import { readFile } from 'node:fs/promises'
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

/** Events that have been received, and wait for whoever drains. @throws HOME_UNUSABLE */
export async function spoolWaiting(home: string, workspaceId: string): Promise<SpoolWaiting> {
  const { open, abandoned, sealed } = spoolFolders(home, workspaceId)
  const waiting = { events: 0, bytes: 0 }
  for (const folder of [open, abandoned, sealed]) {
    for (const name of (await namesIn(folder)).filter(isSegment)) {
      const bytes = await readFile(join(folder, name)).catch(cause => {
        // Moved on meanwhile.
        if (hasCode(cause, 'ENOENT')) return Buffer.alloc(0)
        throw unusable(join(folder, name), cause)
      })
      waiting.events += lineCount(bytes)
      waiting.bytes += bytes.length
    }
  }
  return waiting
}
