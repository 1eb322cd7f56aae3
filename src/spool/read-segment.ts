// Reads a segment: its events and its unreadable bytes.
import { readFile } from 'node:fs/promises'
import { homeUnusable } from '../core/disk.ts'
import { type ReadLine, readLine } from './event-line.ts'

/** The place of an unreadable line. */
export interface ByteRange {
  at: number
  bytes: number
}

export interface SegmentReading {
  /** Each with the offset of its line. */
  events: (ReadLine & { at: number })[]
  /** Unreadable lines of the last batch: a kill or a full disk cut the write off. They were never acknowledged. */
  torn: ByteRange[]
  /** Unreadable lines before the last batch: they were acknowledged, and have been damaged since then. */
  damaged: ByteRange[]
}

const NEW_LINE = 0x0a

/** Classifies the lines of a segment. */
export function readLines(bytes: Buffer): SegmentReading {
  const events: SegmentReading['events'] = []
  const unreadable: ByteRange[] = []
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(NEW_LINE, at)
    const end = found < 0 ? bytes.length : found
    const event = found < 0 ? null : readLine(bytes.subarray(at, end))
    if (event) events.push({ ...event, at })
    else unreadable.push({ at, bytes: end + 1 - at - (found < 0 ? 1 : 0) })
    at = end + 1
  }
  const lastSync = events.at(-1)?.batch ?? 0
  return {
    events,
    torn: unreadable.filter(({ at }) => at >= lastSync),
    damaged: unreadable.filter(({ at }) => at < lastSync),
  }
}

/** @throws HOME_UNUSABLE where the file cannot be read at all */
export async function readSegment(file: string): Promise<SegmentReading & { bytes: Buffer }> {
  const bytes = await readFile(file).catch(cause => {
    throw homeUnusable(file, cause)
  })
  return { ...readLines(bytes), bytes }
}
