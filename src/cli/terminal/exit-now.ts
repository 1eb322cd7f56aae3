// Ends the process, whatever DuckDB does: on exit Node waits for its threads, and DuckDB may compute one value for minutes.
import { spawn } from 'node:child_process'

const WITHIN_S = 0.5

/** Exits with the code. If a thread keeps the process for longer than half a second, a shell kills it (exit code 137). */
export function exitNow(code: number): never {
  if (process.platform !== 'win32')
    spawn('/bin/sh', ['-c', `sleep ${WITHIN_S}; kill -9 ${process.pid}`], { stdio: 'ignore', detached: true }).unref()
  process.exit(code)
}
