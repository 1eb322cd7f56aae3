#!/usr/bin/env node
// The `convohouse` command: runs what the command line asks for, and tells errors in one way.
import { type Command, CommanderError } from 'commander'
import { errorJson, errorLines, exitCodeOf } from './failure/failure-text.ts'
import { isCalmEnd, usageError, wantsHelp } from './failure/usage-error.ts'
import { createProgram } from './program.ts'
import { remark } from './terminal/say.ts'
import { styleOf } from './terminal/style.ts'

const isClosedPipe = (error: unknown): boolean => (error as NodeJS.ErrnoException | null)?.code === 'EPIPE'

/** The command that was asked for, for the hint at its help. */
function commandName(program: Command, args: readonly string[]): string {
  const named = program.commands.find(command => args.includes(command.name()))
  return named ? `convohouse ${named.name()}` : 'convohouse'
}

function tell(error: unknown, args: readonly string[]): void {
  if (args.includes('--json')) remark(JSON.stringify(errorJson(error)))
  else remark(...errorLines(error, styleOf(process.stderr)))
  process.exitCode = exitCodeOf(error)
}

async function main(args: readonly string[]): Promise<void> {
  // Whoever reads our output may have seen enough (`| head`): no error.
  process.stdout.on('error', error => {
    if (!isClosedPipe(error)) throw error
  })
  const program = createProgram()
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) return isClosedPipe(error) ? undefined : tell(error, args)
    if (wantsHelp(error)) return program.outputHelp()
    if (!isCalmEnd(error)) tell(usageError(error, commandName(program, args)), args)
  }
}

await main(process.argv.slice(2))
