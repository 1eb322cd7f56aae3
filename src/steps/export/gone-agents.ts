// Agents that the vendor no longer has.
import { emptyNotes } from '../../catalog/inspection/inspect.ts'
import { AGENTS } from '../../catalog/resources/agents.ts'
import { exportPath } from '../../client/address.ts'
import type { VendorError } from '../../client/faults.ts'
import { isCode } from '../../core/errors.ts'
import { compactTimestamp } from '../../core/time.ts'
import { caselessPathSegment } from '../../files/path-segment.ts'
import type { Landing } from '../listing/resource-pages.ts'
import { pageHead } from '../page-head.ts'

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
