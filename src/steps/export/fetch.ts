// Fetching under a lease: from the window's frontier, page by page. Each page is durable before the next one is requested,
// so a kill costs the request in flight and nothing else.

import type { Failure, LeaseAnswers, LeaseOutcome } from '../../../workflows/steps.ts'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import type { Answer, Grant } from '../../core/governor/governor.ts'
import { sessionsShown } from '../../core/planning/estimate.ts'
import {
  advance,
  isById,
  nextRequest,
  restarted,
  type WindowProgress,
  type WindowQuery,
} from '../../core/planning/windows.ts'
import { EARLIEST_MS } from '../../core/time.ts'
import type { ExportAnswer } from '../../vendor/answers.ts'
import { misread } from '../../vendor/echo.ts'
import { VendorError } from '../../vendor/faults.ts'
import type { AttemptOutcome } from '../../vendor/http/attempts.ts'
import type { FetchDependencies } from '../dependencies.ts'
import type { Pending } from '../pending.ts'
import type { ServerClock } from '../server-clock.ts'
import type { CircuitBreaker } from './circuit-breaker.ts'
import { exportHead, textQuery } from './export-head.ts'
import { landGone, pastRefusedIds } from './refusals.ts'

export interface Fetching extends FetchDependencies {
  clock: ServerClock
  gate: CircuitBreaker
  /** Told of each page that is there to be loaded. */
  pending: Pick<Pending, 'add'>
  run: string
}

/** What one lease has used so far. */
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

