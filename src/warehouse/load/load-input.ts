// The input of loading: landed pages, whose heads have this shape, and the context of a workspace.
import type { PageNotes } from '../../catalog/inspection/inspect.ts'
import type { Stream } from '../../catalog/resources/resources.ts'
import type { PageFacts } from '../../core/planning/windows.ts'
import type { ReportedBill, ReportedRateLimit, ReportedUsage } from '../../core/quota/reported-usage.ts'
import type { Writer } from '../connection.ts'

export interface LoadablePage {
  /** Address of the page in the landing: its name in `_loads` and in errors. */
  address: string
  /** True if this process has just written the page, so that its checksum need not be verified. */
  justLanded?: boolean
  head: {
    catalogVersion: number
    place: { stream: Stream; agentId: string | null; window: string; sequence: number }
    /** Id in the path of a resource's request. */
    requestedId?: string
    requestedAgentId?: string
    answeredBy?: readonly string[]
    /** Agent that the answer reports as gone. */
    goneAgentId?: string
    /** Ids of the page's records that the listing's second list also contains. */
    starredIds?: readonly string[]
    /** Number of records of forgotten people, which did not land. */
    forgotten?: number
    run: string
    status: number
    sentAtMs: number
    receivedAtMs: number
    sentAtServerMs: number
    bodyBytes: number
    packed?: { bytes: number; crc32: number }
    facts: PageFacts | null
    /** True for the last page of a listing that is known to be complete. */
    lastPage: boolean
    /** On the last page of a listing: reason why it may be cut off. */
    cutOff?: string
    usage: ReportedUsage | null
    bill?: ReportedBill
    rateLimit: ReportedRateLimit | null
    notes: PageNotes
  }
}

/** A file that contains bodies of pages. The landing's `PageFile` has this shape. */
interface PageFile {
  uri: string
  addresses: readonly string[]
  /** True if each JSON value of the file names its page in the field `_page`; false for a file of one page. */
  isBundle: boolean
}

export interface LoadContext {
  writer: Writer
  workspaceId: string
  /** IANA name of the time zone of days. */
  timeZone: string
  /** Maximum lag of the relational mirror, ms: a version is at least as fresh as its request minus this. */
  mirrorLagMs: number
  /** Folder for coerced copies of pages. */
  temporaryFolder: string
  /** Reads the body of a landed page, for the tolerant path. */
  readBody: (address: string) => Promise<Uint8Array>
  /** Returns the files from which DuckDB reads these pages; a file may contain several. */
  pageFiles: (addresses: readonly string[]) => Promise<PageFile[]>
  /** Fails if a body differs from the written one, which DuckDB does not notice. */
  verifyChecksums: (pages: readonly LoadablePage[]) => Promise<void>
  now: () => number
}
