// Errors as text and as JSON, with their hint.

import type { CommanderError } from 'commander'
import { ConvohouseError, EXIT_CODES } from '../../core/errors.ts'
import { visibleLines } from './controls.ts'
import { plain, type Style } from './style.ts'

/** Replaces errors of calls to Temporal's server, whose texts are the SDK's. */
const UNANSWERED = new ConvohouseError('TEMPORAL_UNREACHABLE', {
  what: "Temporal's server did not answer, or refused the call.",
  hint: 'Check that it runs (`--verbose` shows its answer), then run the same command again.',
})

export const exitCodeOf = (error: unknown): number => describeError(error).exitCode

/** True with `--verbose` or DEBUG. */
const wantsStack = (): boolean => process.argv.includes('--verbose') || Boolean(process.env.DEBUG)

const REPORT = 'This is a bug. Please report it with the command and the output of `--verbose`.'

interface ErrorDescription {
  code: string
  what: string
  hint: string | undefined
  exitCode: number
}

/** Returns message and hint of an error. The hint of an unexpected error asks to report it. */
export const describeError = (error: unknown): ErrorDescription => {
  if (error instanceof ConvohouseError)
    return { code: error.code, what: error.message, hint: error.hint, exitCode: error.exitCode }
  if (error instanceof Error && error.name === 'ServiceError') return describeError(UNANSWERED)
  const what = error instanceof Error ? error.message : String(error)
  return { code: 'UNEXPECTED', what, hint: REPORT, exitCode: EXIT_CODES.unexpected }
}

/** Returns `error CODE: what` and `  → hint`, preceded by the workspace or target if one is given. */
export function failureLines(
  { code, what, hint }: { code: string; what: string; hint?: string | null | undefined },
  style: Style = plain,
  subject?: string,
): string[] {
  const whose = subject === undefined ? '' : `${subject}: `
  const head = `${whose}${style('red', `error ${code}:`)} ${visibleLines(what)}`
  return hint ? [head, `  → ${visibleLines(hint)}`] : [head]
}

const stackOf = (error: unknown): string[] => {
  if (!(error instanceof Error) || !wantsStack()) return []
  const cause = error.cause instanceof Error ? [`caused by ${error.cause.stack ?? error.cause.message}`] : []
  return [error.stack ?? error.message, ...cause]
}

/** Returns an error as lines of text. */
export const errorLines = (error: unknown, style: Style = plain, subject?: string): string[] => [
  ...failureLines(describeError(error), style, subject),
  ...stackOf(error),
]

/** Returns an error as JSON. */
export function errorJson(error: unknown): object {
  const facts = error instanceof ConvohouseError ? error.facts : {}
  const stack = stackOf(error)
  return { error: { ...describeError(error), facts, ...(stack.length > 0 && { stack }) } }
}

/** True after help or version: commander then throws an error with exit code 0. */
export const isHelpOrVersion = (error: CommanderError): boolean => error.exitCode === 0

/** True if no command was named. */
export const wantsHelp = (error: CommanderError): boolean => error.code === 'commander.help' && error.exitCode !== 0

/** Turns commander's error, such as `error: unknown option '--ful'\n(Did you mean --full?)`, into FLAG_INVALID for `command`. */
export function usageError(error: CommanderError, command: string): ConvohouseError {
  const [first = '', hint] = error.message
    .replace(/^error: /, '')
    .replace(/\.$/, '')
    .split('\n')
  // Commander quotes an unknown `--flag=value` with its value, which may be a misplaced secret.
  const what = first.replace(/(unknown option '[^'=]+)=.*'$/, "$1'")
  const guess = /\(Did you mean (.+?)\?\)/.exec(hint ?? '')?.[1]
  const listed = error.code === 'commander.unknownCommand' ? 'commands' : 'options'
  return new ConvohouseError('FLAG_INVALID', {
    what: `${command}: ${what}.`,
    hint: guess ? `Did you mean ${guess}?` : `\`${command} --help\` lists the ${listed}.`,
  })
}
