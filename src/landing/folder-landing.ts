// The landing as files below `<home>/landing`: one gzip file per page, at the path that its address names. Small pages
// move into bundles (compaction.ts); addresses stay.
import { createHash, randomUUID } from 'node:crypto'
import { access, readdir, readFile, rmdir, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { STREAMS } from '../catalog/resources/resources.ts'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError, isCode } from '../core/errors.ts'
import { SECOND } from '../core/time.ts'
import {
  ensureFile,
  entriesIn,
  isTemporary,
  isThere,
  LEFT_BEHIND_MS,
  makeFolder,
  namesIn,
  probeFolder,
  removeFiles,
  sweepTemporary,
  syncFolder,
  writeOnce,
} from '../files/durable.ts'
import { appendJsonLines, readJsonLines } from '../files/line-log.ts'
import { pathSegment } from '../files/path-segment.ts'
import { bytesBelow } from '../files/stored-bytes.ts'
import type { StoredPage } from './bundle.ts'
import { isSamePage, openBundles } from './compaction.ts'
import { keepReserve, withReserve } from './disk-reserve.ts'
import type { LandedFolder, LandedPage, Landing, LandingStore, PageFile } from './landing.ts'
import {
  encodePage,
  headIn,
  memberBytes,
  type PageHead,
  readHead,
  readPage as readPageFile,
  verifyChecksums,
} from './page.ts'
import { pageAddress, parsePageName, streamFolder } from './page-address.ts'
import { rewriteFolders } from './rewriting.ts'
import { appendRun, readFullsDropped, readRuns } from './runs.ts'
import { readForgotten, rememberBegun } from './tombstones.ts'

/** Opens the landing of a data folder. Creates nothing yet. */
export function openLanding(home: string): LandingStore {
  const root = join(home, 'landing')
  const stored = bytesBelow()
  const folders = async () =>
    (await entriesIn(root)).filter(entry => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name)
  const idFile = join(root, '.id')
  const id = () =>
    readFile(idFile, 'utf8').then(
      text => text.trim(),
      (cause: NodeJS.ErrnoException) => {
        if (cause.code === 'ENOENT') return null
        throw homeUnusable(idFile, cause)
      },
    )
  return {
    workspace: workspaceId => openWorkspace(root, workspaceId),
    folders,
    exists: () => isThere(root),
    id,
    async ensureId() {
      await ensureFile(idFile, () => `${randomUUID()}\n`)
      return (await id())!
    },
    reserve: () => keepReserve(root),
    async probe() {
      if (await isThere(root)) await probeFolder(root)
    },
    async storedBytes() {
      const sizes = await Promise.all((await folders()).map(name => stored(join(root, name))))
      return sizes.reduce((sum, size) => sum + size, 0)
    },
  }
}

/**
 * A folder that retention has removed from a landing deliberately, so that `replay` does not report it as missing. It
 * is recorded in `<workspace>/expired.ndjson` before its first page is removed.
 */
interface ExpiredFolder {
  folder: string
  /** Number of its pages when it expired. */
  pages: number
  expiredMs: number
}

const fileOf = (root: string, workspaceId: string): string => join(root, pathSegment(workspaceId), 'expired.ndjson')

/** Appends and syncs. @throws HOME_UNUSABLE */
async function recordExpired(root: string, workspaceId: string, folders: readonly ExpiredFolder[]): Promise<void> {
  if (folders.length > 0) await appendJsonLines(fileOf(root, workspaceId), folders)
}

/** Returns the number of pages of each expired folder. A repeated expiry counts once. @throws HOME_UNUSABLE */
async function readExpired(root: string, workspaceId: string): Promise<Map<string, number>> {
  const pages = new Map<string, number>()
  for (const found of await readJsonLines<ExpiredFolder>(fileOf(root, workspaceId), 'folder'))
    pages.set(found.folder, Math.max(found.pages, pages.get(found.folder) ?? 0))
  return pages
}

