// Makes a publication's data files durable before its commit: else a power failure could leave a catalog that names files which were never written.
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { entriesIn, syncFolder } from '../../files/durable.ts'

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Syncs the files below `folder` that were written since, and the folders that contain them. @returns true if there were any */
export async function syncFiles(folder: string, sinceMs: number): Promise<boolean> {
  let isChanged = false
  for (const entry of await entriesIn(folder)) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) isChanged = (await syncFiles(path, sinceMs)) || isChanged
    else if (entry.name.endsWith('.parquet') && (await stat(path)).mtimeMs >= sinceMs) {
      await syncFile(path)
      isChanged = true
    }
  }
  if (isChanged) await syncFolder(folder)
  return isChanged
}
