// Parses a command line, runs the command, and prints its error.
import { type Command, CommanderError } from 'commander'
import { notWritable } from '../core/disk.ts'
import type { ConvohouseError } from '../core/errors.ts'
import { invalidFlag } from './flags/values.ts'
import { createProgram } from './program.ts'
import { nameCommands } from './terminal/command-name.ts'
import { errorJson, errorLines, exitCodeOf, isHelpOrVersion, usageError, wantsHelp } from './terminal/error-text.ts'
import { log, stampLines, timestamp } from './terminal/print.ts'
import { similarName } from './terminal/similar-name.ts'
import { styleOf } from './terminal/style.ts'

/** True if the reader of our output is gone: the next command of the pipe has ended, or the terminal was closed. */
const isClosedPipe = (error: unknown): boolean =>
  ['EPIPE', 'EIO'].includes((error as NodeJS.ErrnoException | null)?.code ?? '')

/** Returns the command that the arguments name, for a hint that points to its help. */
function commandName(program: Command, args: readonly string[]): string {
  const named = program.commands.find(command => args.includes(command.name()))
  return named ? `convohouse ${named.name()}` : 'convohouse'
}

/** Prints an error, and sets `process.exitCode`. */
export function printError(error: unknown, args: readonly string[]): void {
  if (args.includes('--json')) log(JSON.stringify({ at: timestamp(), ...errorJson(error) }))
  else log(...errorLines(error, styleOf(process.stderr)))
  process.exitCode = exitCodeOf(error)
}

const outputLost = (cause: Error): ConvohouseError =>
  notWritable(
    'HOME_UNUSABLE',
    'Standard output',
    cause,
    'Write it where there is enough space. Only the output is lost.',
  )

/** Matches SQL that begins with a comment (`-- why`). Flags contain neither white space nor line breaks. */
const COMMENT_FIRST = /^--(?:\s|[^\n=]*\n)/

/** Puts a space before SQL that begins with a comment, so that commander does not parse it as a flag. Line numbers stay the same. */
const protectSqlComment = (argument: string): string => (COMMENT_FIRST.test(argument) ? ` ${argument}` : argument)

/** @throws FLAG_INVALID for an unknown command, which commander would hide behind `--help` or a default command */
function expectKnownCommand(program: Command, args: readonly string[]): void {
  const named = program.commands.find(one => one.name() === args[0])
  const names = (named ?? program).commands.map(one => one.name())
  const word = args[named ? 1 : 0] ?? '-'
  if (names.length === 0 || word.startsWith('-') || names.includes(word)) return
  const parent = named ? `convohouse ${named.name()}` : 'convohouse'
  const guess = similarName(word, names)
  const hint = guess ? `Did you mean ${guess}?` : `\`${parent} --help\` lists the commands.`
  throw invalidFlag(`${parent}: unknown command '${word}'.`, hint)
}

/** Runs a command line, prints its error, and sets `process.exitCode`. */
export async function runCommand(args: readonly string[]): Promise<void> {
  // A reader that stops early (`| head`) is not an error; errors of standard error are ignored.
  process.stderr.on('error', () => {})
  let unwritten: Error | undefined
  process.stdout.on('error', error => {
    if (!isClosedPipe(error)) unwritten ??= error
  })
  // Tests run several commands in one process, and the previous one may have switched timestamps on.
  stampLines(false)
  const program = await createProgram(args)
  nameCommands(program.commands.map(command => command.name()))
  try {
    expectKnownCommand(program, args)
    const given = args.includes('query') ? args.map(protectSqlComment) : args
    await program.parseAsync(given, { from: 'user' })
  } catch (error) {
    printUnlessHandled(error, { program, args, unwritten })
  }
  // The error of the last lines arrives after the command has returned.
  process.stdout.once('error', error => {
    if (!isClosedPipe(error)) printError(outputLost(error), args)
  })
  if (unwritten) printError(outputLost(unwritten), args)
}

function printUnlessHandled(
  error: unknown,
  { program, args, unwritten }: { program: Command; args: readonly string[]; unwritten: Error | undefined },
): void {
  if (error === unwritten || isClosedPipe(error)) return
  if (!(error instanceof CommanderError)) printError(error, args)
  else if (wantsHelp(error)) program.outputHelp()
  else if (!isHelpOrVersion(error)) printError(usageError(error, commandName(program, args)), args)
}
