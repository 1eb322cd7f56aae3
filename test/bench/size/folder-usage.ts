// Files of a folder and the space that they take.
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

export interface FileUsage {
  path: string
  bytes: number
  /** Bytes of the blocks that the file system has allocated. */
  allocated: number
}

/** Unit of `blocks` in Node's file facts. */
const BLOCK_BYTES = 512

/** All files of the folder and its subfolders. */
export async function filesOf(folder: string): Promise<FileUsage[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  return Promise.all(
    paths.map(async path => {
      const { size, blocks } = await stat(path)
      return { path, bytes: size, allocated: blocks * BLOCK_BYTES }
    }),
  )
}

export function usageOf(files: readonly FileUsage[]): { files: number; bytes: number; allocated: number } {
  const sum = (of: (file: FileUsage) => number) => files.reduce((total, file) => total + of(file), 0)
  return { files: files.length, bytes: sum(file => file.bytes), allocated: sum(file => file.allocated) }
}
