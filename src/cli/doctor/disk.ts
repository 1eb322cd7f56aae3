// The data folder: whether it can really be written, durably, and under a name that is taken once; and who can read it.
import { randomBytes } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { homeUnusable } from '../../core/disk.ts'
import { writeOnce } from '../../files/durable.ts'
import { examine, type Finding, ok, warn } from './findings.ts'

const SUBJECT = { check: 'data folder' }

const isThere = (folder: string): Promise<boolean> =>
  stat(folder).then(
    () => true,
    (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return false
      throw homeUnusable(folder, cause)
    },
  )

/** The folder, or the nearest one above it that is there: where it would be made. */
export async function nearest(folder: string): Promise<string> {
  return (await isThere(folder)) || dirname(folder) === folder ? folder : nearest(dirname(folder))
}

/** Lands a few bytes as a page would land, and takes them away again. @throws HOME_UNUSABLE */
async function tryWriting(folder: string): Promise<void> {
  const file = join(folder, `.doctor-${process.pid}-${randomBytes(6).toString('hex')}`)
  try {
    await writeOnce(file, [Buffer.from('A file of `convohouse doctor`; it may be deleted.\n')])
  } finally {
    await rm(file, { force: true }).catch(() => {})
  }
}

async function openToOthers(home: string): Promise<boolean> {
  return process.platform !== 'win32' && ((await stat(home)).mode & 0o077) !== 0
}

export function dataFolderCheck(home: string): Promise<Finding[]> {
  return examine(SUBJECT, async () => {
    const there = await nearest(home)
    await tryWriting(there)
    if (there !== home) return [ok(SUBJECT, `${home} is not there yet; it can be made in ${there}`)]
    // It may lie on another disk.
    const landing = join(home, 'landing')
    if (await isThere(landing)) await tryWriting(landing)
    const found = `${home} can be written, and what is written is durable`
    if (await openToOthers(home))
      return [warn(SUBJECT, `${found}; others can look into it`, `Close it to others: chmod 700 ${home}`)]
    return [ok(SUBJECT, found)]
  })
}
