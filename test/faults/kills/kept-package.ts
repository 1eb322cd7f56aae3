// Keeps the package of a publication, so that it can be applied again and again.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const SRC = join(import.meta.dirname, '../../../dist/src')
/** By its path: the process may run in another folder. */
const NODE_API = createRequire(import.meta.url).resolve('@duckdb/node-api')

/** The program of a target's process that copies the package of its publication into `folder` (`package.json` and files), and applies nothing. */
export const keeper = (folder: string, watermark: string): string => `
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
const folder = ${JSON.stringify(folder)}
process.once('disconnect', () => process.exit(0))
const contents = { tables: [] }
process.on('message', async ({ kind, head, table }) => {
  if (kind === 'open') return process.send({ kind: 'opened', watermark: ${watermark} })
  if (kind === 'apply') return Object.assign(contents, head)
  if (kind === 'table') return contents.tables.push(table)
  const text = JSON.stringify(contents)
  const [, from] = /"([^"]*[/]publication-[0-9a-f-]+)[/]/.exec(text)
  await cp(from, folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), text.replaceAll(from, folder))
  process.send({ kind: 'failed', code: 'PUBLICATION_FAILED', what: 'only kept', hint: null })
})
`

/** `open`: opens the target, as `file.js#function`, of what the code `of` says. `changes`: functions of `node:fs/promises`. `step`: code that names their steps, of `name` and `args`. */
interface Applied {
  open: { file: string; name: string; of: 'TARGET' | '{ path: TARGET }' }
  changes: readonly string[]
  step?: string
}

/** The program that applies a kept package in a process that kills itself before the n-th of the steps in POINTS; none: it completes. */
const applier = ({ open, changes, step = 'name' }: Applied): string => `
import promises from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncBuiltinESMExports } from 'node:module'
import { DuckDBConnection } from '${NODE_API}'
const { PACKAGE, TARGET, POINTS = '[]', SPILL } = process.env
const { ${open.name}: openIt } = await import('${SRC}/publish/${open.file}.js')
const { openTargetDatabase } = await import('${SRC}/publish/target-database.js')
process.once('uncaughtException', error => { console.error(error.code); process.exit(3) })
const contents = JSON.parse(await promises.readFile(PACKAGE, 'utf8'))
const database = await openTargetDatabase({ memoryLimit: '256MB', threads: 1, spillFolder: SPILL })
const target = await openIt(database, ${open.of})
const points = JSON.parse(POINTS)
async function reach(step) {
  if (points.length === 0 || !step.startsWith(points[0])) return
  points.shift()
  if (points.length > 0) return
  process.kill(process.pid, 'SIGKILL')
  await new Promise(() => {})
}
for (const name of ${JSON.stringify(changes)}) {
  const change = promises[name]
  promises[name] = async (...args) => { await reach(${step}); return change(...args) }
}
syncBuiltinESMExports()
const { run } = DuckDBConnection.prototype
DuckDBConnection.prototype.run = async function (sql, ...rest) { await reach(sql); return run.call(this, sql, ...rest) }
await target.apply(contents)
process.exit(0)
`

/** Applies a kept package. `through`: a command before it. @returns the signal that ended the process, or its exit code and what it printed */
export async function applyKept(
  applied: Applied,
  { env, through = [] }: { env: Readonly<Record<string, string>>; through?: readonly string[] },
): Promise<{ ended: number | string | null; printed: string }> {
  const [command, ...args] = [...through, process.execPath, '--input-type=module', '--eval', applier(applied)]
  const child = spawn(command!, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] })
  let printed = ''
  child.stderr.on('data', data => {
    printed += data
  })
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  return { ended: signal ?? code, printed: printed.trim() }
}
