// Lines on their way out. Results go to standard output, everything about how it goes to standard error.
import type { Writable } from 'node:stream'

let isStamped = false

/** What a service writes is read later, and beside what others wrote: from now on each line about how it goes begins with its time. */
export function stampLines(): void {
  isStamped = true
}

/** ISO-8601, UTC: the machine's time, as other logs have it. */
export const timestamp = (): string => new Date().toISOString()

/** The lines of a log: each with its time, where lines are stamped. */
export const logLines = (lines: readonly string[]): string[] =>
  isStamped ? lines.flatMap(text => text.split('\n')).map(line => `${timestamp()} ${line}`) : [...lines]

export const print = (...lines: string[]): void => writeLines(process.stdout, lines)

export const log = (...lines: string[]): void => writeLines(process.stderr, logLines(lines))

/** One JSON value on one line, for machines. */
export const printJson = (value: unknown): void => print(JSON.stringify(value))

/** One JSON object on one line of a log, with its time in `at`. */
export const printJsonLine = (value: object): void => printJson({ at: timestamp(), ...value })

const writeLines = (to: Writable, lines: string[]): void => {
  if (lines.length > 0) to.write(`${lines.join('\n')}\n`)
}
