// The landing as files: one gzip file per page below `<home>/landing`, at the path that its address names.
import { createHash, randomBytes } from 'node:crypto'
import { access, readdir, rm, stat, unlink } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { STREAMS } from '../catalog/resources/resources.ts'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { SECOND } from '../core/time.ts'
import {
  entriesIn,
  isTemporary,
  LEFT_BEHIND_MS,
  makeFolder,
  namesIn,
  sweepTemporary,
  syncFolder,
  writeOnce,
} from '../files/durable.ts'
import { pathSegment } from '../files/path-segment.ts'
import { bytesBelow } from '../files/stored-bytes.ts'
import { keepReserve, withReserve } from './disk-reserve.ts'
import type { LandedFolder, LandedPage, Landing, LandingStore } from './landing.ts'
import { encodePage, readBody, readHead, verifyChecksums } from './page.ts'
import { legacyPageAddress, pageAddress, parsePageName, streamFolder } from './page-address.ts'
import { appendRun, readFullsDropped, readRuns } from './runs.ts'

/** Opens the landing of a data folder. Creates nothing yet. */
export function openLanding(home: string): LandingStore {
  const root = join(home, 'landing')
  const stored = bytesBelow()
  const folders = async () => (await entriesIn(root)).filter(entry => entry.isDirectory())
  return {
    workspace: workspaceId => openWorkspace(root, workspaceId),
    exists: () => isThere(root),
    reserve: () => keepReserve(root),
    async probe() {
      if (!(await isThere(root))) return
      const file = join(root, `.probe-${process.pid}-${randomBytes(6).toString('hex')}`)
      try {
        await writeOnce(file, [Buffer.from('A file of `convohouse doctor`; it may be deleted.\n')])
      } finally {
        await rm(file, { force: true }).catch(() => {})
      }
    },
    async storedBytes() {
      const sizes = await Promise.all((await folders()).map(({ name }) => stored(join(root, name))))
      return sizes.reduce((sum, size) => sum + size, 0)
    },
  }
}

function openWorkspace(root: string, workspaceId: string): Landing {
  const own = pathSegment(workspaceId)
  const failedFolder = posix.join(own, 'failed')
  const stored = bytesBelow()
  const fileOf = (address: string) => join(root, address)

  /** Creates the folder before each write: it may have been moved away since the last one, and the page has been paid for. */
  const write = (address: string, parts: readonly Uint8Array[]) =>
    withReserve(root, async () => {
      await makeFolder(dirname(fileOf(address)))
      await writeOnce(fileOf(address), parts)
    })

  return {
    async land(head, body) {
      const address = pageAddress(workspaceId, head.place)
      await write(address, await encodePage(head, body)).catch(cause => {
        throw hasCode(cause, 'EEXIST') ? alreadyLanded(fileOf(address), cause) : cause
      })
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
      const streams = stream ? [stream] : STREAMS
      return pagesIn(
        root,
        streams.map(each => posix.join(own, each)),
      )
    },
    folders: () => landedFolders(root, workspaceId),
    listFolders: folders => pagesIn(root, folders),
    async find(place) {
      for (const address of new Set([pageAddress(workspaceId, place), legacyPageAddress(workspaceId, place)])) {
        if (!(await isReadable(fileOf(address)))) continue
        const head = await readHead(fileOf(address))
        // The legacy folder may belong to another agent whose ID differs only by case.
        if (head.place.agentId === place.agentId) return { address, head }
      }
      return null
    },
    head: address => readHead(fileOf(address)),
    body: address => readBody(fileOf(address)),
    files: async addresses =>
      addresses.map(address => ({ uri: fileOf(address), addresses: [address], isBundle: false })),
    verifyChecksums: pages => verifyChecksums(pages.map(({ address, head }) => ({ file: fileOf(address), head }))),
    erase: addresses => removeFiles(addresses.map(fileOf)),
    async expire(beforeMs) {
      const expired = (await landedFolders(root, workspaceId)).filter(({ month }) => monthEndMs(month) <= beforeMs)
      const pages = await pagesIn(
        root,
        expired.map(({ folder }) => folder),
      )
      await removeFiles(pages.map(({ address }) => fileOf(address)))
      const failed = (await namesIn(fileOf(failedFolder))).filter(name => Number.parseInt(name, 10) < beforeMs)
      await removeFiles(failed.map(name => join(fileOf(failedFolder), name)))
      return pages.length
    },
    async compact(folders) {
      for (const folder of [...folders, failedFolder]) await sweepTemporary(fileOf(folder))
    },
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

const alreadyLanded = (file: string, cause: unknown): ConvohouseError =>
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

/** @throws HOME_UNUSABLE where this cannot be determined */
const isThere = (folder: string): Promise<boolean> =>
  stat(folder).then(
    () => true,
    (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return false
      throw homeUnusable(folder, cause)
    },
  )

async function addressesBelow(root: string, folder: string): Promise<string[]> {
  const entries = await entriesIn(join(root, folder))
  const found = await Promise.all(
    entries.map(entry => {
      const address = posix.join(folder, entry.name)
      // A folder that has a page's name is listed, so that reading it reports the fault instead of hiding a page.
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

/** The pages below these folders, in load order. */
async function pagesIn(root: string, folders: readonly string[]): Promise<LandedPage[]> {
  const addresses = (await Promise.all(folders.map(folder => addressesBelow(root, folder)))).flat()
  return addresses
    .flatMap(address => {
      const parsed = parsePageName(address)
      return parsed ? [{ address, ...parsed }] : []
    })
    .sort(inLoadOrder)
}

/** Folders read at a time. */
const FOLDERS_AT_ONCE = 64

async function inSlices<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = []
  for (let start = 0; start < items.length; start += FOLDERS_AT_ONCE)
    done.push(...(await Promise.all(items.slice(start, start + FOLDERS_AT_ONCE).map(work))))
  return done
}

/** Some file systems store times in steps of two seconds: a folder that has just changed may change again with the same stamp. */
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

/** First moment after a month such as `2026-11`, UTC, ms. NaN for any other name: a comparison with it is false, so it never expires. */
const monthEndMs = (month: string): number => {
  const [year, number] = month.split('-').map(Number)
  return Date.UTC(year!, number!)
}

async function removeFiles(files: readonly string[]): Promise<void> {
  for (const file of files)
    await unlink(file).catch(cause => {
      if (!hasCode(cause, 'ENOENT')) throw homeUnusable(file, cause)
    })
  for (const folder of new Set(files.map(file => dirname(file))))
    await syncFolder(folder).catch(cause => {
      if (!hasCode(cause, 'ENOENT')) throw homeUnusable(folder, cause)
    })
}

/** Temporary files below a folder that are too old to be in use. */
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