function openWorkspace(root: string, workspaceId: string): Landing {
  const own = pathSegment(workspaceId)
  const failedFolder = posix.join(own, 'failed')
  const stored = bytesBelow()
  const bundles = openBundles(root)
  const fileOf = (address: string) => join(root, address)

  /** Creates the folder before each write, since it may have been moved away, and the page has already been billed. */
  const write = (address: string, parts: readonly Uint8Array[], check: () => Promise<void> = async () => {}) =>
    withReserve(root, async () => {
      await makeFolder(dirname(fileOf(address)))
      await check()
      await writeOnce(fileOf(address), parts)
    })

  /** @throws LANDING_TAKEN if a bundle holds another page of this name than `own` returns */
  async function expectNotMoved(address: string, own?: () => Omit<StoredPage, 'name'>): Promise<void> {
    const bundled = await bundles.read(address)
    if (bundled && !(own && isSamePage(bundled, own()))) throw alreadyLanded(fileOf(address))
  }

  /** Reads a page from its current file or bundle. @throws LANDING_CORRUPT */
  async function readPage<T>(
    address: string,
    fromFile: (file: string) => Promise<T>,
    fromBundle: (page: StoredPage) => T,
  ): Promise<T> {
    try {
      return await fromFile(fileOf(address))
    } catch (error) {
      const bundled = isAbsent(error) ? await bundles.read(address) : null
      if (bundled) return fromBundle(bundled)
      throw error
    }
  }

  const readHeadOf = (address: string): Promise<PageHead> =>
    readPage(address, readHead, ({ head }) => headIn(head.toString()))

  const listFolders = (folders: readonly string[]) => pagesIn(root, folders, () => bundles.addresses(folders))

  return {
    async land(head, body) {
      const address = pageAddress(workspaceId, head.place)
      const parts = await encodePage(head, body)
      let unknown: unknown = null
      // The page has been billed, so it lands even if it is unclear whether its name is taken; the error is thrown afterwards.
      const look = (own?: () => Omit<StoredPage, 'name'>) =>
        expectNotMoved(address, own).catch(error => {
          if (isCode(error, 'LANDING_TAKEN')) throw error
          unknown ??= error
        })
      await write(address, parts, () => look()).catch(cause => {
        throw hasCode(cause, 'EEXIST') ? alreadyLanded(fileOf(address), cause) : cause
      })
      // The page with that name may have moved since the first look, and so may this one.
      await look(() => ({ head: memberBytes(parts[0]!), body: Buffer.from(body) })).catch(async error => {
        await removeFiles([fileOf(address)])
        throw error
      })
      if (unknown !== null) throw unknown
      return address
    },
    async landFailed({ atMs, agentId, status, body }) {
      const digest = createHash('sha256').update(body).digest('hex').slice(0, 12)
      const name = posix.join(failedFolder, `${atMs}-${pathSegment(agentId)}-${status}-${digest}.bin`)
      await write(name, [body]).catch(error => {
        // The same bytes at the same millisecond are the same answer.
        if (!hasCode(error, 'EEXIST')) throw error
      })
      return name
    },
    async list(stream) {
      const streams = (stream ? [stream] : STREAMS).map(each => posix.join(own, each))
      return pagesIn(root, streams, async () => {
        const folders = (await landedFolders(root, workspaceId)).map(({ folder }) => folder)
        const isWanted = (folder: string) => streams.some(each => folder.startsWith(`${each}/`))
        return bundles.addresses(folders.filter(isWanted))
      })
    },
    folders: () => landedFolders(root, workspaceId),
    listFolders,
    async find(place) {
      const address = pageAddress(workspaceId, place)
      const isThere = (await isReadable(fileOf(address))) || (await bundles.locate(address)) !== null
      return isThere ? { address, head: await readHeadOf(address) } : null
    },
    head: readHeadOf,
    body: address =>
      readPage(
        address,
        async file => (await readPageFile(file)).body,
        ({ body }) => body,
      ),
    async files(addresses) {
      const files: PageFile[] = []
      const byBundle = new Map<string, string[]>()
      for (const address of addresses) {
        const isFile = await isReadable(fileOf(address))
        const bundled = isFile ? null : await bundles.locate(address)
        if (bundled === null) files.push({ uri: fileOf(address), addresses: [address], isBundle: false })
        else byBundle.set(bundled, [...(byBundle.get(bundled) ?? []), address])
      }
      for (const [uri, addresses] of byBundle) files.push({ uri, addresses, isBundle: true })
      return files
    },
    async verifyChecksums(pages) {
      const verified = new Set<string>()
      const ofFile = ({ address, head }: (typeof pages)[number]) => ({ file: fileOf(address), head })
      await verifyChecksums(pages.map(ofFile)).catch(async error => {
        if (!isAbsent(error)) throw error
        for (const page of pages)
          await verifyChecksums([ofFile(page)]).catch(async absent => {
            if (!isAbsent(absent) || !(await bundles.verify(page.address, verified))) throw absent
          })
      })
    },
    async erase(addresses) {
      await removeFiles(addresses.map(fileOf))
      await bundles.erase(addresses)
    },
    async rewrite(change, folders) {
      const all = folders ?? (await landedFolders(root, workspaceId)).map(({ folder }) => folder)
      return rewriteFolders(root, all, change)
    },
    forgotten: readForgotten(dirname(root)),
    rememberBegun: (conversations, nowMs) => rememberBegun(dirname(root), workspaceId, conversations, nowMs),
    async eraseFailed({ dryRun }) {
      const failed = (await namesIn(fileOf(failedFolder))).map(name => join(fileOf(failedFolder), name))
      if (!dryRun) await removeFiles(failed)
      return failed.length
    },
    async expire(folders, { beforeMs, nowMs }) {
      await recordExpired(
        root,
        workspaceId,
        folders.map(folder => ({ ...folder, expiredMs: nowMs })),
      )
      for (const { folder } of folders) await removeFolder(fileOf(folder))
      const failed = (await namesIn(fileOf(failedFolder))).filter(name => Number.parseInt(name, 10) < beforeMs)
      await removeFiles(failed.map(name => join(fileOf(failedFolder), name)))
    },
    expired: () => readExpired(root, workspaceId),
    async sweep(folders) {
      for (const folder of [...folders, failedFolder]) await sweepTemporary(fileOf(folder))
    },
    async compact(folders, nowMs) {
      for (const folder of folders) await bundles.compact(folder, nowMs)
    },
    lastUpkeepMs: () =>
      readFile(fileOf(posix.join(own, 'upkeep')), 'utf8').then(
        text => {
          const noted = Number.parseInt(text, 10)
          return Number.isFinite(noted) ? noted : null
        },
        () => null,
      ),
    noteUpkeep: nowMs => writeFile(fileOf(posix.join(own, 'upkeep')), `${nowMs}\n`, { mode: 0o600 }).catch(() => {}),
    async leftovers() {
      const folder = fileOf(own)
      return { files: (await leftBehind(folder)).length, hint: `find ${folder} -name '.tmp-*' -delete` }
    },
    storedBytes: () => stored(fileOf(own)),
    noteRun: (entry, nowMs) => withReserve(root, () => appendRun(root, workspaceId, entry, nowMs)),
    runs: () => readRuns(root, workspaceId),
    fullsDroppedMs: () => readFullsDropped(root, workspaceId),
  }
}

