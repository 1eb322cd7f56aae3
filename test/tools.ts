// Executables of other projects that tests need: on the PATH, else in the user's cache. A tool is built in a temporary
// folder and moved to its place when it is complete, so no process sees half of it.
import { access, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'convohouse')

/** Returns the path of the first executable file of that name; null if no folder has one. */
export async function firstIn(folders: readonly string[], command: string): Promise<string | null> {
  for (const folder of folders) {
    const path = join(folder, command)
    const isExecutable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isExecutable) return path
  }
  return null
}

const searchPath = (): string[] => (process.env.PATH ?? '').split(delimiter).filter(folder => folder !== '')

/** Returns the path of a tool on the PATH, in `more` folders, or in the folder `place` of the cache; null if missing. */
export const findTool = (command: string, place: string, more: readonly string[] = []): Promise<string | null> =>
  firstIn([...searchPath(), ...more, join(CACHE, place)], command)

/** Returns the path of the tool `command` in the folder `place` of the cache, after `make` has put it into a temporary folder. */
export async function intoCache(
  command: string,
  place: string,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  await mkdir(join(CACHE, place), { recursive: true })
  const folder = await mkdtemp(join(CACHE, `${place}.`))
  try {
    await make(folder)
    await rename(join(folder, command), join(CACHE, place, command))
    return join(CACHE, place, command)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
