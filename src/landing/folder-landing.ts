// The landing as files below `<home>/landing`.
import { randomBytes, randomUUID } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { homeUnusable } from '../core/disk.ts'
import { ensureFile, entriesIn, isThere, writeOnce } from '../files/durable.ts'
import { bytesBelow } from '../files/stored-bytes.ts'
import { keepReserve } from './disk-reserve.ts'
import type { LandingStore } from './landing.ts'
import { openWorkspace } from './workspace-landing.ts'

/** Opens the landing of a data folder. Creates nothing yet. */
export function openLanding(home: string): LandingStore {
  const root = join(home, 'landing')
  const stored = bytesBelow()
  const folders = async () =>
    (await entriesIn(root)).filter(entry => entry.isDirectory() && !entry.name.startsWith('.'))
  const idFile = join(root, '.id')
  const id = () =>
    readFile(idFile, 'utf8').then(
      text => text.trim(),
      (cause: NodeJS.ErrnoException) => {
        if (cause.code === 'ENOENT') return null
        throw homeUnusable(idFile, cause)
      },
    )
  return {
    workspace: workspaceId => openWorkspace(root, workspaceId),
    exists: () => isThere(root),
    id,
    async ensureId() {
      await ensureFile(idFile, () => `${randomUUID()}\n`)
      return (await id())!
    },
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
