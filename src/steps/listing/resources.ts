// Requests resources by id at the end of a sync, when the loaded rows supply the ids: organizations and their teams,
// then resources of each agent, and of the workspace. None of these requests is metered.
//
//   known ids ──▶ due? ──▶ request ──▶ land ──▶ children that are due ──▶ land ──▶ load
//
// The name of the landed page records when an id was last requested, even if the vendor has no such id. A request that
// fails leaves no page, so the next sync repeats it.
import type { Failure } from '../../../workflows/steps.ts'
import { AGENTS } from '../../catalog/resources/agents.ts'
import { withoutBodies } from '../../catalog/resources/crawler-pages.ts'
import { isById, type ResourceById } from '../../catalog/resources/resource.ts'
import { type DeclaredResource, requestedBy, requestedIds } from '../../catalog/resources/resources.ts'
import { answeredProviders, failedProviders, VOICE_PROVIDERS } from '../../catalog/resources/voices.ts'
import { isSegment } from '../../client/address.ts'
import { VendorError } from '../../client/faults.ts'
import { type LogPage, readLog } from '../../client/log-pages.ts'
import type { ErrorCode } from '../../core/errors.ts'
import { parseCount } from '../../core/quota/reported-usage.ts'
import {
  type KnownId,
  knownIds,
  type LastRequest,
  lastRequested,
  newestEntrySec,
} from '../../warehouse/planning/known-ids.ts'
import { knownAgents, storedProviders } from '../../warehouse/planning/planner-queries.ts'
import type { IdsByOwner } from '../dependencies.ts'
import { failureOf } from '../export/fetch.ts'
import type { ResourceFetching } from '../planning/facts.ts'
import { fetchResource, landPages, pagesOf, type ResourceListing, windowName } from './resource-pages.ts'

/** Number of ids whose resources are requested at once: one after the other, 40 agents of a slow vendor took nine minutes. */
const CONCURRENT_IDS = 4

/** Maximum number of a resource's ids that one run requests; the next run continues. */
const IDS_PER_RUN = 50

type Requested = DeclaredResource & ResourceById

/** Functions for resources that a general request cannot read. */
const OWN_WAY: Partial<Record<Requested['stream'], typeof fetchAuditLog>> = {
  audit_log: fetchAuditLog,
  crawler_pages: fetchCrawlerPage,
  voices: fetchVoices,
}

/** The ids of a path, and the resources to request by them, in order. */
interface Due {
  ids: readonly string[]
  resources: Requested[]
  /** Time of the last request for one of the resources; -Infinity for never. */
  lastMs: number
}

/**
 * Requests and lands the resources that are due; their pages are pending when this resolves. The next run repeats
 * unanswered requests. `only`: names of resources, instead of the configured ones.
 * @returns the first failure, apart from refusals of single requests (400)
 * @throws HOME_UNUSABLE
 */
export async function fetchResources(fetching: ResourceFetching, only?: readonly string[]): Promise<Failure | null> {
  const { signal, stopping } = fetching
  const failed = new FailedRequests()
  const isStopped = () => failed.isOver || signal.aborted || stopping?.aborted === true
  for (const resource of requestedIds()) {
    if (isStopped()) break
    const left = longestWaiting(await dueIds(fetching, resource, only))
    for (let isFirst = true; left.length > 0 && !isStopped(); isFirst = false) {
      fetching.onFinishing?.({ work: 'resources', left: left.length })
      // One at a time until the vendor has answered, and while a resource fails, so that few requests are wasted.
      const next = left.splice(0, isFirst || failed.isDoubtful ? 1 : CONCURRENT_IDS)
      const ended = await Promise.allSettled(next.map(due => fetchById(fetching, due, failed)))
      for (const one of ended) if (one.status === 'rejected') throw one.reason
    }
  }
  return failed.first
}

/**
 * Returns the minimum number of requests that a sync of these agents would make now; lists may have several pages.
 * Agents that are not stored yet also count.
 */
