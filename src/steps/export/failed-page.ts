// Decides how a window continues after a page that cannot be read.
//
//   a cursor was refused                      continue by `ts`; the second time without progress, the window ends with a gap
//   ids were refused, or their page failed    fewer ids; a single id counts as not exportable
//   the page failed, and the vendor answers   smaller pages from the last landed `ts`; after a page of one conversation, the window ends with a gap
//     a request for an empty window
//   anything else                             a failure of the agent or of the account: `workflows/failure-policy.ts` decides
//
// An answer that arrived completely and cannot be read is never requested again unchanged, since it may have been billed.

import type { ExportAnswer } from '../../client/answers.ts'
import type { Exchange } from '../../client/exchange.ts'
import { VendorError } from '../../client/faults.ts'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import { isProved, type PageFailure, withSmallerPages } from '../../core/planning/failed-pages.ts'
import { afterRefusedCursor } from '../../core/planning/no-progress.ts'
import { withFewerIds } from '../../core/planning/window-ids.ts'
import type { WindowQuery } from '../../core/planning/window-query.ts'
import { isById, type PageFacts, type WindowProgress } from '../../core/planning/windows.ts'

interface EmptyPage {
  query: WindowQuery
  answer: ExportAnswer
  unread?: PageFacts['unread']
}

interface FailedPage {
  /** The window, in the generation of the failed request. */
  progress: WindowProgress
  query: WindowQuery
  error: unknown
  /** Sessions that one attempt may have billed. */
  pageSessions: number
  /** Time of the server's clock, ms. */
  nowMs: number
  /** Requests an empty window of the agent, which bills nothing. @throws the vendor's refusal; HOUR_SPENT without a request left */
  requestEmptyWindow: () => Promise<ExportAnswer>
  /** Lands a page without conversations as the window's next one. */
  land: (page: EmptyPage) => Promise<WindowProgress>
}

interface Past {
  progress: WindowProgress
  /** The error to report; omitted if the window continues. */
  failure?: unknown
}

/** Returns the answer to a request that returned no conversation. `scanned` is 0 if the vendor does not have the id. */
const emptyAnswer = (exchange: Exchange, scanned: number | null): ExportAnswer => ({
  exchange,
  invalidUtf8: false,
  isTooDeepAround: false,
  envelope: {
    data: [],
    hasMore: false,
    nextCursor: null,
    scanned,
    usage: null,
    bill: null,
    rateLimit: null,
    query: null,
  },
})

const failureOf = ({ error, query, progress, pageSessions, nowMs }: FailedPage): PageFailure => {
  const { code, message, facts } = error as VendorError
  const attempts = typeof facts.attempts === 'number' ? facts.attempts : 1
  const limit = query.limit ?? progress.asked
  return { code, what: message, limit, billedUpTo: attempts * pageSessions, atMs: nowMs }
}

/** True for errors that may affect this page alone. Unsent requests, 401, 403, 404 and 429 never do. */
function mayConcernPage(error: unknown): error is VendorError {
  if (!(error instanceof VendorError) || error.facts.unsent === true) return false
  if (isCode(error, 'API_PROTOCOL')) return error.facts.status === 200
  return isCode(error, 'API_UNAVAILABLE', 'API_TIMEOUT', 'API_NOT_JSON', 'API_BAD_REQUEST')
}

