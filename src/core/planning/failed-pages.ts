// Pages that cannot be read although the vendor answers other requests: one record breaks the answer, or pages of this size take too long. The
// page is requested again from the last landed `ts`, with smaller limits. If a page of one conversation fails too, the window ends with a gap:
// the conversation after the last landed one cannot be read. Together, the failed requests at one position request less than two full pages.
import type { ErrorCode } from '../errors.ts'
import { DAY, HOUR, MINUTE } from '../time.ts'
import { restarted } from './window-query.ts'
import type { PageCap, PageFacts, WindowProgress } from './windows.ts'

/** Limits of pages after a failure, in order. */
const SMALLER = [25, 5, 1]

export interface PageFailure {
  code: ErrorCode
  what: string
  /** Limit of the failed request. */
  limit: number
  /** Sessions that the failed attempts may have billed. */
  billedUpTo: number
  /** Time of the server's clock, ms. */
  atMs: number
}

const slowUntilMs = (slow: number, atMs: number): number => atMs + Math.min(DAY, HOUR * 2 ** Math.min(slow - 1, 5))

/** Within this time after a proof, another failed page needs no separate proof, except a page of one conversation. */
const PROOF_LASTS_MS = MINUTE

/** True if the vendor is known to answer other requests, so that only this page fails. */
export const isProved = ({ cap }: WindowProgress, { limit, atMs }: Pick<PageFailure, 'limit' | 'atMs'>): boolean =>
  limit > 1 && cap !== undefined && atMs - cap.provedMs < PROOF_LASTS_MS

/**
 * Returns the window's next generation, with smaller pages; null if even a page of one conversation failed. `isNew`:
 * a request for an empty window was just answered.
 */
export function withSmallerPages(
  progress: WindowProgress,
  failure: PageFailure,
  isNew: boolean,
): WindowProgress | null {
  const { code, limit, billedUpTo, atMs } = failure
  const smaller = SMALLER.find(size => size < limit)
  if (smaller === undefined) return null
  const { cap } = progress
  const slow = code === 'API_TIMEOUT' ? (cap?.slow ?? 0) + 1 : 0
  return {
    ...restarted(progress),
    cap: {
      limit: smaller,
      // The restart returns the last landed conversation once more.
      left: limit + 1,
      untilMs: slow > 0 ? slowUntilMs(slow, atMs) : 0,
      slow,
      billedUpTo: (cap?.billedUpTo ?? 0) + billedUpTo,
      provedMs: isNew ? atMs : (cap?.provedMs ?? 0),
    },
  }
}

/** Returns the cap after a page with `returned` conversations: the next larger one once the range of the failed page has been read. */
export function capAfter(cap: PageCap | undefined, { returned }: Pick<PageFacts, 'returned'>): PageCap | undefined {
  if (cap === undefined) return undefined
  const left = Math.max(0, cap.left - returned)
  const next = { ...cap, left, billedUpTo: 0 }
  if (left > 0 || cap.untilMs > 0) return next
  const larger = SMALLER[SMALLER.indexOf(cap.limit) - 1]
  return larger === undefined ? undefined : { ...next, limit: larger, left: larger + 1 }
}

/** Returns the largest page of the window at `nowMs`; `largest` without a cap. */
export function largestPage({ cap }: Pick<WindowProgress, 'cap'>, largest: number, nowMs: number): number {
  if (cap === undefined || (cap.left === 0 && cap.untilMs <= nowMs)) return largest
  return Math.min(largest, cap.limit)
}
