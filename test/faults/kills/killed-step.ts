// Runs a step in a process of its own that kills itself with SIGKILL just before the n-th change of a folder (`link`, `rename`, `unlink`), so
// that a test can kill it at each of them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const SRC = join(import.meta.dirname, '../../../dist/src')

/** Kills the process at the n-th change; the step must call these functions through `node:fs/promises`. */
const killer = `
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
let left = Number(process.env.KILL_AT)
for (const name of ['link', 'rename', 'unlink']) {
  const change = promises[name]
  promises[name] = async (...args) => {
    left -= 1
    if (left === 0) { process.kill(process.pid, 'SIGKILL'); await new Promise(() => {}) }
    return change(...args)
  }
}
syncBuiltinESMExports()
`

/**
 * Runs `code`, a module that imports compiled files as `src/….js` and finds its data folder in `process.env.HOME_UNDER_TEST`. Returns true if
 * the process was killed, false if it ended by itself.
 */
export async function killedStep(code: string, { home, at }: { home: string; at: number }): Promise<boolean> {
  const script = `${killer}${code.replaceAll(/import (.*) from 'src\/(.*)'/g, (_, names, path) => `const ${names} = await import('${SRC}/${path}')`)}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, HOME_UNDER_TEST: home, KILL_AT: String(at) },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', text => {
    errors += text
  })
  const [exitCode, signal] = (await once(child, 'close')) as [number | null, string | null]
  if (signal !== 'SIGKILL' && exitCode !== 0) throw new Error(`the step failed: ${errors}`)
  return signal === 'SIGKILL'
}
