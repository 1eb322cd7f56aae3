// Runs a process that kills itself with SIGKILL just before a step: a change of a folder (`rename /a/file /b/file`), an
// SQL statement (`sql COMMIT`), or just after a file is synced (`datasynced`).
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Ended, MAIN, startCommand } from '../../command.ts'
import { temporaryHome } from '../../landing/temporary-home.ts'

/** The compiled sources, for programs that import them. */
export const BUILT = join(dirname(MAIN), '..')

const BINDINGS = createRequire(createRequire(import.meta.url).resolve('@duckdb/node-api')).resolve(
  '@duckdb/node-bindings',
)

/** Loaded before the program. Each step that matches the first of the points removes it; the last match kills. */
const OBSERVER = `
import fs from 'node:fs/promises'
import { createRequire, syncBuiltinESMExports } from 'node:module'
const points = JSON.parse(process.env.KILL_BEFORE)
function before(step) {
  if (points.length === 0 || !new RegExp(points[0]).test(step)) return
  points.shift()
  if (points.length > 0) return
  process.kill(process.pid, 'SIGKILL')
  for (;;);
}
const handle = await fs.open('/dev/null')
const FileHandle = Object.getPrototypeOf(handle)
await handle.close()
const { datasync } = FileHandle
FileHandle.datasync = async function () { await datasync.call(this); before('datasynced') }
for (const name of ['copyFile', 'link', 'symlink', 'rename', 'unlink', 'rm', 'writeFile']) {
  const change = fs[name]
  fs[name] = (...given) => (before(name + ' ' + given.slice(0, 2).join(' ')), change(...given))
}
syncBuiltinESMExports()
if (points.some(point => point.includes('sql'))) {
  const bindings = createRequire(import.meta.url)(${JSON.stringify(BINDINGS)})
  const query = (connection, sql) => (before('sql ' + sql), bindings.query(connection, sql))
  createRequire(import.meta.url).cache[${JSON.stringify(BINDINGS)}].exports = Object.create(bindings, { query: { value: query } })
}
`

/** The arguments of a command, or the code of a module that finds its data folder in `process.env.HOME_UNDER_TEST`. */
export type Killable = { args: readonly string[]; env(home: string): Record<string, string> } | { program: string }

/** Runs the program on the data folder until all points have been reached in order, or to its end. `points` are patterns of steps. */
export async function runKilled(
  killable: Killable,
  { home, points, through = [] }: { home: string; points: readonly string[]; through?: readonly string[] },
): Promise<Ended> {
  const folder = await mkdtemp(join(await temporaryHome(), 'program-'))
  const observer = join(folder, 'observer.mjs')
  await writeFile(observer, OBSERVER)
  const options = { node: ['--import', observer], through }
  const env = { HOME_UNDER_TEST: home, KILL_BEFORE: JSON.stringify(points) }
  if ('args' in killable)
    return startCommand(killable.args, { ...options, env: { ...env, ...killable.env(home) } }).ended
  const main = join(folder, 'program.mjs')
  await writeFile(main, killable.program)
  return startCommand([], { ...options, env, main }).ended
}

/** Returns a copy of a data folder, which is removed when the test ends. */
export async function copyOf(home: string): Promise<string> {
  const copy = join(await temporaryHome(), 'copy')
  await cp(home, copy, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
  return copy
}

/** Matches a change of a folder in which files are never rewritten. */
export const CHANGE = '^(link|rename|unlink) '
