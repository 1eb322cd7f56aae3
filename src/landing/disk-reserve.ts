// Room for what is paid for already. A page that was asked for is billed, whether or not there is room for it when it comes.
// So room is kept in a file while there is some; where the disk is full, the file is given up, and what is under way
// still lands. Then it is told that the disk is full, so that nothing more is asked for.
import { randomBytes } from 'node:crypto'
import { link, open, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { diskErrorCode, hasCode, homeUnusable } from '../core/disk.ts'
import { makeFolder, notLinked } from '../files/durable.ts'

/** For the four requests that are under way at once, of a compressed page each: 200 KB is a common one of 100 records. */
const ROOM_BYTES = 4 * 1024 * 1024

const roomFile = (root: string): string => join(root, '.room')

/** A second name of it, there for a moment. */
const linkFile = (root: string): string => join(root, '.room-link')

/** By root, the room that was given up: all who need it wait for the same file to be gone. */
const givenUp = new Map<string, Promise<void>>()

/** A file's name is gone before its room is free, so a second caller must not take the first for an answer. */
function giveUp(root: string): Promise<void> {
  const gone = (file: string) => unlink(file).catch(() => {})
  const going = givenUp.get(root) ?? Promise.all([roomFile, linkFile].map(of => gone(of(root)))).then(() => {})
  givenUp.set(root, going)
  return going
}

/** @throws HOME_UNUSABLE where a file takes no second name: no page could land */
async function expectHardLinks(root: string): Promise<void> {
  const file = linkFile(root)
  // A kill may have left it.
  await unlink(file).catch(() => {})
  await link(roomFile(root), file).catch(cause => {
    // Whoever else tries it, or gives the room up meanwhile, has found that it does.
    if (!hasCode(cause, 'EEXIST') && !hasCode(cause, 'ENOENT')) throw notLinked(file, cause)
  })
  await unlink(file).catch(() => {})
}

/**
 * Keeps the room below the landing's root, where it is not there yet, and tries whether pages can get their names there.
 * @throws HOME_UNUSABLE where the disk has no such room, or no hard links: then nothing may be bought
 */
export async function keepReserve(root: string): Promise<void> {
  await makeRoom(root)
  await expectHardLinks(root)
}

async function makeRoom(root: string): Promise<void> {
  const file = roomFile(root)
  await makeFolder(root)
  const there = await stat(file).catch(() => null)
  givenUp.delete(root)
  if (there?.size === ROOM_BYTES) return
  try {
    const handle = await open(file, 'w', 0o600)
    try {
      // Random, because some file systems keep no room for zeros.
      await handle.appendFile(randomBytes(ROOM_BYTES))
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch (cause) {
    await unlink(file).catch(() => {})
    throw homeUnusable(file, cause)
  }
}

const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(diskErrorCode(error) ?? '')

/**
 * Does `work`; where the disk is full, once more in the room that is given up for it. The error is thrown all the same, so
 * that the caller asks for nothing more.
 */
export async function withReserve<T>(root: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const cause = (error as Error).cause ?? error
    if (!isFull(cause)) throw error
    await giveUp(root)
    await work().catch(() => {})
    throw error
  }
}
