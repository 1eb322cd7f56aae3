// Requests resources by id at the end of a sync, when the loaded rows supply the ids: organizations and their teams, then the tools of each
// agent. None of these requests is metered.
//
//   known ids ──▶ due? ──▶ request ──▶ land ──▶ children that are due ──▶ land ──▶ load
//
// The name of the landed page records when an id was last requested, also where the vendor has no such id. A request that fails leaves no
// page, so the next sync makes it again.
import type { Failure } from '../../../workflows/steps.ts'
import type { ResourceById } from '../../catalog/resources/resource.ts'
import { type DeclaredResource, requestedBy, requestedIds } from '../../catalog/resources/resources.ts'
import { isCode } from '../../core/errors.ts'
import { isSegment } from '../../vendor/address.ts'
import { VendorError } from '../../vendor/faults.ts'
import { type KnownId, knownIds, lastRequested } from '../../warehouse/planning/known-ids.ts'
import { failureOf } from '../export/fetch.ts'
import type { Planning } from '../planning/prepare.ts'
import { fetchResource, landPages, pagesOf, windowName } from './resource-pages.ts'

/** Maximum of a resource's ids for which one run makes requests; the next run continues. */
const IDS_PER_RUN = 50

type Requested = DeclaredResource & ResourceById

/** An id, and the resources to request by it, in order. */
interface Due {
  id: string
  resources: Requested[]
}

/**
 * Requests and lands the resources that are due; their pages are pending when this resolves. Unanswered requests are left to the next run.
 * @returns the first failure that concerns more than one id
 * @throws HOME_UNUSABLE
 */
export async function fetchResources(fetching: Planning): Promise<Failure | null> {
  let first: Failure | null = null
  for (const resource of requestedIds()) {
    const failure = await fetchDue(fetching, resource)
    first ??= failure
    // One endpoint may be missing while the others work.
    if (failure !== null && failure.code !== 'API_PROTOCOL') break
  }
  return first
}

/** Requests all that is due by the ids of one resource. @returns the failure that ended the requests, or null */
async function fetchDue(fetching: Planning, resource: DeclaredResource): Promise<Failure | null> {
  const { signal, stopping } = fetching
  for (const due of (await dueIds(fetching, resource)).slice(0, IDS_PER_RUN)) {
    if (signal.aborted || stopping?.aborted) return null
    try {
      await fetchById(fetching, due)
    } catch (error) {
      if (!(error instanceof VendorError)) throw error
      if (isCode(error, 'INTERRUPTED')) return null
      if (!concernsOneId(error)) return failureOf(error)
    }
  }
  return null
}

/** Requests the resources of one id in turn. An id that the vendor does not have has no children either. */
async function fetchById(fetching: Planning, { id, resources }: Due): Promise<void> {
  for (const resource of resources) {
    const answer = await fetchResource(fetching, resource, id)
    for (const { answer: page } of answer.pages) fetching.clock.observe(page.receipt)
    const pages = pagesOf(resource, fetching.workspaceId, answer)
    await landPages(fetching, { resource, name: windowName(resource, id), id, pages, cutOff: answer.cutOff })
    if (resource.parent === null && answer.pages[0]?.answer.envelope === null) return
  }
}

/** True for a refusal of this id alone. A 404 without the vendor's error body concerns all ids: the endpoint may be missing. */
const concernsOneId = (error: VendorError): boolean =>
  isCode(error, 'API_BAD_REQUEST', 'API_PROTOCOL') && error.facts.status !== 404

/** The ids of a resource for which requests are due. Those whose own record is due come first. */
async function dueIds(fetching: Planning, resource: DeclaredResource): Promise<Due[]> {
  const { warehouse, workspaceId, clock, now } = fetching
  const streams = requestedBy(resource)
  const nowMs = clock.at(now())
  const ids = await usableIds(fetching, resource, nowMs)
  if (ids.length === 0) return []
  const requestedMs = new Map<Requested, Map<string, number>>()
  for (const stream of streams) requestedMs.set(stream, await lastRequested(warehouse.writer, workspaceId, stream))
  const isDue = (requested: Requested, { id, changedMs }: KnownId) => {
    const lastMs = requestedMs.get(requested)?.get(windowName(requested, id)) ?? Number.NEGATIVE_INFINITY
    return lastMs <= Math.max(nowMs - requested.freshness.everyMs, changedMs[requested.stream] ?? 0)
  }
  const due = ids.map(known => {
    const own = streams.filter(stream => stream.stream === resource.stream && isDue(stream, known))
    // An id that no listing has returned may not exist: its children are requested only together with its own record.
    const mayHaveChildren = own.length > 0 || known.isListed
    const children = streams.filter(stream => stream.parent !== null && mayHaveChildren && isDue(stream, known))
    return { id: known.id, own, resources: [...own, ...children] }
  })
  return [
    ...due.filter(({ own }) => own.length > 0),
    ...due.filter(({ own, resources }) => own.length === 0 && resources.length > 0),
  ]
}

/** Ids from the configuration and the tables that a URL can carry. */
async function usableIds(
  { warehouse, workspaceId, settings }: Planning,
  resource: DeclaredResource,
  nowMs: number,
): Promise<KnownId[]> {
  const known = await knownIds(warehouse.writer, workspaceId, resource, nowMs)
  const held = new Set(known.map(({ id }) => id))
  const configured = resource.ids ? settings[resource.ids.setting] : []
  const others = configured.filter(id => !held.has(id)).map(id => ({ id, isListed: false, changedMs: {} }))
  return [...others, ...known].filter(({ id }) => isSegment(id))
}
