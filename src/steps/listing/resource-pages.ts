// Requests a declared resource, and lands the answer.
import { emptyNotes } from '../../catalog/inspection/inspect.ts'
import type { DeclaredResource } from '../../catalog/resources/resources.ts'
import { resourcePath } from '../../client/address.ts'
import type { ResourceAnswer } from '../../client/answers.ts'
import type { Paged } from '../../client/client.ts'
import type { Receipt } from '../../client/exchange.ts'
import { type CutOff, type Listing, readListing } from '../../client/listing.ts'
import { countRemoved } from '../../client/redaction/redaction.ts'
import { isCode } from '../../core/errors.ts'
import { compactTimestamp } from '../../core/time.ts'
import { caselessPathSegment } from '../../files/path-segment.ts'
import { writeExactly } from '../../json/exact-json.ts'
import type { PageHead } from '../../landing/page.ts'
import type { FetchDependencies } from '../dependencies.ts'
import { type Heading, pageHead } from '../page-head.ts'
import type { Pending } from '../pending.ts'

export type ResourceListing = Listing<Paged<ResourceAnswer>>

/** Requests a resource: its single answer, or all of its pages. `ids` are those in its path. @throws as `readListing` */
export function fetchResource(
  { vendor, workspaceId, signal }: Pick<FetchDependencies, 'vendor' | 'workspaceId' | 'signal'>,
  resource: DeclaredResource,
  ids: readonly string[] = [],
): Promise<ResourceListing> {
  return readListing({
    ask: page => vendor.resource({ resource, workspaceId, ids, page, signal }),
    read: answer => answer.envelope,
    isPaged: answer => answer.isPaged,
    hasPages: typeof resource.paging === 'function',
    isTotalExact: resource.isTotalExact === true,
  })
}

/** A page to land, without secrets. */
export interface ResourcePage {
  receipt: Receipt
  body: Buffer
  /** The query as sent. */
  query: Readonly<Record<string, string>>
  /** Paths inside records at which secrets were removed. */
  removed: readonly string[]
  /** Ids of its records that the listing's second list also contains; omitted if the listing has none. */
  starredIds?: readonly string[]
}

/** Returns the pages of an answer, without their secrets. */
export const pagesOf = (resource: DeclaredResource, { pages }: Pick<ResourceListing, 'pages'>): ResourcePage[] =>
  pages.map(({ answer: { receipt, parsed, query, droppedPaths } }) => ({
    receipt,
    body: Buffer.from(writeExactly(parsed)),
    query,
    removed: droppedPaths.map(path => pathInRecord(resource, path)),
  }))

/** Returns the path inside a record: `teams[3].inviteToken` → `inviteToken`. */
export function pathInRecord({ envelope }: DeclaredResource, path: string): string {
  const [key = '', ...inside] = path.split('.')
  return inside.length > 0 && envelope.includes(key.replace(/\[\d+\]$/, '')) ? inside.join('.') : path
}

export interface Landing extends Heading, Pick<FetchDependencies, 'landing' | 'now'> {
  pending: Pick<Pending, 'add'>
}

/** The pages of one answer, and what is known of them. */
interface LandedAnswer {
  resource: DeclaredResource
  name: string
  ids?: readonly string[]
  pages: readonly ResourcePage[]
  cutOff: CutOff | null
  /** Why entries may be missing although the answer is not cut off. */
  gap?: string | undefined
  /** Providers that answered, for a list that unites several. */
  answeredBy?: readonly string[] | null | undefined
}

/**
 * Lands the pages of one answer as one window, named by the time and `name`. The last page lands first, so the answer
 * is complete once its first page has landed. If an answer may be cut off, none of its pages is marked as the last, and
 * the final one contains the reason.
 */
export async function landPages(fetching: Landing, answer: LandedAnswer): Promise<void> {
  // The server's time, because the newest answer is found by its name and our clock may have been set back. An earlier
  // answer may have the name if the server's clock stands still.
  let atMs = fetching.clock.at(fetching.now())
  while (!(await landAt(fetching, answer, atMs))) atMs += 1
}

/** @returns false if an answer of that time has landed */
async function landAt(fetching: Landing, answer: LandedAnswer, atMs: number): Promise<boolean> {
  const { landing, pending } = fetching
  const { resource, name, ids = [], pages, cutOff, gap, answeredBy } = answer
  const issue = cutOff?.issue ?? gap
  const window = `${compactTimestamp(atMs)}-${name}`
  const landed: [string, PageHead][] = []
  for (const [index, { receipt, body, query, removed, starredIds }] of [...pages.entries()].reverse()) {
    const isLast = index === pages.length - 1
    const head = pageHead(fetching, receipt, {
      place: { stream: resource.stream, agentId: null, window, generation: 1, sequence: index + 1 },
      ...requestedIdOf(resource, ids),
      ...(starredIds && { starredIds }),
      ...(isLast && answeredBy && { answeredBy }),
      request: { path: resourcePath(resource, { workspaceId: fetching.workspaceId, ids }), query },
      bodyBytes: body.length,
      lastPage: isLast && cutOff === null,
      ...(isLast && issue !== undefined && { cutOff: issue }),
      notes: { ...emptyNotes(), removed: countRemoved(removed) },
    })
    const address = await landing.land(head, body).catch(error => {
      if (isCode(error, 'LANDING_TAKEN')) return null
      throw error
    })
    if (address === null) return false
    landed.unshift([address, head])
  }
  for (const [path, head] of landed) pending.add(path, head)
  return true
}

/** Joins several ids into one; null for a request of the whole workspace. */
const joined = (ids: readonly string[]): string =>
  ids.length === 1 ? ids[0]! : ids.map(id => encodeURIComponent(id)).join('/')

/** Returns the requested id in a page's head: that of the record or its parent, with the agent if the record has a separate id. */
function requestedIdOf(
  { record, ids: own }: DeclaredResource,
  ids: readonly string[],
): Pick<PageHead, 'requestedId' | 'requestedAgentId'> {
  if (ids.length === 0) return {}
  if (!(record.perAgent && own)) return { requestedId: joined(ids) }
  return { requestedAgentId: ids[0]!, requestedId: joined(ids.slice(1)) }
}

/** Returns the name, without the time, of the window that answers a request by ids. */
export const windowName = ({ landedAs }: DeclaredResource, ids: readonly string[]): string =>
  ids.length === 0 ? landedAs : `${landedAs}-${caselessPathSegment(joined(ids))}`
