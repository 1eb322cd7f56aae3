// Which kind of file system a folder lies on, where the system tells (Linux does, by a number).
import { statfs } from 'node:fs/promises'

export interface FileSystem {
  name: string
  /** `network`: locks and syncs are somebody else's promise. `memory`: gone at the next start. */
  nature: 'disk' | 'network' | 'memory'
}

/** Numbers of linux/magic.h, and of file systems that are not in it. */
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

/** Null for a number that is not known, and for systems that number theirs otherwise. */
export const fileSystemOf = (type: number, platform: NodeJS.Platform = process.platform): FileSystem | null =>
  // Read as signed by some systems: only its 32 bits count.
  platform === 'linux' ? (KNOWN[type >>> 0] ?? null) : null

export interface Volume {
  fileSystem: FileSystem | null
  freeBytes: number
}

/** Of a folder that is there. */
export async function volumeOf(folder: string): Promise<Volume> {
  const { type, bavail, bsize } = await statfs(folder)
  return { fileSystem: fileSystemOf(type), freeBytes: bavail * bsize }
}
