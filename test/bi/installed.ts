// Tools that tests install below `node_modules/.cache`, each once: a marker is written when its folder is complete.
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** npm and vitest run in the root of the repository. The compiled bench has another place than its source. */
export const CACHE = join(process.cwd(), 'node_modules', '.cache')

export interface Tool {
  /** Names its folder in the cache. It contains the version, so that another version is another folder. */
  folder: string
  /** Says for people what it is and where it comes from. */
  about: string
  /** @throws an error that says what is missing on this machine */
  install: (folder: string) => Promise<void>
}

const markerOf = ({ folder }: Pick<Tool, 'folder'>): string => join(CACHE, folder, 'whole')

export const isInstalled = (tool: Pick<Tool, 'folder'>): boolean => existsSync(markerOf(tool))

/** Returns the folder of an installed tool. @throws if it is not installed */
export function folderOf(tool: Tool): string {
  if (!isInstalled(tool)) throw new Error(`${tool.about} is not installed: \`npm run test:bi\` installs it.`)
  return join(CACHE, tool.folder)
}

/** Installs a tool unless it is there. @returns true if it was installed now */
export async function install(tool: Tool): Promise<boolean> {
  if (isInstalled(tool)) return false
  const folder = join(CACHE, tool.folder)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await tool.install(folder)
  await writeFile(markerOf(tool), '')
  return true
}
