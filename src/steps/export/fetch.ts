// Fetches a window under a lease, page by page from its frontier. Each page is durable before the next request, so a
// kill costs at most the request in flight.

import type { Failure, LeaseAnswers, LeaseOutcome } from '../../../workflows/steps.ts'
import { emptyNotes } from '../../catalog/inspection/inspect.ts'
import { AGENTS } from '../../catalog/resources/agents.ts'
import { exportPath } from '../../client/address.ts'
import type { ExportAnswer } from '../../client/answers.ts'
import { VendorError } from '../../client/faults.ts'
import type { AttemptOutcome } from '../../client/http/attempts.ts'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import { type Grant, SPARE_REQUESTS } from '../../core/governor/governor.ts'
import type { Answer } from '../../core/governor/lease-entries.ts'
import { billOf, mostSessionsShown } from '../../core/planning/estimate.ts'
import { largestPage } from '../../core/planning/failed-pages.ts'
import { isAtRest } from '../../core/planning/no-progress.ts'
import { holdsOnlyOthers } from '../../core/planning/window-ids.ts'
import { advance, countsSince } from '../../core/planning/window-progress.ts'
import { nextRequest, restarted, type WindowQuery } from '../../core/planning/window-query.ts'
import { newProgress, openWindow, type PageFacts, type WindowProgress } from '../../core/planning/windows.ts'
import { fitsReport } from '../../core/quota/billing-period.ts'
import { compactTimestamp, DAY, EARLIEST_MS } from '../../core/time.ts'
import { caselessPathSegment } from '../../files/path-segment.ts'
import type { PageHead } from '../../landing/page.ts'
import { folderOf } from '../../landing/page-address.ts'
import type { CircuitBreaker, FetchDependencies } from '../dependencies.ts'
import { withoutForgotten } from '../forgetting/forgotten-pages.ts'
import type { Landing } from '../listing/resource-pages.ts'
import { pageHead } from '../page-head.ts'
import type { Pending } from '../pending.ts'
import type { ServerClock } from '../server-clock.ts'
import { exportHead, textQuery } from './export-head.ts'
import { recoverFailedPage, selectionFails } from './failed-page.ts'

export interface Fetching extends FetchDependencies {
  clock: ServerClock
  breaker: CircuitBreaker
  /** Collects the pages to load. */
  pending: Pick<Pending, 'add'>
  run: string
}

/** Requests and sessions that one lease has used so far. */
interface Used {
  requests: number
  sessions: number
  answers: Answer[]
}

export const failureOf = (error: unknown): Failure => {
  if (!(error instanceof ConvohouseError)) throw error
  return { code: error.code, kind: error.kind, what: error.message, hint: error.hint ?? null }
}

async function logAnswer(
  fetching: Fetching,
  grant: Grant,
  agentId: string,
  answer: Answer,
  error: string | null,
): Promise<void> {
  await fetching.leaseLog.append({ kind: 'request', lease: grant.lease, agentId, error, ...answer })
}

/** Logs failed attempts immediately. The attempt that succeeds is logged later, with the sessions that it billed. */
function observer(
  fetching: Fetching,
  grant: Grant,
  agentId: string,
  used: Used,
  allow: (attempt: number) => boolean,
  { isProbe = false } = {},
) {
  return {
    allow,
    outcome: async (outcome: AttemptOutcome) => {
      if (!outcome.unsent) used.requests += 1
      if (outcome.error === null) return
      // A page may have been billed although its answer was lost.
      if (outcome.status !== 429 && !outcome.unsent && !isProbe) used.sessions += grant.pageSessions
      const answer: Answer = {
        sentAtMs: outcome.sentAtMs,
        receivedAtMs: outcome.receivedAtMs,
        // An unreadable answer reports no usage, so it counts as no answer.
        status: outcome.status === 200 ? null : outcome.status,
        ...(outcome.error === 'INTERRUPTED' && { givenUp: true }),
        ...(outcome.unsent && { unsent: true }),
        ...(isProbe && { isProbe }),
        returned: 0,
        billed: 0,
        usage: null,
        rateLimit: null,
        retryAfterMs: outcome.retryAfterMs,
      }
      used.answers.push(answer)
      await logAnswer(fetching, grant, agentId, answer, outcome.error)
    },
  }
}

