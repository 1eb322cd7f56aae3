// Reads a log of entries, newest first, page by page to older ones (section 4.5). Its cursor is a time in whole seconds. The document does
// not say whether a page begins with the entries of that second or with older ones, so each request asks for one second more than the
// answer named: under both readings the page then begins with a whole second.
//
//   no cursor, or an empty page ended
//   entries older than those of earlier answers ended
//   the cursor does not move, and the page is not full ended: the vendor always sends a cursor
//   the cursor does not move, and the page is full the second has more entries than a page: requested again with a larger page;
//                                                         if that does not help, the rest of the second is skipped, and the skip reported
//   the cursor does not move behind that second either ended, and reported: the vendor always sends the same cursor
import { isCode } from '../core/errors.ts'
import type { Listing } from './listing.ts'

/** Facts from one page about the log. */
export interface LogPage {
  /** Keys of its entries. */
  ids: readonly string[]
  /** Times of its entries, s. */
  times: readonly number[]
  /** The vendor's cursor to older entries, s; null if it sends none. */
  nextCursor: number | null
}

interface LogRequest {
  /** Counts from 1. */
  page: number
  /** Omitted for the newest entries. */
  cursor?: number
  limit: number
}

/** Protects against a vendor with endless pages. */
const MAX_PAGES = 1_000

/** Page size for a second that has more entries than a page. A vendor may refuse it. */
const LARGE_LIMIT = 5_000

export const SECOND_CUT = 'a second has more entries than a page, and the vendor serves no larger page'
const ENDLESS = 'the log has more pages than are read at once'
export const STUCK = 'the cursor does not move'

const oldestOf = ({ times }: LogPage): number => Math.min(...times)

/**
 * Requests the pages of a log until one has an entry older than `untilSec` (the newest known entry; null reads to the end).
 * @throws any error of a page: no part of the log is returned without the rest, so that no gap remains behind its newest entry
 */
export async function readLog<A>(options: {
  ask: (request: LogRequest) => Promise<A>
  read: (answer: A) => LogPage | null
  limit: number
  untilSec: number | null
}): Promise<Listing<A>> {
  const { ask, read, limit, untilSec } = options
  const pages: Listing<A>['pages'] = []
  const seen = new Set<string>()
  let requests = 0
  let fullest = 0
  let gap: string | undefined
  const ended = (): Listing<A> => ({ pages, cutOff: null, ...(gap !== undefined && { gap }) })

  /** Requests a page, and keeps it if it has a new entry. */
  const request = async (cursor?: number, size = limit) => {
    requests += 1
    const answer = await ask({ page: requests, limit: size, ...(cursor !== undefined && { cursor }) })
    const page = read(answer)
    const isNew = page?.ids.some(id => !seen.has(id)) === true
    for (const id of page?.ids ?? []) seen.add(id)
    if (isNew || pages.length === 0) pages.push({ answer, number: requests })
    return page
  }
  /**
   * Requests the first page before the second: under one reading of the cursor by the second itself, under the other by the one before.
   */
  const below = async (second: number) => {
    for (const cursor of [second, second - 1]) {
      const page = await request(cursor)
      if (page !== null && page.times.length > 0 && oldestOf(page) < second) return page
    }
    return null
  }
  const larger = (second: number) =>
    request(second + 1, LARGE_LIMIT).catch(error => {
      if (isCode(error, 'API_BAD_REQUEST')) return null
      throw error
    })

  let page = await request()
  let lastCursor = Number.POSITIVE_INFINITY
  /** The last second that needed a larger page. */
  let crowded: number | null = null
  /** True if the previous page began at a second that the vendor's cursor does not leave. */
  let wasStuck = false
  while (page !== null && page.times.length > 0 && page.nextCursor !== null) {
    if (untilSec !== null && oldestOf(page) < untilSec) return ended()
    if (requests >= MAX_PAGES) {
      gap = ENDLESS
      return ended()
    }
    const { nextCursor, times } = page
    if (nextCursor < lastCursor) {
      lastCursor = nextCursor
      wasStuck = false
      // A larger page does not show how many entries other pages may have.
      fullest = Math.max(fullest, Math.min(times.length, limit))
      page = await request(nextCursor + 1, nextCursor + 1 === crowded ? LARGE_LIMIT : limit)
      continue
    }
    if (times.length < fullest) return ended()
    if (wasStuck) {
      gap ??= STUCK
      return ended()
    }
    wasStuck = true
    // The page may begin at a later second, whose entries fill it.
    const second = lastCursor
    const whole = await larger(second)
    if (whole !== null && (oldestOf(whole) < second || whole.nextCursor === null)) {
      crowded = second
      page = whole
      continue
    }
    page = await below(second)
    // A vendor that always sends a cursor may do so after the only entry of a log.
    if (page !== null || times.length > 1) gap = SECOND_CUT
  }
  return ended()
}
