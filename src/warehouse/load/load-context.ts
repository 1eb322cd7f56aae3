// What loading needs of its surroundings.
import type { Writer } from '../connection.ts'
import type { LoadablePage } from './load-input.ts'

/** A file that holds bodies of pages. The landing's `PageFile` has this shape. */
export interface PageFile {
  uri: string
  addresses: readonly string[]
  /** True where each JSON value of the file names its page in the field `_page`; false for a file of one page. */
  isBundle: boolean
}

export interface LoadContext {
  writer: Writer
  workspaceId: string
  /** IANA name; days are days of this zone. */
  timeZone: string
  /** How late the relational mirror may be, ms: a version is at least as fresh as its request less this. */
  mirrorLagMs: number
  /** Folder for mended copies. */
  temporaryFolder: string
  /** Body of a landed page, for the tolerant path. */
  readBody: (address: string) => Promise<Uint8Array>
  /** The files from which DuckDB reads these pages; a file may hold several. */
  pageFiles: (addresses: readonly string[]) => Promise<PageFile[]>
  /** Fails where a body is not as it was written: DuckDB does not notice. */
  verifyChecksums: (pages: readonly LoadablePage[]) => Promise<void>
  /** Elements of files that are quarantined and stay so, with the reason: they are not tried again. */
  keepQuarantined?: ReadonlyMap<string, ReadonlyMap<number, string>>
  now: () => number
}
