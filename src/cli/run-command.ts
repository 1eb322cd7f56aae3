// Parses a command line, runs the command, and prints its error.
import { type Command, CommanderError } from 'commander'
import { diskErrorText } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { unlikeFlag } from './commands/query.ts'
import { createProgram } from './program.ts'
import { errorJson, errorLines, exitCodeOf, isCalmEnd, usageError, wantsHelp } from './terminal/error-text.ts'
import { log, timestamp } from './terminal/print.ts'
import { styleOf } from './terminal/style.ts'

/** The reader of our output is gone: the next command of a pipe, or a closed terminal. */
const isClosedPipe = (error: unknown): boolean =>
  ['EPIPE', 'EIO'].includes((error as NodeJS.ErrnoException | null)?.code ?? '')

/** The named command, for the hint at its help. */
function commandName(program: Command, args: readonly string[]): string {
  const named = program.commands.find(command => args.includes(command.name()))
  return named ? `convohouse ${named.name()}` : 'convohouse'
}

function tell(error: unknown, args: readonly string[]): void {
  if (args.includes('--json')) log(JSON.stringify({ at: timestamp(), ...errorJson(error) }))
  else log(...errorLines(error, styleOf(process.stderr)))
  process.exitCode = exitCodeOf(error)
}

const notWritten = (cause: Error): ConvohouseError =>
  new ConvohouseError('HOME_UNUSABLE', {
    what: `Standard output cannot be written: ${diskErrorText(cause)}.`,
    hint: 'Send it where there is space. Only the output is lost.',
    cause,
  })

/** The exit code is in `process.exitCode` afterwards. */
export async function runCommand(args: readonly string[]): Promise<void> {
  // A reader that stops early (`| head`) is no error, and neither is an unread standard error.
  process.stderr.on('error', () => {})
  let unwritten: Error | undefined
  process.stdout.on('error', error => {
    if (!isClosedPipe(error)) unwritten ??= error
  })
  const program = createProgram()
  try {
    const given = args.includes('query') ? args.map(unlikeFlag) : args
    await program.parseAsync(given, { from: 'user' })
  } catch (error) {
    tellUnlessCalm(error, { program, args, unwritten })
  }
  // The error of the last lines arrives after the command has returned.
  process.stdout.once('error', error => {
    if (!isClosedPipe(error)) tell(notWritten(error), args)
  })
  if (unwritten) tell(notWritten(unwritten), args)
}

function tellUnlessCalm(
  error: unknown,
  { program, args, unwritten }: { program: Command; args: readonly string[]; unwritten: Error | undefined },
): void {
  if (error === unwritten || isClosedPipe(error)) return
  if (!(error instanceof CommanderError)) tell(error, args)
  else if (wantsHelp(error)) program.outputHelp()
  else if (!isCalmEnd(error)) tell(usageError(error, commandName(program, args)), args)
}
