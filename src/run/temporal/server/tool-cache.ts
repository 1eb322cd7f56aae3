// What is made for the cache of tools: in a folder of its own beside its place, and moved there when it is whole. Nobody ever sees
// half of it. The folder's name tells which process is at it, so that another one waits rather than do the same.
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MINUTE, SECOND } from '../../../core/time.ts'
import { makeFolder } from '../../../files/durable.ts'
import { BUILD_MS } from './build.ts'
import { isExecutable } from './executables.ts'

/** Nobody works so long: what is older was left behind by a process that was killed. */
const LEFT_BEHIND_MS = BUILD_MS + 10 * MINUTE

const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Folders beside `place` in which it is, or was, made. */
async function works(place: string): Promise<{ path: string; pid: number; old: boolean }[]> {
  const prefix = `${basename(place)}.`
  const names = (await readdir(dirname(place)).catch(() => [])).filter(name => name.startsWith(prefix))
  const found = names.map(async name => {
    const path = join(dirname(place), name)
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: 0 }))
    return { path, pid: Number.parseInt(name.slice(prefix.length), 10), old: Date.now() - mtimeMs > LEFT_BEHIND_MS }
  })
  return Promise.all(found)
}

/** Waits while another process makes the same. Two that begin at the same moment both make it, which does no harm. */
async function othersEnded(place: string, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    const others = await works(place)
    for (const { path } of others.filter(({ old }) => old)) await rm(path, { recursive: true, force: true })
    if (!others.some(({ pid, old }) => !old && pid !== process.pid && runs(pid))) return
    await sleep(SECOND, undefined, { signal })
  }
}

/**
 * The path of `name` in the cache's folder `place`, where `make` puts it into the folder that it is given, if nobody else does meanwhile.
 * @throws what `make` throws; then nothing is left
 */
export async function intoCache(
  options: { place: string; name: string; signal?: AbortSignal | undefined },
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const { place, name, signal } = options
  const path = join(place, name)
  await othersEnded(place, signal)
  if (await isExecutable(path)) return path
  const folder = `${place}.${process.pid}-${randomBytes(4).toString('hex')}`
  // A process that exits in the midst of it waits for nothing; where the folder could not be made there is nothing to remove.
  const removeNow = () => {
    try {
      rmSync(folder, { recursive: true, force: true })
    } catch {}
  }
  process.once('exit', removeNow)
  try {
    await makeFolder(folder)
    await make(folder)
    await makeFolder(place)
    await rename(join(folder, name), path)
    return path
  } finally {
    process.off('exit', removeNow)
    // Where it could not be made there is nothing to remove, and the reason for that is what is told.
    await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}
