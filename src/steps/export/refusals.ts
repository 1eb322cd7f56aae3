// Refused exports: of several ids, at least one of which the vendor does not have, and of an agent that the vendor no longer has.
//
// The API document does not say how unknown ids are answered, so refused ids are requested again in halves until each refused id is alone. A
// refusal bills nothing. The refusal of a single id lands, since no other page says anything about that id.
import { emptyNotes } from '../../catalog/inspection/inspect.ts'
import { AGENTS } from '../../catalog/resources/agents.ts'
import { isCode } from '../../core/errors.ts'
import { isById, type WindowProgress, withFewerIds } from '../../core/planning/windows.ts'
import { compactTimestamp } from '../../core/time.ts'
import { caselessPathSegment } from '../../files/path-segment.ts'
import { exportPath } from '../../vendor/address.ts'
import type { ExportAnswer } from '../../vendor/answers.ts'
import type { Exchange } from '../../vendor/exchange.ts'
import { VendorError } from '../../vendor/faults.ts'
import type { Landing } from '../listing/resource-pages.ts'
import { pageHead } from '../page-head.ts'

/** The refusal as an answer without records. A 404 counts as 0 scanned; any other status says nothing about the id. */
const refusal = (exchange: Exchange): ExportAnswer => ({
  exchange,
  invalidUtf8: false,
  isTooDeepAround: false,
  envelope: {
    data: [],
    hasMore: false,
    nextCursor: null,
    scanned: exchange.status === 404 ? 0 : null,
    usage: null,
    bill: null,
    rateLimit: null,
    mode: null,
    source: null,
    query: null,
  },
  records: () => [],
})

interface RefusedIds {
  progress: WindowProgress
  asked: readonly string[]
  error: unknown
  /** Requests an empty window of the agent. @throws the vendor's refusal; HOUR_SPENT where the lease has no request left */
  requestEmptyWindow: () => Promise<void>
  /** Lands the answer as the window's next page. */
  land: (answer: ExportAnswer) => Promise<WindowProgress>
}

/** Whether the vendor has the agent; null where the lease has no request left to find out. @throws any other refusal */
async function hasAgent({ progress, requestEmptyWindow }: RefusedIds): Promise<boolean | null> {
  if (progress.returned > 0 || progress.hasAgent) return true
  try {
    await requestEmptyWindow()
    return true
  } catch (error) {
    if (isCode(error, 'HOUR_SPENT')) return null
    if (isCode(error, 'API_NOT_FOUND')) return false
    throw error
  }
}

/** The window's progress after the refusal; null where the refusal was about something else. @throws errors of the request and of landing */
export async function pastRefusedIds(refused: RefusedIds): Promise<WindowProgress | null> {
  const { progress, asked, error, land } = refused
  const exchange = error instanceof VendorError ? error.exchange : undefined
  if (!isById(progress.window.kind) || exchange === undefined) return null
  if (!isCode(error, 'API_NOT_FOUND', 'API_BAD_REQUEST')) return null
  if (asked.length > 1) return withFewerIds(progress, asked.length)
  // A vendor that refuses single ids and has answered none does not support selection by id.
  if (isCode(error, 'API_BAD_REQUEST')) {
    return progress.pages > 0 && progress.returned === 0 ? null : land(refusal(exchange))
  }
  const known = await hasAgent(refused)
  if (known === false) return null
  const past = await land(refusal(exchange))
  return known ? { ...past, hasAgent: true } : past
}

/**
 * The vendor no longer has an agent: lands the refusal of its export as a page without the answer's content, so that a replay marks the
 * agent as missing too. @throws HOME_UNUSABLE
 */
export async function landGone(fetching: Landing, agentId: string, { exchange }: VendorError): Promise<void> {
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
