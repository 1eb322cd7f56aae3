// Append-only files of JSON lines, one value each. A kill may cut off the last line, which readers skip.
import { open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { makeFolder, syncFolder } from './durable.ts'

/** Appends and syncs; creates the file (mode 0600) and its folder. The leading line feed ends a torn line. @throws HOME_UNUSABLE */
export async function appendJsonLines(file: string, values: readonly unknown[]): Promise<void> {
  const folder = dirname(file)
  try {
    await makeFolder(folder)
    const handle = await open(file, 'a', 0o600)
    try {
      await handle.appendFile(`\n${values.map(value => JSON.stringify(value)).join('\n')}\n`)
      await handle.datasync()
    } finally {
      await handle.close()
    }
    await syncFolder(folder)
  } catch (cause) {
    throw homeUnusable(file, cause)
  }
}

/**
 * Returns the values of a file with a text in the field `name`; all others were cut off or damaged. None if the file does not exist.
 * @throws HOME_UNUSABLE
 */
export async function readJsonLines<T extends object>(file: string, name: keyof T & string): Promise<T[]> {
  const text = await readFile(file, 'utf8').catch(cause => {
    if (hasCode(cause, 'ENOENT')) return ''
    throw homeUnusable(file, cause)
  })
  return text.split('\n').flatMap(line => {
    try {
      const value = JSON.parse(line) as T
      return typeof value[name] === 'string' ? [value] : []
    } catch {
      return []
    }
  })
}
