// The landing as files: one gzip file per page below `<home>/landing`, at the path that its address names. A page that brought nothing
// becomes a line of a poll log (poll-log.ts).
import { createHash, randomBytes } from 'node:crypto'
import { access, readdir, rm, stat, unlink } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { STREAMS } from '../catalog/resources/resources.ts'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError, isCode } from '../core/errors.ts'
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
import type { Landing, LandingStore } from './landing.ts'
import { encodePage, type PageHead, readBody, readHead, verifyChecksums } from './page.ts'
import { folderOf, legacyPageAddress, pageAddress } from './page-address.ts'
import { landedFolders, pagesIn } from './page-folders.ts'
import { isPoll, openPolls, type PolledPage } from './poll-log.ts'
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
  const polls = openPolls(root, workspaceId)
  const fileOf = (address: string) => join(root, address)

  /** Creates the folder before each write: it may have been moved away since the last one, and the page has been paid for. */
  const write = (address: string, parts: readonly Uint8Array[], check = async () => {}) =>
    withReserve(root, async () => {
      await makeFolder(dirname(fileOf(address)))
      await check()
      await writeOnce(fileOf(address), parts)
    })

  /** @throws LANDING_TAKEN where a line of a poll log has the page's name */
  async function expectNoLine(address: string): Promise<void> {
    if (await polls.has(address)) throw alreadyLanded(fileOf(address))
  }

  /**
   * Replaces a page that has just landed by a line. The page's file excludes other processes from the name until the line is durable. Where
   * no line can be written, the file stays; the next page reports a full disk.
   */
  async function moveToLog(address: string, page: { head: PageHead; body: Uint8Array }): Promise<void> {
    const isLogged = await polls.append(address, page).then(
      () => true,
      () => false,
    )
    if (isLogged) await unlink(fileOf(address)).catch(() => {})
  }

  /** Reads a page from its file or, where it has none, from its line. @throws LANDING_CORRUPT */
  async function readPage<T>(
    address: string,
    fromFile: (file: string) => Promise<T>,
    fromLine: (page: PolledPage) => T,
  ): Promise<T> {
    try {
      return await fromFile(fileOf(address))
    } catch (error) {
      const line = isAbsent(error) ? await polls.read(address) : null
      if (line === null) throw error
      return fromLine(line)
    }
  }

  const listFolders = (folders: readonly string[]) =>
    pagesIn(root, folders, async () => {
      const wanted = new Set(folders)
      const lines = await polls.addresses(new Set(folders.map(folder => posix.basename(folder))))
      return [...lines].filter(address => wanted.has(folderOf(address)))
    })

  return {
    async land(head, body) {
      const address = pageAddress(workspaceId, head.place)
      await write(address, await encodePage(head, body), () => expectNoLine(address)).catch(cause => {
        throw hasCode(cause, 'EEXIST') ? alreadyLanded(fileOf(address), cause) : cause
      })
      // Another process may have written a line, and removed its file, since the first look.
      await expectNoLine(address).catch(async error => {
        await removeFiles([fileOf(address)])
        throw error
      })
      if (isPoll(head, body)) await moveToLog(address, { head, body })
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
      const folders = (stream ? [stream] : STREAMS).map(each => posix.join(own, each))
      return pagesIn(root, folders, async () =>
        (stream ?? 'conversations') === 'conversations' ? polls.addresses() : [],
      )
    },
    folders: () => landedFolders(root, workspaceId),
    listFolders,
    async find(place) {
      for (const address of new Set([pageAddress(workspaceId, place), legacyPageAddress(workspaceId, place)])) {
        const isThere = (await isReadable(fileOf(address))) || (await polls.has(address))
        if (!isThere) continue
        const head = await readPage(address, readHead, line => line.head)
        // The legacy folder may belong to another agent whose ID differs only by case.
        if (head.place.agentId === place.agentId) return { address, head }
      }
      return null
    },
    head: address => readPage(address, readHead, line => line.head),
    body: address => readPage(address, readBody, line => line.body),
    files: async addresses =>
      addresses.map(address => ({ uri: fileOf(address), addresses: [address], isBundle: false })),
    async verifyChecksums(pages) {
      const ofFile = ({ address, head }: (typeof pages)[number]) => ({ file: fileOf(address), head })
      await verifyChecksums(pages.map(ofFile)).catch(async error => {
        if (!isAbsent(error)) throw error
        // A line's checksum is verified whenever it is read.
        for (const page of pages) {
          await readPage(
            page.address,
            () => verifyChecksums([ofFile(page)]),
            () => undefined,
          )
        }
      })
    },
    async erase(addresses) {
      await removeFiles(addresses.map(fileOf))
      await polls.erase(addresses)
    },
    async expire(beforeMs) {
      const expired = (await landedFolders(root, workspaceId)).filter(({ month }) => monthEndMs(month) <= beforeMs)
      const pages = await listFolders(expired.map(({ folder }) => folder))
      await removeFiles(pages.map(({ address }) => fileOf(address)))
      await polls.erase(pages.map(({ address }) => address))
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

/** True for a page that has no file; not for a file that cannot be read. */
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

/** @throws HOME_UNUSABLE where this cannot be determined */
const isThere = (folder: string): Promise<boolean> =>
  stat(folder).then(
    () => true,
    (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return false
      throw homeUnusable(folder, cause)
    },
  )

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
