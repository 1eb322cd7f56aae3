// Lines on their way out. Results go to standard output, everything about how it goes to standard error.
import type { Writable } from 'node:stream'

export const say = (...lines: string[]): void => writeLines(process.stdout, lines)

export const remark = (...lines: string[]): void => writeLines(process.stderr, lines)

/** One JSON value on one line, for machines. */
export const sayJson = (value: unknown): void => say(JSON.stringify(value))

const writeLines = (to: Writable, lines: string[]): void => {
  if (lines.length > 0) to.write(`${lines.join('\n')}\n`)
}
