// The head of a page of conversations: its place in its window, the query, and the reported usage and limits.
import { conversation } from '../../catalog/conversation/conversation.ts'
import { compileInspection, type PageNotes, TOO_DEEP_AROUND } from '../../catalog/inspection/inspect.ts'
import { exportPath } from '../../client/address.ts'
import { type ExportAnswer, maskedPaths } from '../../client/answers.ts'
import { misread } from '../../client/echo.ts'
import { countRemoved } from '../../client/redaction/redaction.ts'
import type { Grant } from '../../core/governor/governor.ts'
import { billOf } from '../../core/planning/estimate.ts'
import { idPrints } from '../../core/planning/no-progress.ts'
import { isReaskingIds } from '../../core/planning/window-ids.ts'
import type { WindowQuery } from '../../core/planning/window-query.ts'
import { type PageFacts, restartPoint, secondOf, type WindowProgress } from '../../core/planning/windows.ts'
import { EARLIEST_MS, readTime } from '../../core/time.ts'
import type { PageHead } from '../../landing/page.ts'
import { type Heading, pageHead } from '../page-head.ts'

const inspect = compileInspection(conversation)

/** Returns the `ts` of the records that have a plausible one, ms, in the order of the records. */
function timesOf(data: readonly unknown[]): number[] {
  return data.flatMap(record => {
    const ts = (record as { ts?: unknown } | null)?.ts
    const ms = typeof ts === 'number' || typeof ts === 'string' ? readTime(Number(ts)).ms : null
    return ms !== null && ms >= EARLIEST_MS ? [ms] : []
  })
}

const isStorable = (record: unknown): boolean => ((record as { ID?: unknown } | null)?.ID ?? null) !== null

/** Returns the ids that were requested but not returned. */
function missingIds(asked: readonly string[] | undefined, data: readonly unknown[]): string[] {
  if (!asked) return []
  const answered = new Set(data.map(record => String((record as { ID?: unknown } | null)?.ID)))
  return asked.filter(id => !answered.has(id))
}

/** True for a time within the bounds of the query, in whole seconds. */
function isAskedFor({ fromTs = 0, toTs = Number.POSITIVE_INFINITY }: WindowQuery, ms: number): boolean {
  const second = secondOf(ms)
  return second >= secondOf(fromTs) && second <= secondOf(toTs)
}

/** Returns the query as text, for the head. */
export const textQuery = (query: WindowQuery): Record<string, string> =>
  Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]))

function inspected(answer: ExportAnswer, atMs: number): PageNotes {
  const notes = inspect(answer.envelope.data, atMs)
  if (answer.isTooDeepAround) notes.awkward.push(TOO_DEEP_AROUND)
  if (answer.invalidUtf8) notes.awkward.push('(bytes that are no UTF-8)')
  const masked = maskedPaths(answer.exchange)
  return masked.length === 0 ? notes : { ...notes, removed: countRemoved(masked) }
}

/** Builds the head of a page of conversations to land. */
export function exportHead(
  fetching: Heading,
  page: {
    progress: WindowProgress
    query: WindowQuery
    grant: Grant
    answer: ExportAnswer
    unread?: PageFacts['unread']
  },
): PageHead {
  const { progress, query, grant, answer, unread } = page
  const { exchange, envelope } = answer
  const { agentId, name } = progress.window
  const usable = envelope.nextCursor !== null && envelope.nextCursor !== query.cursor
  const times = timesOf(envelope.data)
  const asked = query.convoIds?.length ?? query.limit!
  // The vendor allows fewer conversations per page than requested, and returned that many.
  const isCut = envelope.limit !== undefined && envelope.limit < asked && envelope.data.length >= envelope.limit
  const undated = envelope.data.length - timesOf(envelope.data.filter(isStorable)).length
  // An answer to another query is kept, but does not advance this window.
  const isOutOfRange =
    !query.convoIds &&
    (misread(query, envelope.query) !== null || (times.length > 0 && !times.some(ms => isAskedFor(query, ms))))
  const facts: PageFacts = {
    window: progress.window,
    generation: progress.generation,
    sequence: progress.sequence,
    limit: asked,
    cursorIn: query.cursor ?? null,
    cursorOut: usable && !isOutOfRange ? envelope.nextCursor : null,
    hasMore: envelope.hasMore || isOutOfRange || isCut,
    returned: envelope.data.length,
    scanned: envelope.scanned,
    billed: billOf(envelope.data, envelope.usage?.billableUsedThisRequest ?? null),
    atMs: fetching.clock.at(exchange.sentAtMs),
    firstTsMs: isOutOfRange ? null : (times[0] ?? null),
    lastTsMs: isOutOfRange ? null : restartPoint(progress.window, times),
    missing: missingIds(query.convoIds, envelope.data),
    ...(query.convoIds
      ? { askedBefore: progress.asked, ...(isReaskingIds(progress) && { again: true }) }
      : {
          beginMs: progress.restartMs,
          ...(envelope.data.length > 0 && { ids: idPrints(envelope.data) }),
          ...(undated > 0 && { undated }),
          ...(isOutOfRange && { outOfRange: true as const }),
          ...(progress.cap && { cap: progress.cap }),
        }),
    ...(unread && { unread }),
  }
  return pageHead(fetching, exchange, {
    place: { stream: 'conversations', agentId, window: name, generation: facts.generation, sequence: facts.sequence },
    lease: grant.lease,
    request: { path: exportPath(agentId), query: textQuery(query) },
    bodyBytes: exchange.body.length,
    lastPage: !facts.hasMore,
    facts,
    usage: envelope.usage,
    ...(envelope.bill && { bill: envelope.bill }),
    rateLimit: envelope.rateLimit,
    notes: inspected(answer, fetching.clock.at(exchange.sentAtMs)),
  })
}
