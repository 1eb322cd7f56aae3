// Output of commands: results go to standard output (`print`), progress and messages to standard error (`log`).
import type { Writable } from 'node:stream'
import { asRunHere } from './command-name.ts'
import { forTerminal } from './controls.ts'

let isStamped = false

/** Sets whether each logged line from now on begins with its time, as in the log of a service. */
export function stampLines(stamped = true): void {
  isStamped = stamped
}

/** Returns the machine's time, ISO-8601, UTC. */
export const timestamp = (): string => new Date().toISOString()

/** Returns the lines as logged: each begins with its time if `stampLines` switched that on. */
export const logLines = (lines: readonly string[]): string[] =>
  isStamped ? lines.flatMap(text => text.split('\n')).map(line => `${timestamp()} ${line}`) : [...lines]

/** Returns the lines if they are to be shown, else none. */
export const linesIf = (isShown: boolean, ...lines: string[]): string[] => (isShown ? lines : [])

export const print = (...lines: string[]): void => writeLines(process.stdout, lines)

export const log = (...lines: string[]): void => writeLines(process.stderr, logLines(lines))

/** Prints one JSON value on one line. */
export const printJson = (value: unknown): void => print(JSON.stringify(value))

/** Prints one JSON object on one line, with its time in `at`. */
export const printJsonLine = (value: object): void => printJson({ at: timestamp(), ...value })

const writeLines = (to: Writable, lines: string[]): void => {
  if (lines.length > 0) to.write(forTerminal(to, asRunHere(`${lines.join('\n')}\n`)))
}
