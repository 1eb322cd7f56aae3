// The files of a lease log: their names, and the lines in them (lease-log.ts).
//
//   20261120T120000000Z-<run>.ndjson appended to by one writer, for an hour
//   20261120T120000000Z-<run>.<random>.closed no longer written, ready to merge
//   20261119T000000000Z-20261120T120000000Z.<random>.ndjson.gz merged, with the first and the last hour of its sources
//
// Each line has an id, so that an entry counts once even if a killed or a concurrent merge has left it in several files.
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { constants, gunzip } from 'node:zlib'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { type LeaseEntry, momentOf } from '../core/governor/lease-entries.ts'
import { compactTime } from '../core/time.ts'
import { namesIn } from '../files/durable.ts'

const gunzipped = promisify(gunzip)

/** Decompresses the readable part of a file: unreadable lines are skipped, as in a plain text file. */
const inflate = (bytes: Buffer): Promise<Buffer> =>
  gunzipped(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).catch(() => Buffer.alloc(0))

const MERGED = /^(\d{8}T\d{9}Z)-(\d{8}T\d{9}Z)\.[0-9a-f]+\.ndjson\.gz$/
const CLOSED = /\.[0-9a-f]+\.closed$/
const LIVE = /\.ndjson$/

/** True for a file that its writer may still append to. */
export const isLive = (name: string): boolean => LIVE.test(name)
export const isMerged = (name: string): boolean => MERGED.test(name)

/** Returns the beginnings of a file's first and last hour. */
export function hoursOf(name: string): { firstMs: number; lastMs: number } {
  const [, first, last] = MERGED.exec(name) ?? []
  return { firstMs: compactTime(first ?? name), lastMs: compactTime(last ?? name) }
}

/** Returns the names of the files of a lease log, those with the latest hours first. @throws HOME_UNUSABLE */
export async function leaseFilesIn(folder: string): Promise<string[]> {
  const names = (await namesIn(folder)).filter(name => isLive(name) || isMerged(name) || CLOSED.test(name))
  return names.sort((a, b) => hoursOf(b).lastMs - hoursOf(a).lastMs || (a < b ? 1 : -1))
}

export interface LeaseLine {
  id: string
  entry: LeaseEntry
}

const KINDS: readonly LeaseEntry['kind'][] = ['lease', 'request', 'end']

export const textOf = ({ id, entry }: LeaseLine): string => `${JSON.stringify({ ...entry, id })}\n`

/** Returns the complete lines of a file. @throws HOME_UNUSABLE; the system's ENOENT if the file does not exist */
export async function readLines(file: string): Promise<LeaseLine[]> {
  try {
    const bytes = await readFile(file)
    const text = (file.endsWith('.gz') ? await inflate(bytes) : bytes).toString()
    return text.split('\n').flatMap(parsed)
  } catch (cause) {
    throw hasCode(cause, 'ENOENT') ? cause : homeUnusable(file, cause)
  }
}

function parsed(line: string): LeaseLine[] {
  if (line === '') return []
  try {
    const { id, ...rest } = JSON.parse(line) as LeaseEntry & { id: string }
    const entry = rest as LeaseEntry
    return typeof id === 'string' && KINDS.includes(entry.kind) && Number.isFinite(momentOf(entry))
      ? [{ id, entry }]
      : []
  } catch {
    return []
  }
}
