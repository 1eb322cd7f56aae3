// Reading a listing to its end. The document says neither how agents and teams are paged nor how their last page is told (notes on
// the API, "Other endpoints"), so the end is believed only where something proves it:
//
//   hasMore: false, and no more in `total`       over, complete
//   an empty page, and nothing tells of more     over, complete
//   a page that brings nothing new               over; complete only where `total` says so
//   parameters refused, so there is one page     over; complete only where `total` or `hasMore: false` says so
//   a page that fails, or pages without end      over, cut off
//
// Every page before the last brings something new, so it ends whatever the vendor answers.

import type { ConvohouseError } from '../core/errors.ts'
import { VendorError } from './vendor-error.ts'

/** What a page tells of its listing. */
export interface ListedPage {
  /** Ids of the list that is paged. */
  ids: readonly string[]
  /** Ids that may come on every page besides: starred agents. */
  besides: readonly string[]
  /** Entries without an id. */
  unidentified: number
  /** As the vendor counts them; null where it does not. */
  total: number | null
  hasMore: boolean | null
}

/** Why a listing may not hold all that there is. `issue` is the same whatever the numbers are. */
export interface CutOff {
  issue: string
  detail: string
}

export interface Listing<A> {
  /** Pages that brought something new, and the first one; each with its number. */
  pages: { answer: A; number: number }[]
  /** Null where it is known to be complete: only then an absence says anything. */
  cutOff: CutOff | null
}

/** Past this many pages the vendor does not come to an end. */
const MAX_PAGES = 1_000

/** Pages in a row without anything new, where the vendor says that there is more. */
const MAX_STALE_PAGES = 2

type End = 'told' | 'empty' | 'stale' | 'one-page' | 'endless' | ConvohouseError

interface Seen {
  listed: Set<string>
  all: Set<string>
  unidentified: number
}

/** True where the page brings an id that no page before it has listed. */
function takePage(seen: Seen, { ids, besides, unidentified }: ListedPage): boolean {
  // An agent that was starred on an earlier page is new to the list: the page moves on.
  const isNews = ids.some(id => !seen.listed.has(id)) || besides.some(id => !seen.all.has(id))
  for (const id of ids) seen.listed.add(id)
  for (const id of [...ids, ...besides]) seen.all.add(id)
  seen.unidentified += unidentified
  return isNews
}

const tellsOfMore = ({ total }: ListedPage, { listed, unidentified }: Seen): boolean =>
  total !== null && listed.size + unidentified < total

function cutOffOf(end: End, { total, hasMore }: ListedPage, { listed, all, unidentified }: Seen): CutOff | null {
  const told = total === null ? `${all.size} listed` : `${all.size} of ${total} listed`
  const because = (issue: string, detail = told): CutOff => ({ issue, detail })
  if (typeof end === 'object') return because('a page of it failed', `${told}, then ${end.code}: ${end.message}`)
  if (end === 'endless')
    return because('the vendor answers page after page without an end', `${told} on ${MAX_PAGES} pages`)
  if (hasMore === true) return because('the vendor reports more entries and returns no new ones')
  if (total !== null && all.size + unidentified < total)
    return because('the vendor reports more entries in total than it returns')
  if (unidentified > 0) return because('some entries have no ID', `${told}, ${unidentified} without an ID`)
  if (end === 'told' || end === 'empty' || listed.size === total || all.size === total) return null
  return end === 'one-page'
    ? because('the vendor refuses paging parameters and does not report whether the listing is complete')
    : because('the vendor returns the same page again and does not report whether the listing is complete')
}

/** What keeps a later page from coming ends the listing; that somebody wants it stopped, or that nobody may ask, does not. */
const endsListing = (error: unknown): error is VendorError =>
  error instanceof VendorError && error.code !== 'INTERRUPTED' && error.kind !== 'access'

/**
 * Asks for page after page, from 1. `read` tells what a page holds, and null where there is no list at all; `isPaged` whether it was
 * asked for by its number. @throws what the first page throws, INTERRUPTED, and access errors
 */
export async function readListing<A>(options: {
  ask: (number: number) => Promise<A>
  read: (answer: A) => ListedPage | null
  isPaged: (answer: A) => boolean
}): Promise<Listing<A>> {
  const { ask, read, isPaged } = options
  const seen: Seen = { listed: new Set(), all: new Set(), unidentified: 0 }
  const pages: Listing<A>['pages'] = []
  let page: ListedPage = { ids: [], besides: [], unidentified: 0, total: null, hasMore: null }
  let stale = 0
  const over = (end: End): Listing<A> => ({ pages, cutOff: cutOffOf(end, page, seen) })
  for (let number = 1; number <= MAX_PAGES; number++) {
    let answer: A
    try {
      answer = await ask(number)
    } catch (error) {
      if (number === 1 || !endsListing(error)) throw error
      return over(error)
    }
    const told = read(answer)
    if (told === null) return { pages: [{ answer, number }], cutOff: null }
    // A page that counts nothing does not take back what one before it counted.
    page = { ...told, total: told.total ?? page.total }
    const isNews = takePage(seen, told)
    stale = isNews ? 0 : stale + 1
    if (isNews || number === 1) pages.push({ answer, number })
    if (!isPaged(answer)) return over('one-page')
    if (told.hasMore === false && !tellsOfMore(page, seen)) return over('told')
    const isEmpty = told.ids.length === 0 && told.unidentified === 0
    if (!isNews && (told.hasMore !== true || stale >= MAX_STALE_PAGES)) return over(isEmpty ? 'empty' : 'stale')
  }
  return over('endless')
}
