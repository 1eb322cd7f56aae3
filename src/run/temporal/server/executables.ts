// Finds executables.
import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'

/** A command's file, as this system names it. */
export const executableName = (command: string): string => (process.platform === 'win32' ? `${command}.exe` : command)

export const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  )

/** The first of that name that can be executed. */
export async function firstIn(folders: readonly string[], command: string): Promise<string | null> {
  for (const folder of folders) {
    const path = join(folder, executableName(command))
    if (await isExecutable(path)) return path
  }
  return null
}
