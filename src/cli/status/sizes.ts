// Bytes on disk.
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Bytes of a file; 0 where it is not there. */
export const fileSize = (file: string): Promise<number> =>
  stat(file).then(
    found => found.size,
    () => 0,
  )

/** Bytes of a warehouse: its file, and the log beside it, which may hold all of a first load until the warehouse is closed. */
export const warehouseSize = async (file: string): Promise<number> =>
  (await fileSize(file)) + (await fileSize(`${file}.wal`))

/** Bytes of all files below a folder; 0 where it is not there. Files that go meanwhile count as nothing. */
export async function folderSize(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  let size = 0
  for (const entry of entries) {
    const path = join(folder, entry.name)
    size += entry.isDirectory() ? await folderSize(path) : await fileSize(path)
  }
  return size
}

/** Bytes of what all workspaces have landed, without the space that is kept free beside it. */
export async function landingSize(root: string): Promise<number> {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => [])
  const folders = entries.filter(entry => entry.isDirectory())
  const sizes = await Promise.all(folders.map(({ name }) => folderSize(join(root, name))))
  return sizes.reduce((sum, size) => sum + size, 0)
}
