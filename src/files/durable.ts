// Files that exist completely or not at all: written under a temporary name, synced, then linked to their final name.
// `link` fails if the name exists, so a name is created only once; `rename` would silently replace it.
import { randomBytes } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { link, mkdir, open, readdir, rename, stat, statfs, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { diskErrorCode, hasCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { HOUR } from '../core/time.ts'

/** True for a file that `writeOnce` is writing, or that a kill left half-written. */
export const isTemporary = (name: string): boolean => name.startsWith('.tmp-')

/** Returns a new, unique name for a temporary file. */
export const temporaryName = (): string => `.tmp-${process.pid}-${randomBytes(6).toString('hex')}`

/** Syncs a file, which makes its content durable. */
export async function syncFile(path: string, flags: 'r' | 'r+' = 'r+'): Promise<void> {
  const handle = await open(path, flags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Syncs a folder, which makes the names in it durable. */
export const syncFolder = (folder: string): Promise<void> => syncFile(folder, 'r')

/** @throws HOME_UNUSABLE if this cannot be determined */
export const isThere = (folder: string): Promise<boolean> =>
  stat(folder).then(
    () => true,
    (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return false
      throw homeUnusable(folder, cause)
    },
  )

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    found => found.isDirectory(),
    () => false,
  )

/** Reasons why a folder cannot be created besides lack of space or permissions, by error code. */
const NO_PLACE: Record<string, string> = {
  EEXIST: 'a file is in its place',
  ENOENT: 'the file system allows no new folder there',
}

const noFolder = (folder: string, cause: NodeJS.ErrnoException): ConvohouseError =>
  diskErrorCode(cause) !== null
    ? homeUnusable(folder, cause)
    : new ConvohouseError('HOME_UNUSABLE', {
        what: `Cannot create the folder ${folder}: ${NO_PLACE[cause.code!] ?? cause.code}.`,
        hint: 'Remove what is in the way, or configure another data folder (`home`, CONVOHOUSE_HOME).',
        cause,
      })

/**
 * Creates a folder and its parents (mode 0700), each durable in its parent. Does not use `mkdir` with `recursive`:
 * below a folder that allows no new ones (/proc), that call retries forever, on a thread that no signal ends.
 * @throws HOME_UNUSABLE
 */
export async function makeFolder(folder: string): Promise<void> {
  if (await isFolder(folder)) return
  const parent = dirname(folder)
  if (parent !== folder) await makeFolder(parent)
  await mkdir(folder, { mode: 0o700 }).catch(async cause => {
    // Another process may have created it at the same moment.
    if (!(await isFolder(folder))) throw (await inodeError(parent, cause)) ?? noFolder(folder, cause)
  })
  await syncFolder(parent).catch(cause => {
    throw homeUnusable(parent, cause)
  })
}

/**
 * Returns the error of a file system that has space but hardly any inodes, which the system also reports as ENOSPC;
 * null for any other error. `folder`: the place of an error that names none.
 */
export async function inodeError(folder: string, cause: unknown): Promise<ConvohouseError | null> {
  const { path } = cause as NodeJS.ErrnoException
  const at = path === undefined ? folder : dirname(path)
  const volume = diskErrorCode(cause) === 'ENOSPC' ? await statfs(at).catch(() => null) : null
  // A file system without an inode limit reports 0 files.
  const lacksInodes =
    volume !== null && volume.files > 0 && volume.ffree < 64 && volume.bavail * volume.bsize > 1_000_000
  if (!lacksInodes) return null
  return new ConvohouseError('HOME_UNUSABLE', {
    what: `Cannot use ${at}: its file system has free space, but no free inodes (ENOSPC), so it holds no more files.`,
    hint: 'Delete files, or move the data folder to a file system with more inodes (`df -i` counts them), then run the same command again; what has landed is kept.',
    cause,
  })
}

/** Errors of file systems without hard links: FAT, exFAT and some network file systems. */
const WITHOUT_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** Returns the error to report if a file could not be linked. */
export function notLinked(file: string, cause: unknown): ConvohouseError {
  const { code = '', syscall } = cause as NodeJS.ErrnoException
  if (syscall !== 'link' || !WITHOUT_LINKS.includes(code)) return homeUnusable(file, cause)
  return new ConvohouseError('HOME_UNUSABLE', {
    what: `The file system of ${dirname(file)} does not support hard links (${code}).`,
    hint: 'Use a data folder on a file system that supports them: without them two processes could land the same page.',
    cause,
  })
}

/**
 * Creates a file durably (file and folder synced), mode 0600.
 * @throws the system's EEXIST if the name exists; HOME_UNUSABLE if the file system fails.
 */
export async function writeOnce(file: string, parts: readonly Uint8Array[]): Promise<void> {
  const folder = dirname(file)
  const temporary = join(folder, temporaryName())
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      // `writev` is not used: a disk that fills up may make a short write without an error.
      for (const part of parts) await handle.appendFile(part)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await link(temporary, file)
    await unlink(temporary)
    await syncFolder(folder)
  } catch (cause) {
    await unlink(temporary).catch(() => {})
    if (hasCode(cause, 'EEXIST')) throw cause
    throw (await inodeError(folder, cause)) ?? notLinked(file, cause)
  }
}

/** Puts a synced temporary file in the place of another file of its folder, durably. @throws HOME_UNUSABLE */
export async function replaceFile(file: string, temporary: string): Promise<void> {
  try {
    await rename(temporary, file)
    await syncFolder(dirname(file))
  } catch (cause) {
    throw homeUnusable(file, cause)
  }
}

/** Writes a small file as durably as a page, and removes it. @throws HOME_UNUSABLE */
export async function probeFolder(folder: string): Promise<void> {
  const file = join(folder, temporaryName())
  await writeOnce(file, [Buffer.from('A file that tests whether the disk can be written; it may be deleted.\n')])
  await unlink(file).catch(() => {})
}

/** Creates a file and its folder durably, unless the file exists. @throws HOME_UNUSABLE */
export async function ensureFile(file: string, text: () => string): Promise<void> {
  if (await stat(file).catch(() => null)) return
  await makeFolder(dirname(file))
  await writeOnce(file, [Buffer.from(text())]).catch(cause => {
    // Another process has just created it.
    if (!hasCode(cause, 'EEXIST')) throw cause
  })
}

/**
 * Returns the entries of a folder; none if it does not exist.
 * @throws HOME_UNUSABLE if it cannot be read: with an incomplete list, pages would be exported again
 */
export async function entriesIn(folder: string): Promise<Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return []
    throw homeUnusable(folder, cause)
  })
}

