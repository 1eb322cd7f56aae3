// A page of ids that the vendor refuses because it does not have one of them: the document does not say how unknown ids are
// answered. Halves are requested until each refused id is alone. A refusal bills nothing; that of a single id lands, since no other
// page says anything about the id.
import { isCode } from '../../core/errors.ts'
import { isById, type WindowProgress, withFewerIds } from '../../core/planning/windows.ts'
import type { ExportAnswer } from '../../vendor/answers.ts'
import type { Exchange } from '../../vendor/exchange.ts'
import { VendorError } from '../../vendor/vendor-error.ts'

/** An answer without records. One that says that there is none has looked at none; another says nothing of the id. */
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

export interface RefusedIds {
  progress: WindowProgress
  asked: readonly string[]
  error: unknown
  /** Asks for nothing of the agent. @throws what the vendor refuses, and HOUR_SPENT where the lease has no request left */
  askNothing: () => Promise<void>
  /** Lands the answer as the window's next page. */
  land: (answer: ExportAnswer) => Promise<WindowProgress>
}

/** Whether the vendor has the agent; null where the lease does not reach to ask. @throws what it refuses otherwise */
async function hasAgent({ progress, askNothing }: RefusedIds): Promise<boolean | null> {
  if (progress.returned > 0 || progress.hasAgent) return true
  try {
    await askNothing()
    return true
  } catch (error) {
    if (isCode(error, 'HOUR_SPENT')) return null
    if (isCode(error, 'API_NOT_FOUND')) return false
    throw error
  }
}

/** The window's progress after the refusal; null where it was about something else. @throws what requesting and landing do */
export async function pastRefusedIds(refused: RefusedIds): Promise<WindowProgress | null> {
  const { progress, asked, error, land } = refused
  const exchange = error instanceof VendorError ? error.exchange : undefined
  if (!isById(progress.window.kind) || exchange === undefined) return null
  if (!isCode(error, 'API_NOT_FOUND', 'API_BAD_REQUEST')) return null
  if (asked.length > 1) return withFewerIds(progress, asked.length)
  // A vendor that refuses ids one by one, and has answered none, takes no ids.
  if (isCode(error, 'API_BAD_REQUEST')) {
    return progress.pages > 0 && progress.returned === 0 ? null : land(refusal(exchange))
  }
  const known = await hasAgent(refused)
  if (known === false) return null
  const past = await land(refusal(exchange))
  return known ? { ...past, hasAgent: true } : past
}
