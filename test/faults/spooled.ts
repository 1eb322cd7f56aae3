// Reads a spool after faults: seals the segments that killed writers left open, then reads every segment.
import { expect } from 'vitest'
import { readSegment } from '../../src/spool/read-segment.ts'
import { sealAbandoned, sealedSegments } from '../../src/spool/segments.ts'

/** Time after the last write to a segment from which the segment counts as abandoned. */
const LATER_MS = 3_600_000

export interface Spooled {
  /** `createdAt` of each event, in the order of segments. */
  numbers: number[]
  ids: string[]
  /** Number of segments that were left open. */
  abandoned: number
}

/** Seals and reads all segments. @throws if a line of any segment is damaged or torn */
export async function spooled(home: string, workspaceId: string): Promise<Spooled> {
  const taken = await sealAbandoned(home, workspaceId, Date.now() + LATER_MS)
  expect(taken.flatMap(({ damaged }) => damaged)).toEqual([])
  const readings = await Promise.all((await sealedSegments(home, workspaceId)).map(readSegment))
  expect(readings.flatMap(({ torn, damaged }) => [...torn, ...damaged])).toEqual([])
  const events = readings.flatMap(reading => reading.events)
  return {
    numbers: events.map(
      ({ payload }) => (JSON.parse(Buffer.from(payload).toString()) as { createdAt: number }).createdAt,
    ),
    ids: events.map(({ id }) => id),
    abandoned: taken.length,
  }
}