/** Records failed attempts at once; the one that succeeds is recorded with the sessions that it billed. */
function observer(fetching: Fetching, grant: Grant, agentId: string, used: Used, opened: number) {
  return {
    allow: () => mayAsk(fetching, grant, used, opened),
    outcome: async (outcome: AttemptOutcome) => {
      if (!outcome.unsent) used.requests += 1
      if (outcome.error === null) return
      // A page whose answer was lost may have been billed all the same.
      if (outcome.status !== 429 && !outcome.unsent) used.sessions += grant.pageSessions
      const answer: Answer = {
        sentAtMs: outcome.sentAtMs,
        receivedAtMs: outcome.receivedAtMs,
        // An answer that cannot be read says no more than none.
        status: outcome.status === 200 ? null : outcome.status,
        ...(outcome.error === 'INTERRUPTED' && { givenUp: true }),
        ...(outcome.unsent && { unsent: true }),
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

const mayAsk = (fetching: Fetching, grant: Grant, used: Used, opened: number): boolean =>
  used.requests < grant.requests &&
  used.sessions + grant.pageSessions <= grant.sessions &&
  fetching.now() < grant.deadlineMs &&
  !fetching.signal.aborted &&
  !fetching.stopping?.aborted &&
  fetching.gate.openedAt() === opened

async function keepBytes(fetching: Fetching, agentId: string, error: unknown): Promise<void> {
  const exchange = error instanceof VendorError ? error.exchange : undefined
  if (!exchange || exchange.body.length === 0) return
  await fetching.landing.landFailed({ atMs: exchange.sentAtMs, agentId, status: exchange.status, body: exchange.body })
}

/** Only a billed answer is worth keeping: a 200 that cannot be read may hold billed conversations. */
const wasPaid = (error: unknown): boolean => error instanceof VendorError && error.exchange?.status === 200

/** What an error means for a lease. One that ran out before its next request left has merely ended. */
function leaseFailure(fetching: Fetching, error: unknown): Failure | null {
  if (isCode(error, 'HOUR_SPENT')) return null
  const failure = failureOf(error)
  // Nothing is exported that a full disk cannot keep.
  if (failure.kind === 'transient' || failure.kind === 'storage') fetching.gate.close()
  return failure
}

const answerOf = (answer: ExportAnswer): Answer => ({
  sentAtMs: answer.exchange.sentAtMs,
  receivedAtMs: answer.exchange.receivedAtMs,
  status: 200,
  returned: answer.envelope.data.length,
  // Without a reported figure, count the sessions that the records show.
  billed: answer.envelope.usage?.billableUsedThisRequest ?? sessionsShown(answer.envelope.data),
  usage: answer.envelope.usage,
  rateLimit: answer.envelope.rateLimit,
  retryAfterMs: null,
})

async function landPage(
  fetching: Fetching,
  grant: Grant,
  used: Used,
  page: { progress: WindowProgress; query: WindowQuery; answer: ExportAnswer },
): Promise<WindowProgress> {
  const { progress, answer } = page
  const { agentId } = progress.window
  fetching.clock.observe(answer.exchange)
  const head = exportHead(fetching, { ...page, grant })
  const received = answerOf(answer)
  // Neither is left behind when the other one fails.
  const [landed, written] = await Promise.allSettled([
    fetching.landing.land(head, answer.exchange.body),
    logAnswer(fetching, grant, agentId, received, null),
  ])
  if (landed.status === 'rejected') throw landed.reason
  fetching.pending.add(landed.value, head)
  if (written.status === 'rejected') throw written.reason
  used.answers.push(received)
  used.sessions += received.billed ?? received.returned
  fetching.onPage?.({ agentId, records: received.returned, billed: received.billed })
  return advance(progress, head.facts!)
}

const stuck = (progress: WindowProgress): ConvohouseError =>
  new ConvohouseError('API_PROTOCOL', {
    what: `The export of agent ${progress.window.agentId} says that there is more, but its cursor is missing or stands still (page ${progress.sequence - 1} of window ${progress.window.name}).`,
    hint: 'Report it to the vendor with that request. What landed is kept; the next sync goes on from the last conversation.',
  })

/**
 * Pages in a row, in one run, that scan no conversation and promise more: real ones skip conversations, but have scanned some. Four times
 * as many where the vendor does not report what it has scanned.
 */
const MAX_IDLE_PAGES = 50

const idle = (progress: WindowProgress): ConvohouseError =>
  new ConvohouseError('API_PROTOCOL', {
    what: `The export of agent ${progress.window.agentId} has told of more for page after page without a conversation (window ${progress.window.name}).`,
    hint: 'Run the sync again later; if it stays, report it to the vendor. What landed is kept, and the next sync goes on behind it.',
  })

const elsewhere = ({ window, sequence }: WindowProgress, field: string): ConvohouseError =>
  new ConvohouseError('API_PROTOCOL', {
    what: `The export of agent ${window.agentId} was answered for another ${field} than was asked for (page ${sequence - 1} of window ${window.name}).`,
    hint: 'Report it to the vendor with that request. What came is kept; what was asked for counts as not read.',
  })

/** @throws API_PROTOCOL where the vendor echoes another query than was sent */
function expectAnswers(progress: WindowProgress, query: WindowQuery, { envelope }: ExportAnswer): void {
  const field = misread(query, envelope.query)
  if (field !== null && !isById(progress.window.kind)) throw elsewhere(progress, field)
}

/** @throws API_PROTOCOL where asking on would lead nowhere */
function expectMoves(progress: WindowProgress): void {
  if (progress.done || isById(progress.window.kind)) return
  if (progress.cursor === null) throw stuck(progress)
  if ((progress.idle ?? 0) >= MAX_IDLE_PAGES) throw idle(progress)
}

/**
 * Tells the ledger of a lease before its first request, and that it has ended after its last. What `work` throws leaves it open. Whoever
 * gives a lease up looks for it in the ledger afterwards: one that is not there yet is never used.
 */
async function underLease<T>(
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
  await fetching.leaseLog.append({ kind: 'end', lease, atMs: fetching.now() })
  return result
}

/** Fetches under a lease. Vendor faults are in the outcome; what the disk refuses is thrown. */
export function fetchPages(fetching: Fetching, start: WindowProgress, grant: Grant): Promise<LeaseOutcome> {
  const { agentId, name } = start.window
  const unused = outcomeOf(start, start, { requests: 0, sessions: 0, answers: [] }, null)
  return underLease(fetching, grant, { agentId, window: name, unused }, () => pagesUnderLease(fetching, start, grant))
}

/**
 * Takes the window's next pages that have landed already, behind a page that went missing or by another runner: they are
 * not asked for. One that does not go on where the window stands leaves its generation; the next one begins there.
 */
export async function pastLanded(fetching: Fetching, start: WindowProgress, limit: number): Promise<WindowProgress> {
  let progress = start
  while (!progress.done) {
    const next = nextRequest(progress, limit)
    const { agentId, name: window } = progress.window
    const { generation, sequence } = next.progress
    const place = { stream: 'conversations' as const, agentId, window, generation, sequence }
    const there = await fetching.landing.find(place)
    if (there === null) return progress
    const { facts, request } = there.head
    const same = facts !== null && JSON.stringify(request.query) === JSON.stringify(textQuery(next.query))
    progress = same ? advance(next.progress, facts) : restarted(next.progress)
    if (same) fetching.pending.add(there.address, there.head)
  }
  return progress
}

/** Lands an answer that refused a single id; the lease log has it already. */
async function landRefusal(
  fetching: Fetching,
  grant: Grant,
  page: { progress: WindowProgress; query: WindowQuery; answer: ExportAnswer },
): Promise<WindowProgress> {
  const head = exportHead(fetching, { ...page, grant })
  fetching.pending.add(await fetching.landing.land(head, page.answer.exchange.body), head)
  return advance(page.progress, head.facts!)
}

/** A window that can hold nothing: one moment of 2001, in whichever unit it is read. It reports the usage and bills nothing. */
const NOTHING: WindowQuery = { sort: 'asc', limit: 1, fromTs: EARLIEST_MS, toTs: EARLIEST_MS }

/** Asks for nothing of an agent, under a lease. @throws what the vendor refuses */
async function askNothing(
  fetching: Fetching,
  agentId: string,
  grant: Grant,
  used: Used,
  opened: number,
): Promise<void> {
  const attempts = observer(fetching, grant, agentId, used, opened)
  const { vendor, signal } = fetching
  const answer = await vendor.exportConversations({ agentId, query: NOTHING, signal, attempts })
  fetching.clock.observe(answer.exchange)
  const received = answerOf(answer)
  used.answers.push(received)
  await logAnswer(fetching, grant, agentId, received, null)
}

async function pagesUnderLease(fetching: Fetching, given: WindowProgress, grant: Grant): Promise<LeaseOutcome> {
  const { agentId } = given.window
  const used: Used = { requests: 0, sessions: 0, answers: [] }
  const opened = fetching.gate.openedAt()
  const attempts = observer(fetching, grant, agentId, used, opened)
  let start = given
  let progress = given
  let failure: Failure | null = null

  async function nextPage(): Promise<WindowProgress> {
    const next = nextRequest(progress, grant.limit)
    const { query } = next
    try {
      const answer = await fetching.vendor.exportConversations({ agentId, query, signal: fetching.signal, attempts })
      // Progress is kept, whatever is wrong with the page.
      progress = await landPage(fetching, grant, used, { ...next, answer })
      expectAnswers(progress, query, answer)
      return progress
    } catch (error) {
      const past = await pastRefusedIds({
        progress: next.progress,
        asked: query.convoIds ?? [],
        error,
        askNothing: () => askNothing(fetching, agentId, grant, used, opened),
        land: answer => landRefusal(fetching, grant, { ...next, answer }),
      })
      if (past === null) throw error
      return past
    }
  }

  while (!progress.done && failure === null && mayAsk(fetching, grant, used, opened)) {
    try {
      const past = await pastLanded(fetching, progress, grant.limit)
      // What was landed before is no part of what this lease brought.
      start = {
        ...start,
        pages: start.pages + past.pages - progress.pages,
        returned: start.returned + past.returned - progress.returned,
      }
      progress = past
      if (progress.done) break
      progress = await nextPage()
      expectMoves(progress)
    } catch (error) {
      if (wasPaid(error)) await keepBytes(fetching, agentId, error)
      failure = leaseFailure(fetching, error)
      if (failure?.code === 'API_NOT_FOUND') await landGone(fetching, agentId, error as VendorError)
      // A generation that nothing landed under has no name on disk: the next lease begins it again.
    }
  }
  return outcomeOf(start, progress, used, failure)
}

const outcomeOf = (
  start: WindowProgress,
  progress: WindowProgress,
  used: Used,
  failure: Failure | null,
): LeaseOutcome => ({
  progress,
  answers: used.answers,
  pages: progress.pages - start.pages,
  conversations: progress.returned - start.returned,
  failure,
})

/** Requests an empty window to learn the usage. Its answer does not land: it was not billed. */
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
    await askNothing(fetching, agentId, grant, used, fetching.gate.openedAt())
  } catch (error) {
    failure = leaseFailure(fetching, error)
    if (failure?.code === 'API_NOT_FOUND') await landGone(fetching, agentId, error as VendorError)
  }
  return { answers: used.answers, failure }
}