/** True if the page has no file; false if its file cannot be read. */
const isAbsent = (error: unknown): boolean =>
  isCode(error, 'LANDING_CORRUPT') && hasCode((error as ConvohouseError).cause, 'ENOENT')

const alreadyLanded = (file: string, cause?: unknown): ConvohouseError =>
  new ConvohouseError('LANDING_TAKEN', {
    what: `${file} has already landed: another process works on the same window.`,
    hint: 'Run one sync per workspace at a time.',
    cause,
  })

const isReadable = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )

/** Removes a folder of pages with its bundles. A kill in between leaves some of them. @throws HOME_UNUSABLE */
async function removeFolder(folder: string): Promise<void> {
  try {
    for (const below of [join(folder, 'bundles'), folder]) {
      // A folder that another program made, such as a file server's, stays.
      for (const entry of await entriesIn(below)) if (!entry.isDirectory()) await unlink(join(below, entry.name))
      await rmdir(below).catch(cause => {
        // A page is landing there right now, so it and its folder stay.
        if (!hasCode(cause, 'ENOENT') && !hasCode(cause, 'ENOTEMPTY')) throw cause
      })
    }
    await syncFolder(dirname(folder))
  } catch (cause) {
    throw cause instanceof ConvohouseError ? cause : homeUnusable(folder, cause)
  }
}

