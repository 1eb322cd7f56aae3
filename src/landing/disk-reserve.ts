// The disk reserve: space and inodes for answers in flight when the disk fills up, since a requested page is billed
// whether or not it can be stored. The reserve is a folder of files. If a write finds the disk full, the folder is
// deleted and the write repeated. The error is still thrown, so that nothing more is requested.
import { randomBytes } from 'node:crypto'
import { link, open, readdir, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { diskErrorCode, hasCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { inodeError, makeFolder, notLinked } from '../files/durable.ts'

/** Enough for the compressed pages of four requests in flight: a page of 100 records often takes 200 KB. */
const RESERVE_BYTES = 4 * 1024 * 1024

/** Each of the four pages may need a folder for its agent and month, a temporary name and its own; the logs also need some. */
const RESERVE_FILES = 32

const reserveFolder = (root: string): string => join(root, '.room')

const reserveFile = (root: string): string => join(reserveFolder(root), 'bytes')

/** Returns a second name of the reserve, which exists briefly while hard links are tested. */
const linkFile = (root: string): string => join(reserveFolder(root), 'link')

const remove = (root: string): Promise<void> =>
  rm(reserveFolder(root), { recursive: true, force: true }).catch(() => {})

/** Running releases of reserves, by root: all writers that need the space wait for the same deletion. */
const releases = new Map<string, Promise<void>>()

/** Deletes the reserve once. A file's name disappears before its space is free, so other callers wait for the same deletion. */
function release(root: string): Promise<void> {
  const releasing = releases.get(root) ?? remove(root)
  releases.set(root, releasing)
  return releasing
}

/** @throws HOME_UNUSABLE if the file system has no hard links: page names could not be exclusive */
async function expectHardLinks(root: string): Promise<void> {
  const file = linkFile(root)
  // A killed process may have left the link.
  await unlink(file).catch(() => {})
  await link(reserveFile(root), file).catch(cause => {
    // EEXIST: another process runs the same test. ENOENT: another process has released the reserve.
    if (!hasCode(cause, 'EEXIST') && !hasCode(cause, 'ENOENT')) throw notLinked(file, cause)
  })
  await unlink(file).catch(() => {})
}

async function ensureReserve(root: string): Promise<void> {
  const file = reserveFile(root)
  const existing = await stat(file).catch(() => null)
  const files = await readdir(reserveFolder(root)).catch(() => [])
  releases.delete(root)
  if (existing?.size === RESERVE_BYTES && files.length > RESERVE_FILES) return
  try {
    await makeFolder(reserveFolder(root))
    for (let n = 0; n < RESERVE_FILES; n++) await writeFile(join(reserveFolder(root), `${n}`), '', { mode: 0o600 })
    const handle = await open(file, 'w', 0o600)
    try {
      // Random bytes, because some file systems allocate nothing for zeros.
      await handle.appendFile(randomBytes(RESERVE_BYTES))
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch (cause) {
    const error = await inodeError(root, (cause as Error).cause ?? cause)
    await remove(root)
    throw error ?? (cause instanceof ConvohouseError ? cause : homeUnusable(file, cause))
  }
}

/**
 * Creates the reserve below the landing's root unless it exists, and checks that files can have hard links there.
 * @throws HOME_UNUSABLE if the disk lacks the space or the links, so that nothing may be requested
 */
export async function keepReserve(root: string): Promise<void> {
  await ensureReserve(root)
  await expectHardLinks(root)
}

const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(diskErrorCode(error) ?? '')

/** Runs `work`. On a full disk, releases the reserve, runs `work` once more and throws the first error nevertheless. */
export async function withReserve<T>(root: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const cause = (error as Error).cause ?? error
    if (!isFull(cause)) throw error
    // Checked first, since the release frees inodes.
    const lacking = await inodeError(root, cause)
    await release(root)
    await work().catch(() => {})
    throw lacking ?? error
  }
}