export async function countDue(
  fetching: ResourceFetching,
  { agents, only }: { agents: readonly string[]; only: readonly string[] | undefined },
): Promise<number> {
  let requests = 0
  for (const resource of requestedIds()) {
    const due = longestWaiting(await dueIds(fetching, resource, only))
    requests += due.reduce((sum, { resources }) => sum + resources.length, 0)
    if (resource.stream !== AGENTS.stream) continue
    const stored = new Set(
      (await knownAgents(fetching.warehouse.writer, fetching.workspaceId)).map(({ agentId }) => agentId),
    )
    const unstored = agents.filter(id => !stored.has(id)).slice(0, IDS_PER_RUN)
    requests += unstored.length * chosen(fetching, requestedBy(resource), only).length
  }
  return requests
}

/** Returns the resources that the request chooses, or else the configuration. */
const chosen = <R extends Requested>(
  { settings }: ResourceFetching,
  resources: R[],
  only: readonly string[] | undefined,
): R[] => resources.filter(({ stream }) => (only ?? settings.resources).includes(stream))

/** Returns those that this run requests: if not all fit, those with the oldest last request. */
const longestWaiting = (due: Due[]): Due[] =>
  due.length <= IDS_PER_RUN ? due : due.sort((a, b) => a.lastMs - b.lastMs).slice(0, IDS_PER_RUN)

/** Requests the record of an id, then its children at once. If the vendor lacks or refuses the id, no child is requested. */
async function fetchById(fetching: ResourceFetching, { ids, resources }: Due, failed: FailedRequests): Promise<void> {
  const fetchIt = async (resource: Requested) =>
    !failed.isGivenUp(resource) && !failed.isOver && (await fetchOne(fetching, { ids, resource }, failed))
  const own = resources.filter(({ parent }) => parent === null)
  for (const resource of own) if (!(await fetchIt(resource))) return
  // All have ended when an error is thrown, so none lands a page afterwards.
  const ended = await Promise.allSettled(resources.filter(({ parent }) => parent !== null).map(fetchIt))
  for (const request of ended) if (request.status === 'rejected') throw request.reason
}

/** Requests and lands one resource. @returns true if the vendor has it */
async function fetchOne(
  fetching: ResourceFetching,
  { ids, resource }: { ids: readonly string[]; resource: Requested },
  failed: FailedRequests,
): Promise<boolean> {
  let answer: ResourceListing
  try {
    answer = await (OWN_WAY[resource.stream] ?? fetchResource)(fetching, resource, ids)
  } catch (error) {
    if (!(error instanceof VendorError)) throw error
    failed.failed(resource, error)
    return false
  }
  failed.succeeded(resource)
  for (const { answer: page } of answer.pages) fetching.clock.observe(page.receipt)
  const { cutOff, gap } = answer
  const answeredBy = resource.answeredBy?.(answer.pages[0]?.answer.parsed)
  await landPages(fetching, {
    ...{ resource, name: windowName(resource, ids), ids },
    ...{ pages: pagesOf(resource, answer), cutOff, gap, answeredBy },
  })
  if (resource.stream === 'voices') await landProviders(fetching, answer)
  return answer.pages[0]?.answer.envelope !== null
}

