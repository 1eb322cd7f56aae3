// Requests a declared resource, and lands the answer.
import { emptyNotes } from '../../catalog/inspection/inspect.ts'
import type { DeclaredResource } from '../../catalog/resources/resources.ts'
import { compactTimestamp } from '../../core/time.ts'
import { caselessPathSegment } from '../../files/path-segment.ts'
import { writeExactly } from '../../json/exact-json.ts'
import type { PageHead } from '../../landing/page.ts'
import { resourcePath, resourceQuery } from '../../vendor/address.ts'
import type { ResourceAnswer } from '../../vendor/answers.ts'
import type { Paged } from '../../vendor/client.ts'
import type { Receipt } from '../../vendor/exchange.ts'
import { type CutOff, type Listing, readListing } from '../../vendor/listing.ts'
import { countRemoved } from '../../vendor/redaction/redaction.ts'
import type { FetchDependencies } from '../dependencies.ts'
import { type Heading, pageHead } from '../page-head.ts'
import type { Pending } from '../pending.ts'

const PAGE_LIMIT = 100

export type ResourceListing = Listing<Paged<ResourceAnswer>>

/** Requests a resource: its single answer, or all of its pages. `id`: the id in its path, if any. @throws as `readListing` */
export function fetchResource(
  { vendor, workspaceId, signal }: Pick<FetchDependencies, 'vendor' | 'workspaceId' | 'signal'>,
  resource: DeclaredResource,
  id?: string,
): Promise<ResourceListing> {
  return readListing({
    ask: page =>
      vendor.resource({ resource, workspaceId, page, limit: PAGE_LIMIT, signal, ...(id !== undefined && { id }) }),
    read: answer => answer.envelope,
    isPaged: answer => answer.isPaged,
    hasPages: typeof resource.paging === 'function',
  })
}

/** A page to land, without secrets. */
export interface ResourcePage {
  receipt: Receipt
  body: Buffer
  /** As sent. */
  query: Record<string, string>
  /** Paths inside records at which secrets were removed. */
  removed: readonly string[]
  /** Ids of its records that the listing has in its second list, too; absent where the listing has none. */
  starredIds?: readonly string[]
}

/** The query of a page, as sent. */
export function sentQuery(
  resource: DeclaredResource,
  workspaceId: string,
  { answer: { isPaged }, number: page }: ResourceListing['pages'][number],
): Record<string, string> {
  const query = resourceQuery(resource, isPaged ? { workspaceId, page, limit: PAGE_LIMIT } : undefined)
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]))
}

/** The pages of an answer, without their secrets. */
export const pagesOf = (
  resource: DeclaredResource,
  workspaceId: string,
  { pages }: Pick<ResourceListing, 'pages'>,
): ResourcePage[] =>
  pages.map(page => ({
    receipt: page.answer.receipt,
    body: Buffer.from(writeExactly(page.answer.parsed)),
    query: sentQuery(resource, workspaceId, page),
    removed: page.answer.droppedPaths.map(path => pathInRecord(resource, path)),
  }))

/** `teams[3].inviteToken` → `inviteToken`. */
export function pathInRecord({ envelope }: DeclaredResource, path: string): string {
  const [key = '', ...inside] = path.split('.')
  return inside.length > 0 && envelope.includes(key.replace(/\[\d+\]$/, '')) ? inside.join('.') : path
}

export interface Landing extends Heading, Pick<FetchDependencies, 'landing' | 'now'> {
  pending: Pick<Pending, 'add'>
}

/**
 * Lands the pages of one answer as one window, named by the time and `name`. The last page lands first, so the answer is complete once its
 * first page has landed. No page of an answer that may be cut off is marked as the last; the final one holds the reason instead.
 */
export async function landPages(
  fetching: Landing,
  answer: {
    resource: DeclaredResource
    name: string
    id?: string
    pages: readonly ResourcePage[]
    cutOff: CutOff | null
  },
): Promise<void> {
  const { clock, landing, now, pending } = fetching
  const { resource, name, id, pages, cutOff } = answer
  // The server's time, because the newest answer is found by its name and our clock may have been set back.
  const window = `${compactTimestamp(clock.at(now()))}-${name}`
  const landed: [string, PageHead][] = []
  for (const [index, { receipt, body, query, removed, starredIds }] of [...pages.entries()].reverse()) {
    const isLast = index === pages.length - 1
    const head = pageHead(fetching, receipt, {
      place: { stream: resource.stream, agentId: null, window, generation: 1, sequence: index + 1 },
      ...(id !== undefined && { requestedId: id }),
      ...(starredIds && { starredIds }),
      request: { path: resourcePath(resource, id), query },
      bodyBytes: body.length,
      lastPage: isLast && cutOff === null,
      ...(isLast && cutOff && { cutOff: cutOff.issue }),
      notes: { ...emptyNotes(), removed: countRemoved(removed) },
    })
    landed.unshift([await landing.land(head, body), head])
  }
  for (const [path, head] of landed) pending.add(path, head)
}

/** The name, without the time, of the window that answers a request by id. */
export const windowName = ({ landedAs }: DeclaredResource, id: string): string =>
  `${landedAs}-${caselessPathSegment(id)}`
