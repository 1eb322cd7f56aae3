// Finds executables of other projects on the PATH or in the user's cache. A tool is downloaded into a temporary folder and moved to its place
// when it is complete, so no process sees half of it. The temporary folder's name contains the id of the process that
// downloads, so that other processes can see that it is running, and wait for it.
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { access, constants, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MINUTE, SECOND } from '../../../core/time.ts'
import { makeFolder } from '../../../files/durable.ts'

/** The file name of a command on this system. */
export const executableName = (command: string): string => (process.platform === 'win32' ? `${command}.exe` : command)

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  )

/** Path of the first executable file of that name; null if no folder has one. */
export async function firstIn(folders: readonly string[], command: string): Promise<string | null> {
  for (const folder of folders) {
    const path = join(folder, executableName(command))
    if (await isExecutable(path)) return path
  }
  return null
}

/** Longer than any download takes: a temporary folder older than this was left behind by a killed process. */
const LEFT_BEHIND_MS = 25 * MINUTE

const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Temporary folders of this tool beside `place`, including those that killed processes left behind. */
async function workFolders(place: string): Promise<{ path: string; pid: number; old: boolean }[]> {
  const prefix = `${basename(place)}.`
  const names = (await readdir(dirname(place)).catch(() => [])).filter(name => name.startsWith(prefix))
  const found = names.map(async name => {
    const path = join(dirname(place), name)
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: 0 }))
    return { path, pid: Number.parseInt(name.slice(prefix.length), 10), old: Date.now() - mtimeMs > LEFT_BEHIND_MS }
  })
  return Promise.all(found)
}

/** Waits while another process downloads the same tool. If two start at the same moment, both download it, which does no harm. */
async function waitForOthers(place: string, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    const others = await workFolders(place)
    for (const { path } of others.filter(({ old }) => old)) await rm(path, { recursive: true, force: true })
    if (!others.some(({ pid, old }) => !old && pid !== process.pid && runs(pid))) return
    await sleep(SECOND, undefined, { signal })
  }
}

/**
 * Path of the executable `name` in the cache's folder `place`. If it is not there, `make` puts it into a temporary folder.
 * @throws the error of `make`, after removing that folder
 */
export async function intoCache(
  options: { place: string; name: string; signal?: AbortSignal | undefined },
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const { place, name, signal } = options
  const path = join(place, name)
  await waitForOthers(place, signal)
  if (await isExecutable(path)) return path
  const folder = `${place}.${process.pid}-${randomBytes(4).toString('hex')}`
  // `process.exit` during the download would skip the `finally` below. The folder may not exist yet; removing it then fails silently.
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
    // A failure to remove the folder must not hide the error of `make`.
    await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}