/** Returns the ids of a resource for which requests are due. Those whose own record is due come first. */
async function dueIds(
  fetching: ResourceFetching,
  resource: DeclaredResource,
  only: readonly string[] | undefined,
): Promise<Due[]> {
  const { warehouse, workspaceId, clock, now } = fetching
  const streams = chosen(fetching, requestedBy(resource), only)
  if (streams.length === 0) return []
  const nowMs = clock.at(now())
  const ids = await usableIds(fetching, resource, nowMs)
  if (ids.length === 0) return []
  const requests = new Map<Requested, Map<string, LastRequest>>()
  for (const stream of streams) requests.set(stream, await lastRequested(warehouse.writer, workspaceId, stream))
  const lastOf = (requested: Requested, { ids: path }: KnownId) =>
    requests.get(requested)?.get(windowName(requested, path)) ?? { atMs: Number.NEGATIVE_INFINITY, status: 0 }
  const isDue = (requested: Requested, known: KnownId) => {
    const { everyMs, absentEveryMs = everyMs } = requested.freshness
    const { atMs, status } = lastOf(requested, known)
    const ageMs = status === 404 ? absentEveryMs : everyMs
    return atMs <= Math.max(nowMs - ageMs, known.changedMs[requested.stream] ?? 0)
  }
  const isOwnLeftOut = isById(resource) && !streams.some(({ stream }) => stream === resource.stream)
  const due = ids.map(known => {
    const own = streams.filter(stream => stream.stream === resource.stream && isDue(stream, known))
    // An id that no listing has returned may not exist: its children are requested only together with its own record.
    const mayHaveChildren = own.length > 0 || known.isListed || isOwnLeftOut
    const children = streams.filter(
      stream => stream.stream !== resource.stream && mayHaveChildren && isDue(stream, known),
    )
    const resources = [...own, ...children]
    const lastMs = Math.min(...resources.map(requested => lastOf(requested, known).atMs))
    return { ids: known.ids, own, resources, lastMs }
  })
  return [
    ...due.filter(({ own }) => own.length > 0),
    ...due.filter(({ own, resources }) => own.length === 0 && resources.length > 0),
  ]
}

/** Returns the ids from the configuration and the tables that a URL can carry. */
async function usableIds(
  { warehouse, workspaceId, settings }: ResourceFetching,
  resource: DeclaredResource,
  nowMs: number,
): Promise<KnownId[]> {
  const known = await knownIds(warehouse.writer, workspaceId, resource, nowMs)
  const held = new Set(known.map(({ ids }) => JSON.stringify(ids)))
  const configured = resource.ids ? configuredIds(settings[resource.ids.setting]) : []
  const others = configured.filter(ids => !held.has(JSON.stringify(ids)))
  return [...others.map(ids => ({ ids, isListed: false, changedMs: {} })), ...known].filter(({ ids }) =>
    ids.every(isSegment),
  )
}

/** Returns the configured ids of request paths: `[id]`, or `[owner, id]`. */
const configuredIds = (setting: readonly string[] | IdsByOwner): string[][] =>
  isList(setting)
    ? setting.map(id => [id])
    : Object.entries(setting).flatMap(([owner, ids]) => ids.map(id => [owner, id]))

const isList = (setting: readonly string[] | IdsByOwner): setting is readonly string[] => Array.isArray(setting)

/** Requests a page of a crawler job, and drops its Markdown and HTML unless the configuration keeps them. @throws as `readListing` */
async function fetchCrawlerPage(
  fetching: ResourceFetching,
  resource: DeclaredResource,
  ids: readonly string[],
): Promise<ResourceListing> {
  const listing = await fetchResource(fetching, resource, ids)
  if (fetching.settings.keepsCrawlerBodies) return listing
  const pages = listing.pages.map(page => ({
    ...page,
    answer: { ...page.answer, parsed: withoutBodies(page.answer.parsed) },
  }))
  return { ...listing, pages }
}

type Answer = ResourceListing['pages'][number]['answer']

/** Reads the audit log back to the newest stored entry. @throws as `readLog` */
async function fetchAuditLog(
  { vendor, warehouse, workspaceId, signal }: ResourceFetching,
  resource: DeclaredResource,
  ids: readonly string[],
): Promise<ResourceListing> {
  return readLog({
    ask: ({ page, cursor, limit }) => vendor.resource({ resource, workspaceId, ids, page, cursor, limit, signal }),
    read: logPage,
    limit: resource.pageLimit ?? 100,
    untilSec: await newestEntrySec(warehouse.writer, workspaceId, ids[0]!),
  })
}

/** Parses a page of the log; null if the vendor does not have the agent. */
function logPage({ envelope, parsed }: Answer): LogPage | null {
  if (envelope === null) return null
  const { nextCursorTs } = parsed as { nextCursorTs?: unknown }
  const times = envelope.records.flatMap(({ record }) => parseCount(record.ts) ?? [])
  return { ids: envelope.ids, times, nextCursor: parseCount(nextCursorTs) }
}

const CHANGED = 'a provider failed or answered while the pages were read, so pages may overlap or leave a gap'

