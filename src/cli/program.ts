// The command line. Each command has a folder of its name: command.ts declares flags and help, and imports the rest only when the command
// runs, so that `--help` starts fast. A short command is one file.
import { Command } from 'commander'
import { apiCommand } from './api/command.ts'
import { checkCommand } from './check/command.ts'
import { allowCommand, cancelCommand, pauseCommand, resumeCommand } from './control/command.ts'
import { demoCommand } from './demo/command.ts'
import { dictionaryCommand } from './dictionary.ts'
import { doctorCommand } from './doctor/command.ts'
import { initCommand } from './init.ts'
import { ledgerCommand } from './ledger/command.ts'
import { packageFacts } from './package-facts.ts'
import { planCommand } from './plan/command.ts'
import { pruneCommand } from './prune/command.ts'
import { publishCommand } from './publish/command.ts'
import { quarantineCommand } from './quarantine/command.ts'
import { queryCommand } from './query/command.ts'
import { receiveCommand } from './receive/command.ts'
import { replayCommand } from './replay/command.ts'
import { sandboxCommand } from './sandbox/command.ts'
import { scheduleCommand } from './schedule/command.ts'
import { statusCommand } from './status/command.ts'
import { syncCommand } from './sync/command.ts'
import { upCommand } from './up/command.ts'
import { workerCommand } from './worker/command.ts'

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
  checkCommand,
  queryCommand,
  publishCommand,
  quarantineCommand,
  dictionaryCommand,
  apiCommand,
  replayCommand,
  pruneCommand,
  sandboxCommand,
  demoCommand,
]

const DESCRIPTION = "Every conversation of a workspace's AI agents, in a DuckDB warehouse that you own."

const GUIDE = `
Try it without an account:   convohouse demo
Start with your own:         convohouse init, then convohouse plan, then convohouse sync

A single workspace needs no configuration file: set CONVOHOUSE_API_URL, CONVOHOUSE_API_TOKEN (or CONVOHOUSE_API_TOKEN_FILE, the path of
a file that holds it), CONVOHOUSE_WORKSPACE, and CONVOHOUSE_HOME for the data folder. \`convohouse COMMAND --help\` shows examples.`

/** Creates commander's program. It prints help, but throws usage errors (as commander's) instead of printing them. */
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
