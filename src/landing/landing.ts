// The port of the landing: raw pages of the vendor's API, stored once and never changed. All other code identifies pages by their
// addresses (page-address.ts) and reads them through these operations. An implementation may store pages singly or in bundles.
import type { Stream } from '../catalog/resources/resources.ts'
import type { Forgotten } from '../core/identifiers.ts'
import type { RunRecord } from '../core/run-record.ts'
import type { PageHead } from './page.ts'
import type { PagePlace } from './page-address.ts'
import type { RunEntry } from './runs.ts'

export interface LandedPage {
  /** Names the page everywhere: in `_loads`, errors and findings. */
  address: string
  window: string
  generation: number
  sequence: number
}

/** One month of the pages of an agent or of a listing. */
export interface LandedFolder {
  /** The part of its pages' addresses before the last slash. */
  folder: string
  /** Month in which its windows were opened, `2026-11`. */
  month: string
  /** Changes whenever pages are added to the folder or removed from it. Opaque. */
  stamp: string
  /** From this time on, ms since the epoch, an equal stamp proves that the folder has not changed. */
  stableFromMs: number
}

/** A file that contains the bodies of pages, for DuckDB's `read_json`. */
export interface PageFile {
  /** A path or a URL that DuckDB reads. */
  uri: string
  addresses: readonly string[]
  /**
   * True for a bundle: its JSON values have the page's address in `_page` and its body in `_body`, and it may contain
   * more values and more pages than `addresses`. False for a file that is one page, with the body as the vendor sent
   * it.
   */
  isBundle: boolean
}

/** A page as it landed. */
export interface WholePage {
  address: string
  head: PageHead
  body: Buffer
}

/** What becomes of a page: null leaves it as it is. */
export type Change = (page: WholePage) => { head: PageHead; body: Buffer } | 'erase' | null

export interface Landing {
  /**
   * Makes a page durable and returns its address. Only one process can create a page name, and only once.
   * @throws LANDING_TAKEN if the page exists; HOME_UNUSABLE, even if the disk reserve made room for the page
   */
  land(head: PageHead, body: Uint8Array): Promise<string>
  /** Stores the bytes of an answer that is not JSON, for diagnosis. Returns the name of the stored file. @throws HOME_UNUSABLE */
  landFailed(options: { atMs: number; agentId: string; status: number; body: Uint8Array }): Promise<string>
  /** Returns all pages of the workspace, or of one stream, in load order. @throws HOME_UNUSABLE */
  list(stream?: Stream): Promise<LandedPage[]>
  /** @throws HOME_UNUSABLE */
  folders(): Promise<LandedFolder[]>
  /** Returns the pages of these folders, in load order. @throws HOME_UNUSABLE */
  listFolders(folders: readonly string[]): Promise<LandedPage[]>
  /** Returns the page at that place; null if there is none. @throws LANDING_CORRUPT */
  find(place: PagePlace): Promise<{ address: string; head: PageHead } | null>
  /** @throws LANDING_CORRUPT */
  head(address: string): Promise<PageHead>
  /** Returns the body as the vendor sent it, byte for byte. @throws LANDING_CORRUPT */
  body(address: string): Promise<Buffer>
  /** Returns the files from which DuckDB reads these pages. Use them at once, since compaction may move pages to other files. */
  files(addresses: readonly string[]): Promise<PageFile[]>
  /** @throws LANDING_CORRUPT naming the first page whose body differs from what was landed */
  verifyChecksums(pages: readonly { address: string; head: Pick<PageHead, 'packed'> }[]): Promise<void>
  /** Removes pages durably. Ignores addresses without a page, so that an interrupted call can be repeated. @throws HOME_UNUSABLE */
  erase(addresses: readonly string[]): Promise<void>
  /**
   * Passes every page, or those of these folders, to `change`, and replaces or erases those for which it says so. Only
   * while nobody loads them. Can be repeated after an interruption. @returns the number of files that were replaced or removed
   * @throws HOME_UNUSABLE, LANDING_CORRUPT
   */
  rewrite(change: Change, folders?: readonly string[]): Promise<number>
  /** Returns the people whose records must not land. @throws HOME_UNUSABLE */
  forgotten(): Promise<Forgotten>
  /** Remembers conversations that forgotten people have begun, by agent and id. @throws HOME_UNUSABLE */
  rememberBegun(conversations: readonly { agentId: string; id: string }[], nowMs: number): Promise<void>
  /** Removes all answers that are not JSON. @returns their number @throws HOME_UNUSABLE */
  eraseFailed(options: { dryRun: boolean }): Promise<number>
  /**
   * Removes these folders with all their pages, and answers that are not JSON from before `beforeMs`. Records the
   * folders first, so that an interrupted call can be repeated. @throws HOME_UNUSABLE, LANDING_CORRUPT
   */
  expire(
    folders: readonly { folder: string; pages: number }[],
    options: { beforeMs: number; nowMs: number },
  ): Promise<void>
  /** Returns the folders that have expired, each with the number of its pages. @throws HOME_UNUSABLE */
  expired(): Promise<ReadonlyMap<string, number>>
  /** Removes files that killed processes left half-written in these folders. @throws HOME_UNUSABLE */
  sweep(folders: readonly string[]): Promise<void>
  /**
   * Moves small pages of these folders into bundles. Addresses, heads and bodies stay the same. May run while other
   * processes land, list and read. @throws HOME_UNUSABLE, LANDING_CORRUPT
   */
  compact(folders: readonly string[], nowMs: number): Promise<void>
  /** Returns when upkeep was last complete, ms; null for never or unknown. */
  lastUpkeepMs(): Promise<number | null>
  noteUpkeep(nowMs: number): Promise<void>
  /** Counts files that killed processes left half-written, and says how to remove them by hand. */
  leftovers(): Promise<{ files: number; hint: string }>
  /** Returns the bytes that the workspace takes up, including its logs. Repeated calls on one object re-read only changed parts. */
  storedBytes(): Promise<number>
  /** Records that a run has begun or ended. @throws HOME_UNUSABLE */
  noteRun(entry: RunEntry, nowMs: number): Promise<void>
  /** Returns all recorded runs. @throws HOME_UNUSABLE */
  runs(): Promise<RunRecord[]>
  /** Returns the time up to which all planned full exports have been dropped, ms; null if none has. @throws HOME_UNUSABLE */
  fullsDroppedMs(): Promise<number | null>
}

/** The landing of a data folder. */
export interface LandingStore {
  /** Returns the landing of one workspace. Two workspaces never share a page. */
  workspace(workspaceId: string): Landing
  /** Returns the names of the workspaces' folders. */
  folders(): Promise<string[]>
  exists(): Promise<boolean>
  /** Returns the random id by which workers recognise a shared data folder; null before the first use. @throws HOME_UNUSABLE */
  id(): Promise<string | null>
  /** Like `id`, but creates the id durably if there is none. @throws HOME_UNUSABLE */
  ensureId(): Promise<string>
  /**
   * Reserves disk space for the answers in flight when the disk fills up, and checks that page names are exclusive.
   * @throws HOME_UNUSABLE if either is impossible, so that no page may be requested
   */
  reserve(): Promise<void>
  /** Writes a few bytes the way a page is written, and removes them. Does nothing if nothing has landed yet. @throws HOME_UNUSABLE */
  probe(): Promise<void>
  /** Returns the bytes that all workspaces take up, without the disk reserve. */
  storedBytes(): Promise<number>
}
