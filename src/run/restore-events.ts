// Before an older warehouse is replaced: its rows hold the payloads of events, and those of this layout do not. Events that no file of the
// spool holds are appended to the spool's archive, so that no payload is lost, and the replay applies them like all others.
import { archivedFiles, archiveSegments } from '../spool/archive.ts'
import { linesOf, type SpoolEvent } from '../spool/event-line.ts'
import { identified } from '../spool/identity.ts'
import { archivedEvents } from '../spool/read-archive.ts'
import { readSegment } from '../spool/read-segment.ts'
import { sealedSegments } from '../spool/segments.ts'
import { olderEvents, olderEventWorkspaces } from '../warehouse/maintenance/older-events.ts'
import type { Warehouse } from '../warehouse/open.ts'

/** Bytes of payloads that are appended, and synced, together. */
const BATCH_BYTES = 8 * 1024 * 1024

/** Ids of the events that the spool holds in a readable form. */
async function idsInSpool(home: string, workspaceId: string): Promise<Set<string>> {
  const ids = new Set<string>()
  const ignoreDamage = () => {}
  for (const file of await archivedFiles(home, workspaceId))
    for await (const event of archivedEvents(file, ignoreDamage)) ids.add(identified(event).id)
  for (const segment of await sealedSegments(home, workspaceId))
    for (const event of (await readSegment(segment)).events) ids.add(identified(event).id)
  return ids
}

async function restoreWorkspace(older: Warehouse, home: string, workspaceId: string, nowMs: number): Promise<number> {
  const held = await idsInSpool(home, workspaceId)
  let restored = 0
  let batch: SpoolEvent[] = []
  let bytes = 0
  const append = async () => {
    if (batch.length === 0) return
    const segments = [{ segment: 'older warehouse', bytes: linesOf(batch, 0) }]
    await archiveSegments(home, workspaceId, { segments, nowMs })
    restored += batch.length
    batch = []
    bytes = 0
  }
  for await (const event of olderEvents(older, workspaceId)) {
    if (held.has(event.id)) continue
    batch.push({ ...event, workspaceId })
    bytes += event.payload.length
    if (bytes >= BATCH_BYTES) await append()
  }
  await append()
  return restored
}

/**
 * Appends the events of all workspaces of an older warehouse that the spool lacks to the archive of `nowMs`'s day. Repeating it appends nothing.
 * @returns how many events. @throws HOME_UNUSABLE
 */
export async function restoreEvents(older: Warehouse, home: string, nowMs: number): Promise<number> {
  let restored = 0
  for (const workspaceId of await olderEventWorkspaces(older))
    restored += await restoreWorkspace(older, home, workspaceId, nowMs)
  return restored
}
