// Runs a target's real program with a test's code before each of its steps: an SQL statement, a change of a folder, or a request to S3.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ENTRY } from './published.ts'

/**
 * Writes the program. `before`: the body of a function of `step` (the statement, the function and file of Node, or the
 * method and path of a request) and `connection`, which is DuckDB's, or null. It may await if there is one.
 */
export async function patchedTarget(folder: string, name: string, before: string): Promise<URL> {
  const file = join(folder, `${name}.mjs`)
  const api = JSON.stringify(import.meta.resolve('@duckdb/node-api'))
  await writeFile(
    file,
    `import { readFileSync, writeFileSync } from 'node:fs'
import fs from 'node:fs/promises'
import http from 'node:http'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import api from ${api}
const require = createRequire(${api})
const native = require.resolve('@duckdb/node-bindings')
const bindings = require(native)
async function before(step, connection = null) { ${before} }
const query = async (connection, sql) => {
  await before(sql, new api.DuckDBConnection(connection))
  return bindings.query(connection, sql)
}
require.cache[native].exports = Object.create(bindings, { query: { value: query } })
for (const name of ['copyFile', 'link', 'symlink', 'rename', 'writeFile', 'open']) {
  const change = fs[name]
  fs[name] = (...given) => (before(name + ' ' + given.slice(0, 2).join(' ')), change(...given))
}
const send = http.request
http.request = (options, ...rest) => (before(options.method + ' ' + options.path), send(options, ...rest))
syncBuiltinESMExports()
await import(${JSON.stringify(ENTRY.href)})
`,
  )
  return pathToFileURL(file)
}

export interface Step {
  /** Beginning of the statement (`COMMIT`), the function and file of Node (`rename …`), or the request (`PUT /lake/…`). */
  step: RegExp
  /** Occurrence at which it kills; default: the first. */
  count?: number
}

/** Returns the program of a target's process that is killed just before a step. */
export const killedBefore = (folder: string, { step, count = 1 }: Step): Promise<URL> =>
  patchedTarget(
    folder,
    `killed-${step.source.replaceAll(/\W/g, '')}-${count}`,
    `globalThis.left ??= ${count}
    if (!${step}.test(step) || --globalThis.left > 0) return
    process.kill(process.pid, 'SIGKILL')
    for (;;);`,
  )
