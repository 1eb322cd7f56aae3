// The process of the `convohouse` command, loaded by its entry (convohouse.cts).
import { runCommand } from './run-command.ts'
import { endOnSignals } from './terminal/signals.ts'

endOnSignals()
await runCommand(process.argv.slice(2))
