// Reading a listing to its end. The document says neither how agents and teams are paged nor how the last page is marked (notes on
// the API, "Other endpoints"), so a listing counts as complete only with proof:
//
//   hasMore: false, and no more in `total`         ended, complete
//   an empty page, and nothing that promises more  ended, complete
//   a list that is documented without pages        ended, complete unless `total` or `hasMore` says otherwise
//   a page without anything new                    ended; complete only where `total` says so
//   parameters refused, so there is one page       ended; complete only where `total` or `hasMore: false` says so
//   a page that fails, or pages without end        ended, cut off
//
// Every page before the last brings something new, so paging ends whatever the vendor answers.

import type { ConvohouseError } from '../core/errors.ts'
import type { ListedPage } from './envelopes.ts'
import { VendorError } from './faults.ts'

/** Why a listing may be incomplete. `issue` does not depend on numbers; `detail` does. */
export interface CutOff {
  issue: string
  detail: string
}

export interface Listing<A> {
  /** The first page, and those that brought something new; each with its number. */
  pages: { answer: A; number: number }[]
  /** Null where the listing is known to be complete: only then an absence means anything. */
  cutOff: CutOff | null
}

/** A vendor that sends more pages never ends. */
const MAX_PAGES = 1_000

/** Pages in a row without anything new, although the vendor promises more. */
const MAX_STALE_PAGES = 2

type End = 'reported' | 'unpaged' | 'empty' | 'stale' | 'one-page' | 'endless' | ConvohouseError

interface Seen {
  listed: Set<string>
  all: Set<string>
  unidentified: number
}

/** True where the page brings an id that no earlier page has listed. */
function takePage(seen: Seen, { ids, besides, unidentified }: ListedPage): boolean {
  // An agent that was starred on an earlier page is new to the list: the page moves on.
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
    return because('the vendor answers page after page without an end', `${counted} on ${MAX_PAGES} pages`)
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

/** A later page that fails ends the listing, except when the run is stopped or access is refused. */
const endsListing = (error: unknown): error is VendorError =>
  error instanceof VendorError && error.code !== 'INTERRUPTED' && error.kind !== 'access'

/**
 * Requests page after page, from 1. `read` returns what a page holds, and null where there is no list at all; `isPaged` whether it was
 * requested by its number; `hasPages` is false for a list that is documented as a single answer.
 * @throws what the first page throws, INTERRUPTED, and access errors
 */
export async function readListing<A>(options: {
  ask: (number: number) => Promise<A>
  read: (answer: A) => ListedPage | null
  isPaged: (answer: A) => boolean
  hasPages?: boolean
}): Promise<Listing<A>> {
  const { ask, read, isPaged, hasPages = true } = options
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
    // A page without a total does not revoke that of an earlier one.
    page = { ...held, total: held.total ?? page.total }
    const isNew = takePage(seen, held)
    stale = isNew ? 0 : stale + 1
    if (isNew || number === 1) pages.push({ answer, number })
    if (!hasPages) return ended('unpaged')
    if (held.hasMore === false && !promisesMore(page, seen)) return ended('reported')
    if (!isPaged(answer)) return ended('one-page')
    const isEmpty = held.ids.length === 0 && held.unidentified === 0
    if (!isNew && (held.hasMore !== true || stale >= MAX_STALE_PAGES)) return ended(isEmpty ? 'empty' : 'stale')
  }
  return ended('endless')
}
