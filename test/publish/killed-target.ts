// The program of a target's process that is killed just before a step: an SQL statement, a change of a folder, or a request to S3.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ENTRY } from './published.ts'

export interface Step {
  /** The beginning of the statement (`COMMIT`), the function and file of Node (`rename …`), or the request (`PUT /lake/…`). */
  step: RegExp
  /** Kills at this occurrence; default: the first. */
  count?: number
}

/** @returns the program, which is the real one with an observer before each step */
export async function killedBefore(folder: string, { step, count = 1 }: Step): Promise<URL> {
  const file = join(folder, `killed-${step.source.replaceAll(/\W/g, '')}-${count}.mjs`)
  const api = JSON.stringify(import.meta.resolve('@duckdb/node-api'))
  await writeFile(
    file,
    `import ${api}
import fs from 'node:fs/promises'
import http from 'node:http'
import { createRequire, syncBuiltinESMExports } from 'node:module'
let left = ${count}
const before = step => {
  if (!${step}.test(step) || --left > 0) return
  process.kill(process.pid, 'SIGKILL')
  for (;;);
}
const require = createRequire(${api})
const native = require.resolve('@duckdb/node-bindings')
const bindings = require(native)
const query = (connection, sql) => (before(sql), bindings.query(connection, sql))
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
