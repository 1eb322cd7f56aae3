// What commander finds wrong with a command line, as an error of ours.
import type { CommanderError } from 'commander'
import { ConvohouseError } from '../../core/errors.ts'

/** Commander ends help and version with an "error" of code 0: no failure. */
export const isCalmEnd = (error: CommanderError): boolean => error.exitCode === 0

/** True where no command was named. */
export const wantsHelp = (error: CommanderError): boolean => error.code === 'commander.help' && error.exitCode !== 0

/** `error: unknown option '--ful'\n(Did you mean --full?)` as FLAG_INVALID; `command` is the one that was asked for. */
export function usageError(error: CommanderError, command: string): ConvohouseError {
  const [first = '', hint] = error.message
    .replace(/^error: /, '')
    .replace(/\.$/, '')
    .split('\n')
  // An unknown `--flag=value` is quoted whole: the value may be a secret that was put in the wrong place.
  const what = first.replace(/(unknown option '[^'=]+)=.*'$/, "$1'")
  const guess = /\(Did you mean (.+?)\?\)/.exec(hint ?? '')?.[1]
  return new ConvohouseError('FLAG_INVALID', {
    what: `${command}: ${what}.`,
    hint: guess ? `Did you mean ${guess}?` : `\`${command} --help\` shows what there is.`,
  })
}
