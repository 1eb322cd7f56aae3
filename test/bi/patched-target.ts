// Faults inside the process of a target: the real program, with a test's code before each of its statements.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const DIST = join(import.meta.dirname, '../../dist/src')

/**
 * The program of a target's process that runs `before` with each statement, before it is executed. It is a bundle, of which the native
 * module is no part.
 */
export async function patchedTarget(folder: string, name: string, before: string): Promise<URL> {
  const file = join(folder, `${name}.mjs`)
  const api = JSON.stringify(import.meta.resolve('@duckdb/node-api'))
  await writeFile(
    file,
    `import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import api from ${api}
const require = createRequire(${api})
const native = require.resolve('@duckdb/node-bindings')
const bindings = require(native)
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
async function before(connection, sql) { ${before} }
const query = async (connection, sql) => {
  await before(new api.DuckDBConnection(connection), sql)
  return bindings.query(connection, sql)
}
require.cache[native].exports = Object.create(bindings, { query: { value: query } })
await import(${JSON.stringify(pathToFileURL(join(DIST, 'publish/target-process.js')).href)})
`,
  )
  return pathToFileURL(file)
}