/** True while the lease may make another request, regardless of what the request bills. */
const mayRequest = (fetching: Fetching, grant: Grant, used: Used, trips: number): boolean =>
  used.requests < grant.requests &&
  fetching.now() < grant.deadlineMs &&
  !fetching.signal.aborted &&
  !fetching.stopping?.aborted &&
  fetching.breaker.trips() === trips

/** True while the lease may request a page. Two requests are spared for a failing page: its repetition and an empty window. */
const mayRequestPage = (fetching: Fetching, grant: Grant, used: Used, trips: number, attempt = 1): boolean =>
  used.sessions + grant.pageSessions <= grant.sessions &&
  used.requests < Math.max(1, grant.requests - (attempt === 1 ? SPARE_REQUESTS : 1)) &&
  mayRequest(fetching, grant, used, trips)

async function keepBytes(fetching: Fetching, agentId: string, error: unknown): Promise<void> {
  const exchange = error instanceof VendorError ? error.exchange : undefined
  if (!exchange || exchange.body.length === 0) return
  await fetching.landing.landFailed({ atMs: exchange.sentAtMs, agentId, status: exchange.status, body: exchange.body })
}

/** True for a 200 that cannot be read: it may contain billed conversations, so its bytes are kept. */
const mayBeBilled = (error: unknown): boolean => error instanceof VendorError && error.exchange?.status === 200

/** Returns the failure of a lease; null if the lease only ran out of requests. */
function leaseFailure(fetching: Fetching, error: unknown): Failure | null {
  if (isCode(error, 'HOUR_SPENT')) return null
  const failure = failureOf(error)
  // A storage error also trips the breaker: a full disk cannot store further pages, which would still be billed.
  if (failure.kind === 'transient' || failure.kind === 'storage') fetching.breaker.trip()
  return failure
}

const answerOf = (answer: ExportAnswer): Answer => ({
  sentAtMs: answer.exchange.sentAtMs,
  receivedAtMs: answer.exchange.receivedAtMs,
  status: 200,
  returned: answer.envelope.data.length,
  billed: billOf(answer.envelope.data, answer.envelope.usage?.billableUsedThisRequest ?? null),
  mostSessions: mostSessionsShown(answer.envelope.data),
  usage: answer.envelope.usage,
  rateLimit: answer.envelope.rateLimit,
  retryAfterMs: null,
})

/** Lands a page without the records of forgotten people, and adds it to those to load. @throws HOME_UNUSABLE, LANDING_TAKEN */
async function landKept({ landing, pending, now }: Fetching, head: PageHead, body: Buffer): Promise<void> {
  const forgotten = await landing.forgotten()
  const kept = withoutForgotten(forgotten, { head, body }) ?? { head, body, begun: [] }
  const address = await landing.land(kept.head, kept.body)
  const current = await landing.forgotten()
  // A tombstone has been written meanwhile, and its erasure may have listed the pages before this one landed.
  if (current.stamp !== forgotten.stamp)
    await landing.rewrite(page => withoutForgotten(current, page), [folderOf(address)])
  pending.add(address, kept.head)
  const begun = kept.begun.map(id => ({ agentId: head.place.agentId!, id }))
  if (begun.length > 0) await landing.rememberBegun(begun, now())
}

