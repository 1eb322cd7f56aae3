// Installs each tool once below `node_modules/.cache`; a marker is written when its folder is complete.
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** npm and vitest run in the root of the repository. The compiled bench is in another folder than its source. */
export const CACHE = join(process.cwd(), 'node_modules', '.cache')

export interface Tool {
  /** Name of its folder in the cache. It contains the version, so that each version has a separate folder. */
  folder: string
  /** Text for people that describes the tool and its origin. */
  about: string
  /** Installs the tool. @throws an error that names what is missing on this machine */
  install: (folder: string) => Promise<void>
}

const markerOf = ({ folder }: Pick<Tool, 'folder'>): string => join(CACHE, folder, 'whole')

export const isInstalled = (tool: Pick<Tool, 'folder'>): boolean => existsSync(markerOf(tool))

/** Returns the folder of an installed tool. @throws if it is not installed */
export function folderOf(tool: Tool): string {
  if (!isInstalled(tool)) throw new Error(`${tool.about} is not installed: \`npm run test:bi\` installs it.`)
  return join(CACHE, tool.folder)
}

/** Installs a tool unless it is already installed. @returns true if it was installed now */
export async function install(tool: Tool): Promise<boolean> {
  if (isInstalled(tool)) return false
  const folder = join(CACHE, tool.folder)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await tool.install(folder)
  await writeFile(markerOf(tool), '')
  return true
}
