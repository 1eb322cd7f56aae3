// An agent that the vendor knows no more: its answer lands like a page, so that a replay marks what the sync did.
import { emptyNotes } from '../catalog/inspect.ts'
import { CATALOG_VERSION } from '../catalog/records.ts'
import { isCode } from '../core/errors.ts'
import { compactTimestamp } from '../core/time.ts'
import { caselessPathSegment } from '../files/path-segment.ts'
import type { PageHead } from '../landing/page.ts'
import type { VendorError } from '../vendor/vendor-error.ts'
import type { FetchDependencies } from './dependencies.ts'
import type { Pending } from './pending.ts'
import type { ServerClock } from './server-clock.ts'

interface Landing404 extends FetchDependencies {
  clock: ServerClock
  pending: Pick<Pending, 'add'>
  run: string
}

/** Lands that the vendor knows an agent no more. Of the answer itself nothing is kept. @throws HOME_UNUSABLE */
export async function landGone(fetching: Landing404, agentId: string, { exchange }: VendorError): Promise<void> {
  const { clock, landing, pending, run, workspaceId } = fetching
  const nowMs = fetching.now()
  if (exchange) clock.tell(exchange)
  const sentAtMs = exchange?.sentAtMs ?? nowMs
  const head: PageHead = {
    v: 1,
    catalogVersion: CATALOG_VERSION,
    workspaceId,
    place: {
      stream: 'agents',
      agentId: null,
      window: `${compactTimestamp(clock.at(nowMs))}-gone-${caselessPathSegment(agentId)}`,
      generation: 1,
      sequence: 1,
    },
    goneAgentId: agentId,
    run,
    lease: null,
    request: { path: `/v3/agents/${encodeURIComponent(agentId)}/convos/export`, query: {} },
    status: 404,
    sentAtMs,
    receivedAtMs: exchange?.receivedAtMs ?? nowMs,
    sentAtServerMs: clock.at(sentAtMs),
    bodyBytes: 2,
    lastPage: false,
    facts: null,
    usage: null,
    rateLimit: null,
    notes: emptyNotes(),
  }
  const landed = await landing.land(head, Buffer.from('{}')).catch(error => {
    // Another window of it was answered at the same millisecond.
    if (isCode(error, 'LANDING_TAKEN')) return null
    throw error
  })
  if (landed !== null) pending.add(landed, head)
}
