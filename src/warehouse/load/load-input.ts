// A landed page as the loader needs it. The landing's heads have this shape.
import type { PageNotes } from '../../catalog/inspect.ts'
import type { Stream } from '../../catalog/resources.ts'
import type { ReportedBill, ReportedRateLimit, ReportedUsage } from '../../core/reported-usage.ts'
import type { PageFacts } from '../../core/windows.ts'

export interface LoadablePage {
  /** The page's address in the landing: its name in `_loads` and in errors. */
  address: string
  /** This process has just written it, so its checksum need not be verified. */
  justLanded?: boolean
  head: {
    catalogVersion: number
    place: { stream: Stream; agentId: string | null; window: string; sequence: number }
    /** The id in the path of a resource's request; earlier versions wrote it as `organizationId`. */
    requestedId?: string
    organizationId?: string
    /** The agent of which it says that it is gone. */
    goneAgentId?: string
    run: string
    status: number
    sentAtMs: number
    receivedAtMs: number
    sentAtServerMs: number
    bodyBytes: number
    packed?: { bytes: number; crc32: number }
    facts: PageFacts | null
    /** The last page of a listing that is known to be complete. */
    lastPage: boolean
    /** Of the page that a listing ends with: why it may be cut off. */
    cutOff?: string
    usage: ReportedUsage | null
    bill?: ReportedBill
    rateLimit: ReportedRateLimit | null
    notes: PageNotes
  }
}