/** Requests the voices of all providers; the list is cut off if a provider's state changed between pages. @throws as `readListing` */
async function fetchVoices(
  fetching: ResourceFetching,
  resource: DeclaredResource,
  ids: readonly string[],
): Promise<ResourceListing> {
  const listing = await fetchResource(fetching, resource, ids)
  const answered = new Set(listing.pages.map(({ answer: { parsed } }) => JSON.stringify(answeredProviders(parsed))))
  if (answered.size < 2 || listing.cutOff) return listing
  return { ...listing, cutOff: { issue: CHANGED, detail: CHANGED } }
}

/** Lands the providers of a list of voices. A provider's earlier answers stay stored. */
async function landProviders(fetching: ResourceFetching, { pages }: ResourceListing): Promise<void> {
  const { receipt, parsed, query } = pages[0]!.answer
  const stored = await storedProviders(fetching.warehouse.writer, fetching.workspaceId)
  const failed = failedProviders(parsed)
  const atMs = fetching.clock.at(receipt.sentAtMs)
  const providers = [...new Set([...(answeredProviders(parsed) ?? []), ...failed.keys()])].map(provider => {
    const known = stored.get(provider)
    const isFailing = failed.has(provider)
    return {
      provider,
      failed: isFailing,
      lastSuccessAt: isFailing ? (known?.successMs ?? null) : atMs,
      lastFailureAt: isFailing ? atMs : (known?.failureMs ?? null),
      lastError: isFailing ? failed.get(provider) : (known?.error ?? null),
    }
  })
  if (providers.length === 0) return
  const body = Buffer.from(JSON.stringify({ providers }))
  await landPages(fetching, {
    resource: VOICE_PROVIDERS,
    name: windowName(VOICE_PROVIDERS, []),
    pages: [{ receipt, body, query, removed: [] }],
    cutOff: null,
  })
}

/** A run stops requesting a resource after this many consecutive failures. */
const MAX_FAILURES = 3

const ENDS_ALL: readonly ErrorCode[] = ['INTERRUPTED', 'API_UNAUTHORIZED', 'API_RATE_LIMITED']

/** Counts a run's failed requests, to decide when to give up a resource or the whole run. */
class FailedRequests {
  /** The first failure that the user should know about. */
  first: Failure | null = null
  /** True if the run makes no more requests. */
  isOver = false
  private readonly inARow = new Map<string, number>()
  private isUnanswered = false

  /** True if the run makes no more requests for this resource. */
  isGivenUp({ stream }: DeclaredResource): boolean {
    return (this.inARow.get(stream) ?? 0) >= MAX_FAILURES
  }

  /** True while a resource has failed and is not given up. */
  get isDoubtful(): boolean {
    return [...this.inARow.values()].some(failures => failures < MAX_FAILURES)
  }

  succeeded({ stream }: DeclaredResource): void {
    this.inARow.delete(stream)
    this.isUnanswered = false
  }

  failed(resource: DeclaredResource, error: VendorError): void {
    const { code, facts } = error
    this.isOver = ENDS_ALL.includes(code)
    if (code !== 'INTERRUPTED' && code !== 'API_BAD_REQUEST') this.first ??= failureOf(error)
    if (this.isOver) return
    const isUnanswered = facts.status === undefined || code === 'API_TIMEOUT'
    this.isOver = isUnanswered && this.isUnanswered
    this.isUnanswered = isUnanswered
    if (concernsOneId(resource, error)) return
    const { stream } = resource
    this.inARow.set(stream, isUnanswered ? MAX_FAILURES : (this.inARow.get(stream) ?? 0) + 1)
  }
}

/**
 * True for a refusal of this id alone. A 404 without the vendor's error body affects all ids, since the endpoint may be
 * missing. A 403 affects one if ids come from other records, since they may belong to another workspace.
 */
const concernsOneId = (resource: DeclaredResource, error: VendorError): boolean =>
  (['API_BAD_REQUEST', 'API_PROTOCOL'].includes(error.code) && error.facts.status !== 404) ||
  (error.code === 'API_FORBIDDEN' && resource.ids !== undefined)