/** `unlogged`: the error of the lease log; null if it has the answer. @throws the error of landing */
async function landPage(
  fetching: Fetching,
  grant: Grant,
  used: Used,
  page: { progress: WindowProgress; query: WindowQuery; answer: ExportAnswer },
): Promise<{ facts: PageFacts; unlogged: unknown }> {
  const { progress, answer } = page
  const { agentId } = progress.window
  fetching.clock.observe(answer.exchange)
  const head = exportHead(fetching, { ...page, grant })
  const received = answerOf(answer)
  // After an answer that contradicts the leases' knowledge of the quota, the governor decides.
  if (received.usage && !fitsReport(grant.period, received.usage, grant.pageSessions)) fetching.breaker.trip()
  // Waits for both, since neither may continue in the background after the other fails.
  const [landed, written] = await Promise.allSettled([
    landKept(fetching, head, answer.exchange.body),
    logAnswer(fetching, grant, agentId, received, null),
  ])
  // Counted first, because the page is billed even if it could not land.
  used.answers.push(received)
  used.sessions += received.billed ?? received.returned
  if (landed.status === 'rejected') throw landed.reason
  fetching.onPage?.({ agentId, records: received.returned, billed: received.billed })
  return { facts: head.facts!, unlogged: written.status === 'rejected' ? written.reason : null }
}

/**
 * Logs the lease before its first request, and its end after the last one. An error of `work` leaves the lease without
 * an end. A workflow that gives up a lease checks the log afterwards: a lease that is not in the log yet is never used.
 * If the end cannot be logged, the outcome says so and keeps the answers, which are billed.
 */
async function underLease<T extends LeaseAnswers>(
  fetching: Fetching,
  grant: Grant,
  { agentId, window, unused }: { agentId: string; window: string; unused: T },
  work: () => Promise<T>,
): Promise<T> {
  const { requests, sessions, pageSessions, deadlineMs, lease } = grant
  const atMs = fetching.now()
  await fetching.leaseLog.append({
    kind: 'lease',
    lease,
    window,
    agentId,
    requests,
    sessions,
    pageSessions,
    atMs,
    deadlineMs,
    ...(fetching.holder !== undefined && { holder: fetching.holder }),
  })
  const isGivenUp = (await fetching.isHeld?.()) === false
  const result = isGivenUp ? unused : await work()
  const unlogged = await fetching.leaseLog.append({ kind: 'end', lease, atMs: fetching.now() }).then(
    () => null,
    error => leaseFailure(fetching, error),
  )
  return { ...result, failure: result.failure ?? unlogged }
}

/** Fetches under a lease. Failures of the vendor are part of the outcome. @throws HOME_UNUSABLE */
export function fetchPages(fetching: Fetching, start: WindowProgress, grant: Grant): Promise<LeaseOutcome> {
  const { agentId, name } = start.window
  const unused = outcomeOf(start, start, { requests: 0, sessions: 0, answers: [] }, null)
  return underLease(fetching, grant, { agentId, window: name, unused }, () => pagesUnderLease(fetching, start, grant))
}

/**
 * Skips pages that have already landed, such as those of another runner and those behind a missing page. If a landed
 * page answers another query, its generation ends, and the next generation continues from the window's progress.
 */
export async function pastLanded(fetching: Fetching, start: WindowProgress, grant: Grant): Promise<WindowProgress> {
  let progress = start
  while (!progress.done) {
    const next = nextRequest(progress, limitOf(fetching, progress, grant))
    const { agentId, name: window } = progress.window
    const { generation, sequence } = next.progress
    const place = { stream: 'conversations' as const, agentId, window, generation, sequence }
    const landed = await fetching.landing.find(place)
    if (landed === null) return progress
    const { facts, request } = landed.head
    const same = facts !== null && JSON.stringify(request.query) === JSON.stringify(textQuery(next.query))
    progress = same ? advance(next.progress, facts) : restarted(next.progress)
    if (same) fetching.pending.add(landed.address, landed.head)
  }
  return progress
}

/** Lands a page whose request is already in the lease log. */
async function landLogged(
  fetching: Fetching,
  grant: Grant,
  page: { progress: WindowProgress; query: WindowQuery; answer: ExportAnswer; unread?: PageFacts['unread'] },
): Promise<WindowProgress> {
  const head = exportHead(fetching, { ...page, grant })
  await landKept(fetching, head, page.answer.exchange.body)
  return advance(page.progress, head.facts!)
}

