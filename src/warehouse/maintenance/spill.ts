// What does not fit into memory: DuckDB writes it to a folder. Each instance has one of its own, since two of them in one
// folder would write the same files; what a killed process left there is removed by the next one that holds the warehouse.
import { randomBytes } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makeFolder } from '../../files/durable.ts'

const ENDING = '.spill'

const folderOf = (file: string): string => join(dirname(file), 'tmp')

/** Of the process that writes to `file`. */
export const spillFolder = (file: string): string => join(folderOf(file), `${basename(file)}${ENDING}`)

/** Of one of those who read `file`, of whom there may be several. */
export const readerSpillFolder = (file: string): string =>
  join(folderOf(file), `${basename(file)}.${process.pid}-${randomBytes(4).toString('hex')}${ENDING}`)

/** DuckDB makes a spill folder, and not the one above it. @throws HOME_UNUSABLE */
export const createSpillParent = (file: string): Promise<void> => makeFolder(folderOf(file))

/** Removes what others left behind. Only for who holds `file`: then nobody reads it either. */
export async function removeStaleSpills(file: string): Promise<void> {
  const names = await readdir(folderOf(file)).catch(() => [])
  const left = names.filter(name => name.startsWith(`${basename(file)}.`) && name.endsWith(ENDING))
  for (const name of left) await rm(join(folderOf(file), name), { recursive: true, force: true })
}
