// The spool of a data folder: raw webhook events on their way to the warehouse, each durable before it is acknowledged.
// Several processes may share it: each writes its own segments.
import { randomBytes } from 'node:crypto'
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, temporaryName, writeOnce } from '../files/durable.ts'
import type { SpoolEvent } from './event-line.ts'
import { spoolFolders, spoolRoot } from './folders.ts'
import { type Commit, SpoolWriter } from './writer.ts'

interface Spool {
  /** Resolves when the event is durable. @throws HOME_UNUSABLE */
  append(event: SpoolEvent): Promise<void>
  /** Number of open segments. */
  open(): number
  /** Waits for pending appends and seals all segments. */
  close(): Promise<void>
}

export interface SpoolOptions {
  home: string
  now: () => number
  sealAfterMs?: number
  sealAfterBytes?: number
  onCommit?: (commit: SpoolCommit) => void
}

export interface SpoolCommit extends Commit {
  workspaceId: string
}

/** Events must be visible in SQL within five seconds, and only sealed segments are loaded. */
const SEAL_AFTER_MS = 1_000
const SEAL_AFTER_BYTES = 32 * 1024 * 1024

export function openSpool(options: SpoolOptions): Spool {
  const { home, now, sealAfterMs = SEAL_AFTER_MS, sealAfterBytes = SEAL_AFTER_BYTES, onCommit } = options
  const writers = new Map<string, SpoolWriter>()

  function writerOf(workspaceId: string): SpoolWriter {
    const known = writers.get(workspaceId)
    if (known) return known
    const folders = spoolFolders(home, workspaceId)
    const report = onCommit && { onCommit: (commit: Commit) => onCommit({ ...commit, workspaceId }) }
    const writer = new SpoolWriter({ folders, now, sealAfterMs, sealAfterBytes, ...report })
    writers.set(workspaceId, writer)
    return writer
  }

  return {
    append: event => writerOf(event.workspaceId).append(event),
    open: () => [...writers.values()].reduce((sum, writer) => sum + writer.open, 0),
    close: async () => {
      await Promise.all([...writers.values()].map(writer => writer.close()))
    },
  }
}

/** The size of a typical batch. */
const PROBE_BYTES = 64 * 1024

/** True if the spool's disk accepts a write. */
export async function canWrite(home: string): Promise<boolean> {
  const folder = spoolRoot(home)
  const file = join(folder, temporaryName())
  try {
    await makeFolder(folder)
    await writeOnce(file, [randomBytes(PROBE_BYTES)])
    await unlink(file)
    return true
  } catch {
    return false
  }
}