/**
 * Returns a query for one millisecond of a day in 2001, before any conversation in any unit. The answer reports the
 * usage and bills nothing. Answers may be cached by address, so each request uses another millisecond.
 */
function emptyWindow(request: string): WindowQuery {
  const atMs = EARLIEST_MS + [...request].reduce((hash, char) => (hash * 31 + char.charCodeAt(0)) % DAY, 0)
  return { sort: 'asc', limit: 1, fromTs: atMs, toTs: atMs }
}

/** Requests the empty window of an agent under a lease. @throws the vendor's refusal; HOUR_SPENT if the lease has no request left */
async function requestEmptyWindow(
  fetching: Fetching,
  agentId: string,
  grant: Grant,
  used: Used,
  trips: number,
): Promise<ExportAnswer> {
  const allow = () => mayRequest(fetching, grant, used, trips)
  const attempts = observer(fetching, grant, agentId, used, allow, { isProbe: true })
  const { vendor, signal } = fetching
  const query = emptyWindow(`${grant.lease} ${used.requests}`)
  const answer = await vendor.exportConversations({ agentId, query, signal, attempts })
  fetching.clock.observe(answer.exchange)
  const received = { ...answerOf(answer), isProbe: true }
  used.answers.push(received)
  await logAnswer(fetching, grant, agentId, received, null)
  await landUnasked(fetching, agentId, grant, answer)
  return answer
}

/** If the vendor ignores ranges, an empty window returns conversations. They land as selected ones, since they may be billed. */
async function landUnasked(fetching: Fetching, agentId: string, grant: Grant, answer: ExportAnswer): Promise<void> {
  const ids = answer.envelope.data.flatMap(record => (record as { ID?: unknown } | null)?.ID ?? [])
  if (ids.length === 0) return
  const convoIds = ids.map(String)
  const openedAtMs = fetching.clock.at(answer.exchange.sentAtMs)
  const window = openWindow({ agentId, kind: 'selected', fromSec: null, toSec: 0, openedAtMs, ids: convoIds })
  await landLogged(fetching, grant, { progress: newProgress(window), query: { convoIds }, answer })
}

async function pagesUnderLease(fetching: Fetching, given: WindowProgress, grant: Grant): Promise<LeaseOutcome> {
  const { agentId } = given.window
  const used: Used = { requests: 0, sessions: 0, answers: [] }
  const trips = fetching.breaker.trips()
  const mayContinue = () => mayRequestPage(fetching, grant, used, trips)
  // A gap was already requested before, so a page that fails there is not repeated.
  const mayAttempt = (attempt: number) =>
    mayRequestPage(fetching, grant, used, trips, attempt) && (attempt === 1 || !given.window.gap)
  const attempts = observer(fetching, grant, agentId, used, mayAttempt)
  let start = given
  let progress = given
  let failure: Failure | null = null

  async function nextPage(): Promise<void> {
    const next = nextRequest(progress, limitOf(fetching, progress, grant))
    const { query } = next
    // A page cannot land if nobody knows who is forgotten, and would be billed.
    await fetching.landing.forgotten()
    try {
      const answer = await fetching.vendor.exportConversations({ agentId, query, signal: fetching.signal, attempts })
      const { facts, unlogged } = await landPage(fetching, grant, used, { ...next, answer })
      progress = advance(next.progress, facts)
      if (unlogged !== null) failure = leaseFailure(fetching, unlogged)
      else if (holdsOnlyOthers(facts)) failure = failureOf(selectionFails('the answer has only other conversations'))
    } catch (error) {
      if (mayBeBilled(error)) await keepBytes(fetching, agentId, error)
      progress = next.progress
      // Another request has failed since then, so this one was not repeated and shows nothing about its page or agent.
      if (fetching.breaker.trips() !== trips && isCode(error, 'API_UNAVAILABLE', 'API_TIMEOUT')) return
      const past = await recoverFailedPage({
        progress: next.progress,
        query,
        error,
        pageSessions: Math.ceil((grant.pageSessions * (query.limit ?? query.convoIds?.length ?? 1)) / grant.limit),
        nowMs: fetching.clock.at(fetching.now()),
        requestEmptyWindow: () => requestEmptyWindow(fetching, agentId, grant, used, trips),
        land: page => landLogged(fetching, grant, { ...page, progress: next.progress }),
      })
      progress = past.progress
      if (past.failure) throw past.failure
    }
  }

  while (!isAtRest(progress) && failure === null && mayContinue()) {
    try {
      const past = await pastLanded(fetching, progress, grant)
      // Pages that had landed before are not part of this lease's outcome.
      start = {
        ...start,
        pages: start.pages + past.pages - progress.pages,
        returned: start.returned + past.returned - progress.returned,
      }
      progress = past
      if (!progress.done) await nextPage()
    } catch (error) {
      failure = leaseFailure(fetching, error)
      if (failure?.code === 'API_NOT_FOUND') await landGone(fetching, agentId, error as VendorError)
    }
  }
  return outcomeOf(start, progress, used, failure)
}

