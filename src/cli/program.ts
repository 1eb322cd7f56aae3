// The command line: commands/ declares flags and help, and imports a command's work only when it runs, so that `--help` starts fast.
import { Command } from 'commander'
import { allowCommand, cancelCommand, pauseCommand, resumeCommand } from './commands/control.ts'
import { demoCommand } from './commands/demo.ts'
import { dictionaryCommand } from './commands/dictionary.ts'
import { doctorCommand } from './commands/doctor.ts'
import { initCommand } from './commands/init.ts'
import { ledgerCommand } from './commands/ledger.ts'
import { planCommand } from './commands/plan.ts'
import { quarantineCommand } from './commands/quarantine.ts'
import { queryCommand } from './commands/query.ts'
import { receiveCommand } from './commands/receive.ts'
import { replayCommand } from './commands/replay.ts'
import { sandboxCommand } from './commands/sandbox.ts'
import { scheduleCommand } from './commands/schedule.ts'
import { statusCommand } from './commands/status.ts'
import { syncCommand } from './commands/sync.ts'
import { upCommand } from './commands/up.ts'
import { workerCommand } from './commands/worker.ts'
import { packageFacts } from './package-facts.ts'

const COMMANDS = [
  initCommand,
  planCommand,
  syncCommand,
  upCommand,
  workerCommand,
  receiveCommand,
  scheduleCommand,
  pauseCommand,
  resumeCommand,
  allowCommand,
  cancelCommand,
  statusCommand,
  ledgerCommand,
  doctorCommand,
  queryCommand,
  quarantineCommand,
  dictionaryCommand,
  replayCommand,
  sandboxCommand,
  demoCommand,
]

const DESCRIPTION = "Every conversation of a workspace's AI agents, in a DuckDB warehouse that you own."

const GUIDE = `
Try it without an account:   convohouse demo
Start with your own:         convohouse init, then convohouse plan, then convohouse sync

A single workspace needs no configuration file: set CONVOHOUSE_API_URL, CONVOHOUSE_API_TOKEN (or CONVOHOUSE_API_TOKEN_FILE, the path of
a file that holds it), CONVOHOUSE_WORKSPACE, and CONVOHOUSE_HOME for the data folder. \`convohouse COMMAND --help\` shows examples.`

/** Creates the program. It throws usage errors as commander's errors and prints only help. */
export function createProgram(): Command {
  const program = new Command('convohouse')
    .description(DESCRIPTION)
    .version(packageFacts().version, '-V, --version', 'print the version')
    .option('--verbose', 'show the stack of an error')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeErr: () => {} })
    .exitOverride()
    .addHelpText('after', GUIDE)
  for (const create of COMMANDS) {
    const command = create().copyInheritedSettings(program)
    for (const below of command.commands) below.copyInheritedSettings(program)
    program.addCommand(command)
  }
  return program
}
