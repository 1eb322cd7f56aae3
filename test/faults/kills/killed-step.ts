// Runs a step in a process of its own that kills itself with SIGKILL just before the n-th change of a folder (`link`, `rename`, `unlink`), so
// that a test can kill it at each of them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryHome } from '../../landing/temporary-home.ts'

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

/**
 * Runs `code` on copies of a data folder, killed before its first change, before its second, and so on, until it ends by itself; `check`
 * receives each copy. Returns the number of kills.
 */
export async function killedAtEachChange(
  code: string,
  home: string,
  check: (copy: string, run: { at: number; isKilled: boolean }) => Promise<void>,
): Promise<number> {
  for (let at = 1; ; at++) {
    const copy = join(await temporaryHome(), 'copy')
    await cp(home, copy, { recursive: true, preserveTimestamps: true })
    const isKilled = await killedStep(code, { home: copy, at })
    await check(copy, { at, isKilled })
    if (!isKilled) return at - 1
  }
}