/** Returns the limit of the window's next page under this lease. */
const limitOf = (fetching: Fetching, progress: WindowProgress, grant: Grant): number =>
  largestPage(progress, grant.limit, fetching.clock.at(fetching.now()))

const outcomeOf = (
  start: WindowProgress,
  progress: WindowProgress,
  used: Used,
  failure: Failure | null,
): LeaseOutcome => ({
  progress,
  answers: used.answers,
  ...countsSince(start, progress),
  failure,
})

/** Requests an empty window to learn the usage. The answer does not land, because nothing was billed for it. */
export function probe(fetching: Fetching, agentId: string, grant: Grant): Promise<LeaseAnswers> {
  const unused: LeaseAnswers = { answers: [], failure: null }
  return underLease(fetching, grant, { agentId, window: 'probe', unused }, () =>
    probeUnderLease(fetching, agentId, grant),
  )
}

async function probeUnderLease(fetching: Fetching, agentId: string, grant: Grant): Promise<LeaseAnswers> {
  const used: Used = { requests: 0, sessions: 0, answers: [] }
  let failure: Failure | null = null
  try {
    await requestEmptyWindow(fetching, agentId, grant, used, fetching.breaker.trips())
  } catch (error) {
    failure = leaseFailure(fetching, error)
    if (failure?.code === 'API_NOT_FOUND') await landGone(fetching, agentId, error as VendorError)
  }
  return { answers: used.answers, failure }
}

/**
 * Lands the refusal of an agent's export as a page without the answer's content: the vendor no longer has the agent,
 * and a replay must also mark it as missing. @throws HOME_UNUSABLE
 */
async function landGone(fetching: Landing, agentId: string, { exchange }: VendorError): Promise<void> {
  const { clock, landing, pending } = fetching
  const nowMs = fetching.now()
  if (exchange) clock.observe(exchange)
  const { sentAtMs, receivedAtMs } = exchange ?? { sentAtMs: nowMs, receivedAtMs: nowMs }
  const window = `${compactTimestamp(clock.at(nowMs))}-gone-${caselessPathSegment(agentId)}`
  const head = pageHead(
    fetching,
    { status: 404, sentAtMs, receivedAtMs },
    {
      place: { stream: AGENTS.stream, agentId: null, window, generation: 1, sequence: 1 },
      goneAgentId: agentId,
      request: { path: exportPath(agentId), query: {} },
      bodyBytes: 2,
      lastPage: false,
      notes: emptyNotes(),
    },
  )
  const landed = await landing.land(head, Buffer.from('{}')).catch(error => {
    // Another window of the agent was refused at the same millisecond.
    if (isCode(error, 'LANDING_TAKEN')) return null
    throw error
  })
  if (landed !== null) pending.add(landed, head)
}