/** Returns the names of a folder's entries; none if it does not exist. @throws HOME_UNUSABLE */
export const namesIn = async (folder: string): Promise<string[]> => (await entriesIn(folder)).map(({ name }) => name)

/** Removes files durably. Ignores files that another process has removed. @throws HOME_UNUSABLE */
export async function removeFiles(files: readonly string[]): Promise<void> {
  for (const file of files)
    await unlink(file).catch(cause => {
      if (!hasCode(cause, 'ENOENT')) throw homeUnusable(file, cause)
    })
  for (const folder of new Set(files.map(file => dirname(file))))
    await syncFolder(folder).catch(cause => {
      if (!hasCode(cause, 'ENOENT')) throw homeUnusable(folder, cause)
    })
}

/** No write takes this long: an older temporary file was left by a killed process, even if other processes are writing to the folder. */
export const LEFT_BEHIND_MS = HOUR

/** Removes half-written files of killed processes in a folder. The machine's clock, which dates files, measures their age. */
export async function sweepTemporary(folder: string): Promise<void> {
  for (const name of (await namesIn(folder)).filter(isTemporary)) {
    const file = join(folder, name)
    const found = await stat(file).catch(() => null)
    if (found && found.mtimeMs < Date.now() - LEFT_BEHIND_MS) await unlink(file).catch(() => {})
  }
}

/**
 * Makes every file that this process creates from now on private to its user: landing and warehouse contain personal data. DuckDB
 * sets no modes and creates its log and spill files at any time, so the umask is never restored. Existing files keep their mode.
 */
export function restrictUmask(): void {
  if (process.platform !== 'win32') process.umask(0o077)
}
