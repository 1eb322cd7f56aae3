// Decides by a page's records, never by its cursor, whether a window over time made progress.
//
// A page brings nothing new if none of its records is new to the window, or none of its dated records lies in the window. After the first
// such page, or after a refused cursor, the window continues by `ts`; if that brings nothing new either, it ends with a gap. A page in which
// most records are known, or that has no usable cursor, shows that the vendor's cursors cannot be relied on: from the second one on, the window
// is read by `ts` alone, which exports the conversations of one second per page again.
//
// An empty page is progress if the vendor looked at conversations for it (section 4.12, rule 1). Empty pages bill nothing, but each is a request:
// after many in a row the window is left to the next run, which continues from its cursor.
import { DAY, MINUTE } from '../time.ts'
import { restarted } from './window-query.ts'
import { type PageFacts, secondOf, type WindowProgress } from './windows.ts'

/** True if this run requests no more pages of the window: it is done, or its pages are empty. */
export const isAtRest = ({ done, idle }: Pick<WindowProgress, 'done' | 'idle'>): boolean =>
  done || idle >= MAX_IDLE_PAGES

/** Characters of an id's fingerprint: 24 bits. */
const ID_CHARACTERS = 4
/** Characters of a page's digest: 48 bits. */
const DIGEST_CHARACTERS = 8
/** Ids of about this many records are compared with those of the next page: four full pages. */
const RECENT_RECORDS = 400
/** A longer window keeps the first and the last half of this many digests. */
const DIGESTS_KEPT = 1_000

/** Number of events without progress at one position after which a window ends with a gap. */
export const MAX_STALLED = 2
/** Number of useless cursors after which a window is read only by `ts`. */
const MAX_BAD_CURSORS = 2
/** Weighted number of consecutive empty pages in one run after which the window is left to the next run. */
export const MAX_IDLE_PAGES = 50

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** Hashes a text to `characters` characters of six bits (FNV-1a, mixed). Not for secrets: collisions only cost a request. */
function fingerprint(text: string, characters: number): string {
  let [low, high] = [0x811c9dc5, 0x9e3779b9]
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    low = Math.imul(low ^ code, 0x01000193)
    high = Math.imul(high ^ (code + index), 0x85ebca6b) ^ (high >>> 13)
  }
  low ^= high >>> 16
  let print = ''
  for (let at = 0; at < characters; at++) print += BASE64[((at < 5 ? low : high) >>> ((at % 5) * 6)) & 63]
  return print
}

/** Returns the fingerprints of the ids in a page; a record without an id is represented by its content. */
export const idPrints = (data: readonly unknown[]): string =>
  data
    .map(record => {
      const { ID: id } = (record ?? {}) as { ID?: unknown }
      return fingerprint(id === undefined || id === null ? JSON.stringify(record) : String(id), ID_CHARACTERS)
    })
    .join('')

const printsIn = (text: string): string[] => text.match(new RegExp(`.{${ID_CHARACTERS}}`, 'g')) ?? []

function includesDigest(digests: string, digest: string): boolean {
  for (let at = 0; at < digests.length; at += DIGEST_CHARACTERS) if (digests.startsWith(digest, at)) return true
  return false
}

function withDigest(digests: string, digest: string): string {
  const half = (DIGESTS_KEPT / 2) * DIGEST_CHARACTERS
  const all = digests + digest
  return all.length > 2 * half ? all.slice(0, half) + all.slice(-half) : all
}

interface Judgement
  extends Pick<WindowProgress, 'stalled' | 'badCursors' | 'recentIds' | 'pageDigests' | 'idle' | 'cursor'> {
  /** True if the page contained nothing new; the window's position stays. */
  isStalled: boolean
}

/** Judges a page by the records of the pages before it. `page` belongs to the generation of `progress`, or begins the next one. */
export function judgePage(progress: WindowProgress, page: PageFacts): Judgement {
  const { stalled, badCursors, recentIds, pageDigests, idle } = progress
  const prints = printsIn(page.ids ?? '')
  if (prints.length === 0 && !page.outOfRange) {
    const unchanged = { stalled, badCursors, recentIds, pageDigests, isStalled: false }
    return { ...unchanged, idle: idle + idleWeight(page), cursor: page.cursorOut }
  }
  const known = new Set(printsIn(recentIds))
  const digest = fingerprint([...new Set(prints)].sort().join(''), DIGEST_CHARACTERS)
  const isSeen = includesDigest(pageDigests, digest)
  // Small pages may be within the first second of a generation, which is requested again.
  const overlaps = !isSeen && isInFirstSecond(page)
  const repeated = isSeen ? prints.length : overlaps ? 0 : prints.filter(id => known.has(id)).length
  const isStalled = page.outOfRange === true || (repeated === prints.length && page.hasMore)
  const isByCursor = page.cursorIn !== null
  const isBad = page.hasMore && (page.cursorOut === null || (isByCursor && 2 * repeated > prints.length))
  const bad = badCursors + (isBad ? 1 : 0)
  return {
    stalled: isStalled ? stalled + 1 : overlaps ? stalled : 0,
    badCursors: bad,
    recentIds: page.outOfRange ? recentIds : (recentIds + (page.ids ?? '')).slice(-RECENT_RECORDS * ID_CHARACTERS),
    pageDigests: page.outOfRange ? pageDigests : withDigest(pageDigests, digest),
    idle: 0,
    // The first page of a generation may repeat known records and still have a useful cursor.
    cursor: bad < MAX_BAD_CURSORS && !isBad && !(isStalled && isByCursor) ? page.cursorOut : null,
    isStalled,
  }
}

/** True if all dated records of the page are in the second at which its generation began. */
function isInFirstSecond({ beginMs, firstTsMs, lastTsMs }: PageFacts): boolean {
  if (beginMs == null || firstTsMs == null || lastTsMs === null) return false
  return secondOf(firstTsMs) === secondOf(beginMs) && secondOf(lastTsMs) === secondOf(beginMs)
}

/** Returns the window's next generation after a refused cursor; null if it would begin at the same position again. */
export function afterRefusedCursor(progress: WindowProgress): WindowProgress | null {
  const { stalled, badCursors } = progress
  if (stalled + 1 >= MAX_STALLED) return null
  return { ...restarted(progress), stalled: stalled + 1, badCursors: badCursors + 1 }
}

/** Returns 1 for an empty page for which the vendor scanned nothing; 0.5 if it scanned some, or does not say. */
const idleWeight = ({ scanned }: PageFacts): number => (scanned === 0 ? 1 : 0.5)

/**
 * A window that had only empty pages throughout a run backs off: the pages bill nothing, but use up requests. A sync
 * that a person started continues it at once; an unattended sync continues it after pauses that double up to a day.
 */
const MIN_BACKOFF_MS = 15 * MINUTE
const MAX_BACKOFF_MS = DAY

/** Returns the pause after a window's last page, ms; 0 while its pages contain conversations. */
export function backoffMs({ idle }: Pick<WindowProgress, 'idle'>): number {
  const runs = Math.floor(idle / MAX_IDLE_PAGES)
  // The exponent is capped so that the power cannot overflow; the maximum pause is reached long before.
  return runs === 0 ? 0 : Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** Math.min(runs - 1, 20))
}

/** Returns the end of a window's pause, ms; null if it does not pause. `lastSentMs`: time of its newest request. */
export function backoffUntilMs(progress: WindowProgress, lastSentMs: number, nowMs: number): number | null {
  const pauseMs = backoffMs(progress)
  return pauseMs > 0 && lastSentMs + pauseMs > nowMs ? lastSentMs + pauseMs : null
}
