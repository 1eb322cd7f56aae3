// The file in which writes of callers outlive a restart: one line of JSON for each.
import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { ConvohouseError } from '../../core/errors.ts'

const FILE = 'changes.jsonl'

export class Journal<T> {
  private readonly file: string
  /** What the file held when it was opened, in order. */
  readonly read: readonly T[]

  /**
   * Opens the folder, which is created if it is missing. A last line that a killed process left incomplete is cut off.
   * @throws ConvohouseError CONFIG_INVALID if the file cannot be used.
   */
  constructor(folder: string) {
    this.file = join(folder, FILE)
    try {
      mkdirSync(folder, { recursive: true })
      this.read = readLines<T>(this.file)
    } catch (cause) {
      throw new ConvohouseError('CONFIG_INVALID', {
        what: `The sandbox's data in ${this.file} cannot be used: ${(cause as Error).message}`,
        hint: 'Give --data another folder, or delete the file to forget all writes.',
        cause: cause as Error,
        facts: { option: 'data' },
      })
    }
  }

  append(change: T): void {
    appendFileSync(this.file, `${JSON.stringify(change)}\n`)
  }
}

function readLines<T>(file: string): T[] {
  if (!existsSync(file)) return []
  const bytes = readFileSync(file)
  const end = bytes.lastIndexOf('\n') + 1
  if (end < bytes.length) truncateSync(file, end)
  const lines = bytes.subarray(0, end).toString().split('\n').slice(0, -1)
  return lines.map(line => JSON.parse(line) as T)
}
