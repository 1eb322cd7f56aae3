// Checks the data folder and its disk: write access, durability, file mode, free space, and the kind of file system.
import { randomBytes } from 'node:crypto'
import { rm, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Stores } from '../../app/stores.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { bytes } from '../../core/words.ts'
import { isThere, writeOnce } from '../../files/durable.ts'
import { warehouseSize } from '../../files/stored-bytes.ts'
import { warehouseFile } from '../../warehouse/open.ts'
import { examine, type Finding, fail, ok, warn } from './findings.ts'

const SUBJECT = { check: 'data folder' }

/** The folder if it exists, else the nearest parent folder that exists, in which it would be created. */
export async function nearest(folder: string): Promise<string> {
  return (await isThere(folder)) || dirname(folder) === folder ? folder : nearest(dirname(folder))
}

/** Writes a small file as durably as a page, and removes it. @throws HOME_UNUSABLE */
async function tryWriting(folder: string): Promise<void> {
  const file = join(folder, `.doctor-${process.pid}-${randomBytes(6).toString('hex')}`)
  try {
    await writeOnce(file, [Buffer.from('A file of `convohouse doctor`; it may be deleted.\n')])
  } finally {
    await rm(file, { force: true }).catch(() => {})
  }
}

/** Tries to write to the folder or, while it does not exist, to the nearest parent folder. @throws HOME_UNUSABLE */
export async function expectWritable(folder: string): Promise<void> {
  await tryWriting(await nearest(folder))
}

async function openToOthers(home: string): Promise<boolean> {
  return process.platform !== 'win32' && ((await stat(home)).mode & 0o077) !== 0
}

export function dataFolderCheck(home: string, { landing }: Stores): Promise<Finding[]> {
  return examine(SUBJECT, async () => {
    const there = await nearest(home)
    await tryWriting(there)
    if (there !== home) return [ok(SUBJECT, `${home} does not exist yet; it can be created in ${there}`)]
    // Tested separately: the landing may lie on another disk.
    await landing.probe()
    const id = await landing.id()
    const found = `${home} is writable, and writes are durable${id === null ? '' : `; it has the landing ${id}`}`
    if (await openToOthers(home))
      return [warn(SUBJECT, `${found}; other users can read it`, `Restrict it to its owner: chmod 700 ${home}`)]
    return [ok(SUBJECT, found)]
  })
}

interface DiskUsage {
  freeBytes: number
  warehouseBytes: number
  landingBytes: number
}

const SPACE = { check: 'space' }
const FILE_SYSTEM = { check: 'file system' }

const MB = 1_000_000
/** With less free space the check fails, since pages may not land. */
export const TOO_LITTLE_BYTES = 64 * MB
/** With less free space the check warns, since DuckDB spills to disk and the landing grows. */
export const LITTLE_BYTES = 1_000 * MB

export function spaceFinding({ freeBytes, warehouseBytes, landingBytes }: DiskUsage): Finding {
  const found = `${bytes(freeBytes)} free; the warehouse takes ${bytes(warehouseBytes)}, the landing ${bytes(landingBytes)}`
  if (freeBytes < TOO_LITTLE_BYTES) {
    const hint = 'Free some space. Landed pages are kept, and the next sync continues.'
    return fail(SPACE, new ConvohouseError('HOME_UNUSABLE', { what: `The disk is full: ${found}.`, hint }))
  }
  if (freeBytes < warehouseBytes)
    return warn(SPACE, found, 'Free more space before a replay, which builds a second warehouse beside the first.')
  if (freeBytes < LITTLE_BYTES) return warn(SPACE, found, 'Free more space before the next long sync.')
  return ok(SPACE, found)
}

export function fileSystemFinding(fileSystem: FileSystem | null): Finding {
  if (fileSystem === null) return ok(FILE_SYSTEM, 'of unknown type; it passed the write test above')
  const { name, nature } = fileSystem
  if (nature === 'network') {
    const hint = 'Move the data folder to a local disk: network file systems may not guarantee locks and fsync.'
    return warn(FILE_SYSTEM, `${name}, which may be a network file system`, hint)
  }
  if (nature === 'memory')
    return warn(
      FILE_SYSTEM,
      `${name}, which keeps files in memory`,
      'Move the data folder to a disk: a restart of the machine deletes everything on this file system.',
    )
  return ok(FILE_SYSTEM, name)
}

/** Findings about space and file system. */
export function diskChecks(home: string, { landing }: Stores): Promise<Finding[]> {
  return examine(SPACE, async () => {
    const { freeBytes, fileSystem } = await volumeOf(await nearest(home))
    const warehouseBytes = await warehouseSize(warehouseFile(home))
    const landingBytes = await landing.storedBytes()
    return [spaceFinding({ freeBytes, warehouseBytes, landingBytes }), fileSystemFinding(fileSystem)]
  })
}

interface FileSystem {
  name: string
  /** `network`: locks and fsync depend on the server. `memory`: lost at a restart. */
  nature: 'disk' | 'network' | 'memory'
}

/** File systems by the type number that `statfs` returns: those of linux/magic.h, and some that the header does not list. */
const KNOWN: Readonly<Record<number, FileSystem>> = {
  61267: { name: 'ext4', nature: 'disk' },
  1481003842: { name: 'xfs', nature: 'disk' },
  2435016766: { name: 'btrfs', nature: 'disk' },
  801189825: { name: 'zfs', nature: 'disk' },
  2035054128: { name: 'overlayfs', nature: 'disk' },
  16914836: { name: 'tmpfs', nature: 'memory' },
  2240043254: { name: 'ramfs', nature: 'memory' },
  26985: { name: 'NFS', nature: 'network' },
  20859: { name: 'SMB', nature: 'network' },
  4283649346: { name: 'CIFS', nature: 'network' },
  4266872130: { name: 'SMB', nature: 'network' },
  16914839: { name: '9P', nature: 'network' },
  12805120: { name: 'Ceph', nature: 'network' },
  1397113167: { name: 'AFS', nature: 'network' },
  198183888: { name: 'Lustre', nature: 'network' },
  1196443219: { name: 'GPFS', nature: 'network' },
  1702057286: { name: 'FUSE', nature: 'network' },
}

/** The file system of a type number; null for an unknown number, and on systems other than Linux. */
export const fileSystemOf = (type: number, platform: NodeJS.Platform = process.platform): FileSystem | null =>
  // Some systems return the number signed; `>>> 0` makes it unsigned.
  platform === 'linux' ? (KNOWN[type >>> 0] ?? null) : null

interface Volume {
  fileSystem: FileSystem | null
  freeBytes: number
}

/** File system and free space of an existing folder. */
export async function volumeOf(folder: string): Promise<Volume> {
  const { type, bavail, bsize } = await statfs(folder)
  return { fileSystem: fileSystemOf(type), freeBytes: bavail * bsize }
}
