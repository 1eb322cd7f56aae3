// The landing as files below `<home>/landing`.
import { randomBytes } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { homeUnusable } from '../core/disk.ts'
import { entriesIn, writeOnce } from '../files/durable.ts'
import { bytesBelow } from '../files/stored-bytes.ts'
import { keepReserve } from './disk-reserve.ts'
import type { LandingStore } from './landing.ts'
import { openWorkspace } from './workspace-landing.ts'

/** Opens the landing of a data folder. Creates nothing yet. */
export function openLanding(home: string): LandingStore {
  const root = join(home, 'landing')
  const stored = bytesBelow()
  const folders = async () => (await entriesIn(root)).filter(entry => entry.isDirectory())
  return {
    workspace: workspaceId => openWorkspace(root, workspaceId),
    exists: () => isThere(root),
    reserve: () => keepReserve(root),
    async probe() {
      if (!(await isThere(root))) return
      const file = join(root, `.probe-${process.pid}-${randomBytes(6).toString('hex')}`)
      try {
        await writeOnce(file, [Buffer.from('A file of `convohouse doctor`; it may be deleted.\n')])
      } finally {
        await rm(file, { force: true }).catch(() => {})
      }
    },
    async storedBytes() {
      const sizes = await Promise.all((await folders()).map(({ name }) => stored(join(root, name))))
      return sizes.reduce((sum, size) => sum + size, 0)
    },
  }
}

/** @throws HOME_UNUSABLE where this cannot be determined */
const isThere = (folder: string): Promise<boolean> =>
  stat(folder).then(
    () => true,
    (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return false
      throw homeUnusable(folder, cause)
    },
  )
