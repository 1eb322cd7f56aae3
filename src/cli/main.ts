// The `convohouse` command behind its entry (convohouse.cts): runs what the command line asks for, and tells errors in one way.
import { type Command, CommanderError } from 'commander'
import { diskErrorText } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { unlikeFlag } from './commands/query.ts'
import { createProgram } from './program.ts'
import { errorJson, errorLines, exitCodeOf, isCalmEnd, usageError, wantsHelp } from './terminal/error-text.ts'
import { log, timestamp } from './terminal/print.ts'
import { endOnSignals } from './terminal/signals.ts'
import { styleOf } from './terminal/style.ts'
import { keepYoungSpaceSmall } from './young-space.ts'

/** Whoever reads our output is gone: the next command of a pipe, or a terminal that was closed. */
const isClosedPipe = (error: unknown): boolean =>
  ['EPIPE', 'EIO'].includes((error as NodeJS.ErrnoException | null)?.code ?? '')

/** The command that was asked for, for the hint at its help. */
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
    hint: 'Send it to where there is space. Nothing but what was to be shown is lost.',
    cause,
  })

async function main(args: readonly string[]): Promise<void> {
  keepYoungSpaceSmall()
  endOnSignals()
  // Whoever reads our output may have seen enough (`| head`): no error. Nor is it one that nobody reads how it goes.
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
  // Told of the last lines a moment later.
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

await main(process.argv.slice(2))
