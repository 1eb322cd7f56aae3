// The process of the `convohouse` command, loaded by its entry (convohouse.cts).

import { EXIT_CODES } from '../core/errors.ts'
import { holdOverdue, installWatchdog, statementsRun } from '../warehouse/statements/watchdog.ts'
import { printError, runCommand } from './run-command.ts'
import { endOnSignals, exitNow } from './terminal/signals.ts'

endOnSignals()
const args = process.argv.slice(2)
installWatchdog(error => {
  printError(error, args)
  // The supervisor restarts a process that was killed, and ends with one that exits.
  if (args.includes('--supervised')) process.kill(process.pid, 'SIGKILL')
  else exitNow(error.exitCode)
})
await runCommand(args)
// A query that was stopped, and that DuckDB does not interrupt, would keep the process.
if (statementsRun()) {
  holdOverdue()
  exitNow(Number(process.exitCode ?? EXIT_CODES.ok))
}
