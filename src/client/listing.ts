// Reads a listing to its end. The API document does not say how listings are paged or how the last page is marked
// (notes on the API, "Other endpoints"), so a listing counts as complete only with evidence:
//
//   hasMore: false, and no more in `total` ended, complete
//   an empty page, and nothing that promises more ended, complete
//   a list that is documented without pages ended, complete unless `total` or `hasMore` says otherwise
//   a page without anything new ended; complete only if `total` says so
//   parameters refused, so there is one page ended; complete only if `total` or `hasMore: false` says so
//   a page that fails, or pages without end ended, cut off
//
// Paging always ends: it stops after a few pages without a new entry, and after a maximum of pages.

import type { ConvohouseError } from '../core/errors.ts'
import type { ListedPage } from './envelopes.ts'
import { VendorError } from './faults.ts'

/** Reason why a listing may be incomplete. `issue` is the same text for all listings of that reason; `detail` has numbers. */
export interface CutOff {
  issue: string
  detail: string
}

export interface Listing<A> {
  /** The first page and all later pages with new entries, each with its page number. */
  pages: { answer: A; number: number }[]
  /** Null if the listing is known to be complete: only then is a record that it lacks known to be gone. */
  cutOff: CutOff | null
  /** Reason why entries may be missing from a listing that was read to its end; the same text for all listings. */
  gap?: string
}

/** Protects against a vendor with endless pages. */
const MAX_PAGES = 1_000

/** Maximum number of consecutive pages without a new entry while the vendor reports more entries. */
const MAX_STALE_PAGES = 2

type End = 'reported' | 'unpaged' | 'empty' | 'stale' | 'one-page' | 'endless' | ConvohouseError

interface Seen {
  listed: Set<string>
  all: Set<string>
  unidentified: number
}

/** Adds a page's entries to those seen. True if the page lists an id that no earlier page has listed. */
function takePage(seen: Seen, { ids, besides, unidentified }: ListedPage): boolean {
  // Agents that an earlier page contained only as starred are new to the paged list, so this page makes progress.
  const isNew = ids.some(id => !seen.listed.has(id)) || besides.some(id => !seen.all.has(id))
  for (const id of ids) seen.listed.add(id)
  for (const id of [...ids, ...besides]) seen.all.add(id)
  seen.unidentified += unidentified
  return isNew
}

const promisesMore = ({ total }: ListedPage, { listed, unidentified }: Seen): boolean =>
  total !== null && listed.size + unidentified < total

function cutOffOf(end: End, { total, hasMore }: ListedPage, { listed, all, unidentified }: Seen): CutOff | null {
  const counted = total === null ? `${all.size} listed` : `${all.size} of ${total} listed`
  const because = (issue: string, detail = counted): CutOff => ({ issue, detail })
  if (typeof end === 'object') return because('a page of it failed', `${counted}, then ${end.code}: ${end.message}`)
  if (end === 'endless')
    return because('the vendor returns page after page without end', `${counted} on ${MAX_PAGES} pages`)
  if (hasMore === true) return because('the vendor reports more entries and returns no new ones')
  if (total !== null && all.size + unidentified < total)
    return because('the vendor reports more entries in total than it returns')
  if (unidentified > 0) return because('some entries have no ID', `${counted}, ${unidentified} without an ID`)
  if (end === 'reported' || end === 'unpaged' || end === 'empty' || listed.size === total || all.size === total)
    return null
  return end === 'one-page'
    ? because('the vendor refuses paging parameters and does not report whether the listing is complete')
    : because('the vendor returns the same page again and does not report whether the listing is complete')
}

/** True for errors that only cut the listing off if they occur on a later page; interruptions and access errors are thrown. */
const endsListing = (error: unknown): error is VendorError =>
  error instanceof VendorError && error.code !== 'INTERRUPTED' && error.kind !== 'access'

/**
 * Requests the pages of a listing, counted from 1. `read` returns a page's facts about the listing, or null if the
 * answer has no list. `isPaged`: the page was requested by its number. `hasPages` is false for a list that is
 * documented as a single answer. `isTotalExact`: the listing ends with the page that reaches `total`.
 * @throws any error of the first page; INTERRUPTED and access errors of any page
 */
export async function readListing<A>(options: {
  ask: (number: number) => Promise<A>
  read: (answer: A) => ListedPage | null
  isPaged: (answer: A) => boolean
  hasPages?: boolean
  isTotalExact?: boolean
}): Promise<Listing<A>> {
  const { ask, read, isPaged, hasPages = true, isTotalExact = false } = options
  const seen: Seen = { listed: new Set(), all: new Set(), unidentified: 0 }
  const pages: Listing<A>['pages'] = []
  let page: ListedPage = { ids: [], besides: [], unidentified: 0, total: null, hasMore: null }
  let stale = 0
  const ended = (end: End): Listing<A> => ({ pages, cutOff: cutOffOf(end, page, seen) })
  for (let number = 1; number <= MAX_PAGES; number++) {
    let answer: A
    try {
      answer = await ask(number)
    } catch (error) {
      if (number === 1 || !endsListing(error)) throw error
      return ended(error)
    }
    const held = read(answer)
    if (held === null) return { pages: [{ answer, number }], cutOff: null }
    // If a page reports no total, an earlier page's total counts.
    page = { ...held, total: held.total ?? page.total }
    const isNew = takePage(seen, held)
    stale = isNew ? 0 : stale + 1
    if (isNew || number === 1) pages.push({ answer, number })
    if (!hasPages) return ended('unpaged')
    const isReported = held.hasMore === false || (isTotalExact && held.hasMore === null && page.total !== null)
    if (isReported && !promisesMore(page, seen)) return ended('reported')
    if (!isPaged(answer)) return ended('one-page')
    const isEmpty = held.ids.length === 0 && held.unidentified === 0
    if (!isNew && (held.hasMore !== true || stale >= MAX_STALE_PAGES)) return ended(isEmpty ? 'empty' : 'stale')
  }
  return ended('endless')
}
