// Files that are there or not there, never half: written under a temporary name, synced, then linked to their own name.
// `link` fails where the name exists, so a name is taken once; `rename` would silently take it twice.
import { randomBytes } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { link, mkdir, open, readdir, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { diskErrorCode, hasCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { HOUR } from '../core/time.ts'

/** True for what `writeOnce` is still writing, or what a kill left half written. */
export const isTemporary = (name: string): boolean => name.startsWith('.tmp-')

/** A name of that kind, which no other has. */
export const temporaryName = (): string => `.tmp-${process.pid}-${randomBytes(6).toString('hex')}`

/** Makes the names in a folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    found => found.isDirectory(),
    () => false,
  )

/** Why there can be no folder, however much space and permission there is. */
const NO_PLACE: Record<string, string> = {
  EEXIST: 'what is there is no folder',
  ENOENT: 'its file system takes none there',
}

const noFolder = (folder: string, cause: NodeJS.ErrnoException): ConvohouseError =>
  diskErrorCode(cause) !== null
    ? homeUnusable(folder, cause)
    : new ConvohouseError('HOME_UNUSABLE', {
        what: `No folder can be made at ${folder}: ${NO_PLACE[cause.code!] ?? cause.code}.`,
        hint: 'Remove what is in its way, or name another data folder (`home`, CONVOHOUSE_HOME).',
        cause,
      })

/**
 * Makes a folder and its parents (mode 0700), each durable in its own parent. Not by `mkdir` with `recursive`: below a folder that takes
 * none (/proc) that tries for ever, on a thread that no signal ends.
 * @throws HOME_UNUSABLE
 */
export async function makeFolder(folder: string): Promise<void> {
  if (await isFolder(folder)) return
  const parent = dirname(folder)
  if (parent !== folder) await makeFolder(parent)
  await mkdir(folder, { mode: 0o700 }).catch(async cause => {
    // Whoever else makes it at the same moment has made it.
    if (!(await isFolder(folder))) throw noFolder(folder, cause)
  })
  await syncFolder(parent).catch(cause => {
    throw homeUnusable(parent, cause)
  })
}

/** What file systems without hard links answer: FAT, exFAT, and some that lie on the network. */
const WITHOUT_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** A name that cannot be given to a file, as it is to be told. */
export function notLinked(file: string, cause: unknown): ConvohouseError {
  const { code = '', syscall } = cause as NodeJS.ErrnoException
  if (syscall !== 'link' || !WITHOUT_LINKS.includes(code)) return homeUnusable(file, cause)
  return new ConvohouseError('HOME_UNUSABLE', {
    what: `The file system of ${dirname(file)} takes no hard links (${code}).`,
    hint: 'Use a data folder on a file system that has them: only they give a page its name once.',
    cause,
  })
}

/**
 * Writes `parts` to a name that nobody has taken yet, durably (file and folder synced), mode 0600.
 * @throws LANDING_TAKEN where the name exists; HOME_UNUSABLE where the disk refuses.
 */
export async function writeOnce(file: string, parts: readonly Uint8Array[]): Promise<void> {
  const folder = dirname(file)
  const temporary = join(folder, temporaryName())
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      // Not `writev`, which a disk that fills up may cut short without an error.
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
    if (hasCode(cause, 'EEXIST')) {
      throw new ConvohouseError('LANDING_TAKEN', {
        what: `${file} has landed already: another runner works on the same window.`,
        hint: 'Run one sync a workspace at a time.',
        cause,
      })
    }
    throw notLinked(file, cause)
  }
}

/** Entries of a folder; none where there is no such folder. @throws HOME_UNUSABLE where it cannot be read: a short list would have pages bought again */
export async function entriesIn(folder: string): Promise<Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return []
    throw homeUnusable(folder, cause)
  })
}

/** Their names. @throws HOME_UNUSABLE */
export const namesIn = async (folder: string): Promise<string[]> => (await entriesIn(folder)).map(({ name }) => name)

/** Nothing is written for so long: a temporary file that is older was left by a kill, whoever else writes there now. */
export const LEFT_BEHIND_MS = HOUR

/** Removes what killed processes left half written in a folder. The times of files are the machine's, not a run's. */
export async function sweepTemporary(folder: string): Promise<void> {
  for (const name of (await namesIn(folder)).filter(isTemporary)) {
    const file = join(folder, name)
    const found = await stat(file).catch(() => null)
    if (found && found.mtimeMs < Date.now() - LEFT_BEHIND_MS) await unlink(file).catch(() => {})
  }
}
