// The head of a landed page of any resource.
import { CATALOG_VERSION } from '../catalog/records.ts'
import type { Receipt } from '../client/exchange.ts'
import type { PageHead } from '../landing/page.ts'
import type { ServerClock } from './server-clock.ts'

/** Fields that the heads of all pages of a run share. */
export interface Heading {
  workspaceId: string
  run: string
  clock: ServerClock
}

/** Fields of the head that only pages of conversations have. */
type OfExports = 'lease' | 'facts' | 'usage' | 'rateLimit'
type FromReceipt = 'status' | 'sentAtMs' | 'receivedAtMs'
type Given = Omit<
  PageHead,
  OfExports | FromReceipt | 'v' | 'catalogVersion' | 'workspaceId' | 'run' | 'sentAtServerMs' | 'packed'
>

/** Builds the head of a page to land. */
export function pageHead(
  { workspaceId, run, clock }: Heading,
  { status, sentAtMs, receivedAtMs }: Pick<Receipt, FromReceipt>,
  page: Given & Partial<Pick<PageHead, OfExports>>,
): PageHead {
  return {
    v: 1,
    catalogVersion: CATALOG_VERSION,
    workspaceId,
    run,
    lease: null,
    status,
    sentAtMs,
    receivedAtMs,
    sentAtServerMs: clock.at(sentAtMs),
    facts: null,
    usage: null,
    rateLimit: null,
    ...page,
  }
}