/** Returns temporary files below a folder that are too old to be in use. */
async function leftBehind(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const paths = entries
    .filter(entry => entry.isFile() && isTemporary(entry.name))
    .map(entry => join(entry.parentPath, entry.name))
  const old = await Promise.all(
    paths.map(path =>
      stat(path).then(
        ({ mtimeMs }) => mtimeMs < Date.now() - LEFT_BEHIND_MS,
        () => false,
      ),
    ),
  )
  return paths.filter((_, index) => old[index])
}

// Lists the folders of landed pages, and the pages in them.

async function addressesBelow(root: string, folder: string): Promise<string[]> {
  const entries = await entriesIn(join(root, folder))
  const found = await Promise.all(
    entries.map(entry => {
      const address = posix.join(folder, entry.name)
      // A folder named like a page is listed, so that reading it reports the fault instead of hiding a page.
      return entry.isDirectory() && !parsePageName(entry.name) ? addressesBelow(root, address) : [address]
    }),
  )
  return found.flat()
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const inLoadOrder = (a: LandedPage, b: LandedPage): number =>
  a.window === b.window
    ? a.generation - b.generation || a.sequence - b.sequence || compare(a.address, b.address)
    : compare(a.window, b.window)

/**
 * Returns the pages below these folders, in load order. Reads files before bundles, so that a moving page is in one of them.
 */
async function pagesIn(
  root: string,
  folders: readonly string[],
  bundled: () => Promise<Iterable<string>>,
): Promise<LandedPage[]> {
  const files = (await Promise.all(folders.map(folder => addressesBelow(root, folder)))).flat()
  return [...new Set([...files, ...(await bundled())])]
    .flatMap(address => {
      const parsed = parsePageName(address)
      return parsed ? [{ address, ...parsed }] : []
    })
    .sort(inLoadOrder)
}

/** Number of folders read concurrently. */
const FOLDERS_AT_ONCE = 64

async function inSlices<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = []
  for (let start = 0; start < items.length; start += FOLDERS_AT_ONCE)
    done.push(...(await Promise.all(items.slice(start, start + FOLDERS_AT_ONCE).map(work))))
  return done
}

/** Some file systems store times in steps of two seconds, so a folder that has just changed may change again with the same stamp. */
const STAMP_SETTLES_MS = 10 * SECOND

async function landedFolder(root: string, folder: string): Promise<LandedFolder> {
  const { mtimeNs, mtimeMs } = await stat(join(root, folder), { bigint: true }).catch(cause => {
    throw homeUnusable(join(root, folder), cause)
  })
  const stableFromMs = Number(mtimeMs) + STAMP_SETTLES_MS
  return { folder, month: posix.basename(folder), stamp: String(mtimeNs), stableFromMs }
}

/** Lists the folders of agents and months, but not the pages in them. @throws HOME_UNUSABLE */
async function landedFolders(root: string, workspaceId: string): Promise<LandedFolder[]> {
  const foldersIn = async (folder: string): Promise<string[]> =>
    (await entriesIn(join(root, folder)))
      .filter(entry => entry.isDirectory())
      .map(entry => posix.join(folder, entry.name))
  const months: string[] = []
  for (const stream of STREAMS) {
    const top = streamFolder(workspaceId, stream, null)
    // Conversations have a folder per agent, with months below it.
    const parents = stream === 'conversations' ? await foldersIn(top) : [top]
    months.push(...(await inSlices(parents, foldersIn)).flat())
  }
  return inSlices(months, folder => landedFolder(root, folder))
}