/** Decides how the window continues. @throws errors of landing */
export async function recoverFailedPage(failed: FailedPage): Promise<Past> {
  const { progress, query, error } = failed
  if (isById(progress.window.kind) && isCode(error, 'API_NOT_FOUND', 'API_BAD_REQUEST')) return pastRefusedIds(failed)
  // The next request, without the cursor, shows whether the agent is also refused.
  if (query.cursor !== undefined && isCode(error, 'API_BAD_REQUEST', 'API_NOT_FOUND', 'API_FORBIDDEN'))
    return pastRefusedCursor(failed)
  if (!mayConcernPage(error)) return { progress, failure: error }
  const known = isProved(progress, failureOf(failed)) ? withSmaller(failed, false) : null
  if (known) return { progress: known }
  let answer: ExportAnswer
  try {
    answer = await failed.requestEmptyWindow()
  } catch (other) {
    const smaller = isComplete(error) ? withSmaller(failed, false) : null
    // Smaller pages are requested under another lease, since this one has no request left.
    if (smaller && isCode(other, 'HOUR_SPENT')) return { progress: smaller, failure: other }
    const isAboutAgent = isCode(
      other,
      'API_UNAUTHORIZED',
      'API_FORBIDDEN',
      'API_NOT_FOUND',
      'API_RATE_LIMITED',
      'INTERRUPTED',
    )
    return { progress: smaller ?? progress, failure: isAboutAgent ? other : error }
  }
  const smaller = withSmaller(failed, true)
  if (smaller) return { progress: smaller }
  // While none of several ids has been answered, the vendor may be failing all of them temporarily.
  const mayBeAll = (progress.window.ids?.length ?? 0) > 1 && progress.returned === 0
  if (mayBeAll && !isComplete(error)) return { progress, failure: selectionFails(error.message) }
  return { progress: await landUnread(failed, answer) }
}

const isComplete = ({ code, facts, exchange }: VendorError): boolean =>
  exchange?.status === 200 && facts.reason === undefined && (code === 'API_NOT_JSON' || code === 'API_PROTOCOL')

/** Returns the window with a smaller next page; null if the page was of one conversation. */
function withSmaller(failed: FailedPage, isNew: boolean): WindowProgress | null {
  const { progress, query } = failed
  if (!query.convoIds) return withSmallerPages(progress, failureOf(failed), isNew)
  return query.convoIds.length > 1 ? withFewerIds(progress, query.convoIds.length) : null
}

/** Returns the failure of a window by id. The next sync requests its ids again. */
export const selectionFails = (why: string): ConvohouseError =>
  new ConvohouseError('API_PROTOCOL', { what: `Conversations could not be requested by their IDs: ${why}` })

/** Ends the window with a gap; a single id counts as not exportable until it changes. */
function landUnread(failed: FailedPage, answer: ExportAnswer): Promise<WindowProgress> {
  const { query, land, progress } = failed
  const { code, what, billedUpTo } = failureOf(failed)
  const unread = { code, what, billedUpTo: billedUpTo + (progress.cap?.billedUpTo ?? 0) }
  const asked = query.convoIds ? query : { ...query, limit: 1 }
  return land({ query: asked, answer: emptyAnswer(answer.exchange, null), unread })
}

async function pastRefusedCursor(failed: FailedPage): Promise<Past> {
  const { progress, query, error, land } = failed
  const next = afterRefusedCursor(progress)
  if (next) return { progress: next }
  const { code, message: what, exchange } = error as VendorError
  return {
    progress: await land({ query, answer: emptyAnswer(exchange!, null), unread: { code, what, billedUpTo: 0 } }),
  }
}

/**
 * Continues after refused ids. The API document does not say how unknown ids are answered, so refused ids are requested again in halves until
 * each refused id is alone. A refusal bills nothing. The refusal of a single id lands, since no other page says anything about that id.
 */
async function pastRefusedIds(failed: FailedPage): Promise<Past> {
  const { progress, query, error, land } = failed
  const { exchange } = error as VendorError
  const ids = query.convoIds ?? []
  if (exchange === undefined) return { progress, failure: error }
  if (ids.length > 1) return { progress: withFewerIds(progress, ids.length) }
  // A vendor that refuses single ids and has answered none does not support selection by id.
  if (isCode(error, 'API_BAD_REQUEST')) {
    if (progress.pages > 0 && progress.returned === 0) return { progress, failure: error }
    return { progress: await land({ query, answer: emptyAnswer(exchange, null) }) }
  }
  try {
    if (progress.returned === 0 && !progress.hasAgent) await failed.requestEmptyWindow()
  } catch (other) {
    if (!isCode(other, 'HOUR_SPENT')) return { progress, failure: other }
    return { progress: await land({ query, answer: emptyAnswer(exchange, 0) }) }
  }
  const past = await land({ query, answer: emptyAnswer(exchange, 0) })
  return { progress: { ...past, hasAgent: true } }
}
