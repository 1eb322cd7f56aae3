// The landing: every page that was fetched, raw, on local disk. Pages are never moved or rewritten.
import { createHash } from 'node:crypto'
import { access } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { STREAMS, type Stream } from '../catalog/resources.ts'
import { isCode } from '../core/errors.ts'
import type { RunRecord } from '../core/run-record.ts'
import { entriesIn, makeFolder, sweepTemporary, writeOnce } from '../files/durable.ts'
import { pathSegment } from '../files/path-segment.ts'
import { verifyChecksums } from './checksum.ts'
import { keepReserve, withReserve } from './disk-reserve.ts'
import { type LandedFolder, landedFolders } from './folders.ts'
import { encodePage, type PageHead, readBody, readHead } from './page.ts'
import { legacyPageAddress, type PagePlace, pageAddress, parsePageName } from './page-address.ts'
import { appendRun, type RunEntry, readFullsDropped, readRuns } from './runs.ts'

/** A landed file: its path below the root names it everywhere (ledger, `_loads`, errors). */
export interface LandedPage {
  address: string
  window: string
  generation: number
  sequence: number
}

export interface Landing {
  root: string
  /** Keeps room for what will be under way when the disk is full. @throws HOME_UNUSABLE where there is none */
  keepRoom(): Promise<void>
  /** Makes a page durable. @throws LANDING_TAKEN; HOME_UNUSABLE, also where it has landed in the last room that there was */
  land(head: PageHead, body: Uint8Array): Promise<string>
  /** Keeps the bytes of an answer that is not JSON, for whoever has to look into it; returns its path. */
  landFailed(options: { atMs: number; agentId: string; status: number; body: Uint8Array }): Promise<string>
  /** Every landed page of the workspace (of one stream), in the order in which it may be loaded. @throws HOME_UNUSABLE */
  list(stream?: Stream): Promise<LandedPage[]>
  /** Every folder of pages, and when it last changed. @throws HOME_UNUSABLE */
  folders(): Promise<LandedFolder[]>
  /** The pages of these folders, in the order in which they may be loaded. @throws HOME_UNUSABLE */
  listFolders(folders: readonly string[]): Promise<LandedPage[]>
  /** Removes what kills left half written in these folders, and among the answers that are no JSON. @throws HOME_UNUSABLE */
  compact(folders: readonly string[]): Promise<void>
  head(path: string): Promise<PageHead>
  /** Path and head of the page that has landed at that place; null where none has. @throws LANDING_CORRUPT */
  find(place: PagePlace): Promise<{ address: string; head: PageHead } | null>
  body(path: string): Promise<Buffer>
  /** Notes that a run has begun or ended. @throws HOME_UNUSABLE */
  noteRun(entry: RunEntry, nowMs: number): Promise<void>
  /** Every run that was noted. @throws HOME_UNUSABLE */
  runs(): Promise<RunRecord[]>
  /** Until when full exports are dropped, ms; null: none is. @throws HOME_UNUSABLE */
  fullsDroppedMs(): Promise<number | null>
  /** @throws LANDING_CORRUPT where a body is not as it was written */
  verifyChecksums(pages: readonly { address: string; head: Pick<PageHead, 'packed'> }[]): Promise<void>
}

async function filesBelow(root: string, folder: string): Promise<string[]> {
  const entries = await entriesIn(join(root, folder))
  const found = await Promise.all(
    entries.map(entry => {
      const path = posix.join(folder, entry.name)
      // A folder in a page's place is no page that is missing: reading it says what is wrong.
      return entry.isDirectory() && !parsePageName(entry.name) ? filesBelow(root, path) : [path]
    }),
  )
  return found.flat()
}

const byAge = (a: LandedPage, b: LandedPage): number =>
  a.window === b.window
    ? a.generation - b.generation || a.sequence - b.sequence || compare(a.address, b.address)
    : compare(a.window, b.window)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** The pages among files, in loading order. */
const pagesAmong = (paths: readonly string[]): LandedPage[] =>
  paths
    .flatMap(path => {
      const parsed = parsePageName(path.slice(path.lastIndexOf('/') + 1))
      return parsed ? [{ address: path, ...parsed }] : []
    })
    .sort(byAge)

/** Opens a workspace's landing below `<home>/landing`. Two workspaces never share a folder. */
export function openLanding(home: string, workspaceId: string): Landing {
  const root = join(home, 'landing')
  const failedFolder = posix.join(pathSegment(workspaceId), 'failed')

  async function prepare(path: string): Promise<string> {
    const file = join(root, path)
    // Each time: somebody may have moved the folder away meanwhile, and a page that was paid for would be lost.
    await makeFolder(dirname(file))
    return file
  }

  return {
    root,
    keepRoom: () => keepReserve(root),
    async land(head, body) {
      const path = pageAddress(workspaceId, head.place)
      const parts = await encodePage(head, body)
      await withReserve(root, async () => writeOnce(await prepare(path), parts))
      return path
    },
    async landFailed({ atMs, agentId, status, body }) {
      const digest = createHash('sha256').update(body).digest('hex').slice(0, 12)
      const path = posix.join(failedFolder, `${atMs}-${pathSegment(agentId)}-${status}-${digest}.bin`)
      await withReserve(root, async () => writeOnce(await prepare(path), [body])).catch(error => {
        // The same bytes at the same millisecond are the same answer.
        if (!isCode(error, 'LANDING_TAKEN')) throw error
      })
      return path
    },
    async list(only) {
      const streams = await Promise.all(
        (only ? [only] : STREAMS).map(stream => filesBelow(root, posix.join(pathSegment(workspaceId), stream))),
      )
      return pagesAmong(streams.flat())
    },
    folders: () => landedFolders(root, workspaceId),
    listFolders: async folders =>
      pagesAmong((await Promise.all(folders.map(folder => filesBelow(root, folder)))).flat()),
    async compact(folders) {
      for (const folder of [...folders, failedFolder]) await sweepTemporary(join(root, folder))
    },
    head: path => readHead(join(root, path)),
    async find(place) {
      for (const path of new Set([pageAddress(workspaceId, place), legacyPageAddress(workspaceId, place)])) {
        const isThere = await access(join(root, path)).then(
          () => true,
          () => false,
        )
        if (!isThere) continue
        const head = await readHead(join(root, path))
        if (head.place.agentId === place.agentId) return { address: path, head }
      }
      return null
    },
    body: path => readBody(join(root, path)),
    noteRun: (entry, nowMs) => withReserve(root, () => appendRun(root, workspaceId, entry, nowMs)),
    runs: () => readRuns(root, workspaceId),
    fullsDroppedMs: () => readFullsDropped(root, workspaceId),
    verifyChecksums: pages =>
      verifyChecksums(pages.map(({ address: path, head }) => ({ file: join(root, path), head }))),
  }
}
