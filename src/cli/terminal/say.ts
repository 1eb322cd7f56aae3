// Lines on their way out. Results go to standard output, everything about how it goes to standard error.
import type { Writable } from 'node:stream'

let isStamped = false

/** What a service writes is read later, and beside what others wrote: from now on each line about how it goes begins with its time. */
export function stampLines(): void {
  isStamped = true
}

/** ISO-8601, UTC: the machine's time, as other logs have it. */
export const timeStamp = (): string => new Date().toISOString()

/** The lines of a log: each with its time, where lines are stamped. */
export const logged = (lines: readonly string[]): string[] =>
  isStamped ? lines.flatMap(text => text.split('\n')).map(line => `${timeStamp()} ${line}`) : [...lines]

export const say = (...lines: string[]): void => writeLines(process.stdout, lines)

export const remark = (...lines: string[]): void => writeLines(process.stderr, logged(lines))

/** One JSON value on one line, for machines. */
export const sayJson = (value: unknown): void => say(JSON.stringify(value))

/** One JSON object on one line of a log, with its time in `at`. */
export const sayJsonLine = (value: object): void => sayJson({ at: timeStamp(), ...value })

const writeLines = (to: Writable, lines: string[]): void => {
  if (lines.length > 0) to.write(`${lines.join('\n')}\n`)
}
