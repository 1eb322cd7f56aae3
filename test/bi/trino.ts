// Trino servers, which tests start.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { until } from '../until.ts'
import type { Tool } from './installed.ts'
import { needed } from './lacking.ts'
import { unpackArtifact } from './maven.ts'
import { freePort } from './postgres-server.ts'

/** The last of which Maven Central has the server with a folder of plugins. */
export const VERSION = '476'

const JAVA = 24

const run = promisify(execFile)

/** The `java` of a version that Trino accepts: of JAVA_HOME, in PATH, or where Linux has it. @throws if there is none */
async function findJava(): Promise<string> {
  const installed = '/usr/lib/jvm'
  const homes = existsSync(installed) ? (await readdir(installed)).map(name => join(installed, name)) : []
  if (process.env.JAVA_HOME) homes.unshift(process.env.JAVA_HOME)
  for (const java of ['java', ...homes.map(home => join(home, 'bin', 'java')).filter(existsSync)]) {
    const { stderr } = await run(java, ['-version']).catch(() => ({ stderr: '' }))
    if (Number(/version "(\d+)/.exec(stderr)?.[1]) >= JAVA) return java
  }
  throw new Error(`no Java ${JAVA} or later was found in JAVA_HOME, PATH or ${installed}`)
}

export const TRINO: Tool = {
  folder: `bi-trino-${VERSION}`,
  about: `Trino ${VERSION} (Maven Central's io.trino:trino-server-core and trino-hive), with the machine's Java`,
  async install(folder) {
    await findJava()
    const server = `trino-server-core-${VERSION}`
    await unpackArtifact(folder, `io.trino:trino-server-core:${VERSION}:tar.gz`)
    // Other connectors only make the start slower.
    await unpackArtifact(folder, `io.trino:trino-hive:${VERSION}:zip`)
    await mkdir(join(folder, 'plugins'))
    await rename(join(folder, `trino-hive-${VERSION}`), join(folder, 'plugins', 'hive'))
    await rename(join(folder, server, 'lib'), join(folder, 'lib'))
    await rm(join(folder, server), { recursive: true })
  },
}

export interface Trino {
  /** The rows of a statement. @throws if it fails */
  ask(sql: string): Promise<unknown[][]>
}

interface Page {
  nextUri?: string
  data?: unknown[][]
  error?: { errorName: string; message: string }
}

/** Starts a server with catalogs (the text of their files, by name), for the current test. Skips the test if it is missing. */
export async function startTrino(catalogs: Record<string, string>): Promise<Trino> {
  const program = needed(TRINO)
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-trino-'))
  await mkdir(join(folder, 'etc', 'catalog'), { recursive: true })
  const address = `http://127.0.0.1:${await freePort()}`
  const settings = {
    ...{ coordinator: 'true', 'node-scheduler.include-coordinator': 'true', 'node.environment': 'test' },
    ...{
      'http-server.http.port': new URL(address).port,
      'discovery.uri': address,
      'node.internal-address': '127.0.0.1',
    },
    ...{ 'plugin.dir': join(program, 'plugins'), 'catalog.config-dir': join(folder, 'etc', 'catalog') },
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  await writeFile(join(folder, 'etc', 'config.properties'), lines.join(''))
  for (const [name, text] of Object.entries(catalogs))
    await writeFile(join(folder, 'etc', 'catalog', `${name}.properties`), text)
  const options = [
    '-Xmx1g',
    '--add-modules=jdk.incubator.vector',
    '-Dnode.data-dir=data',
    '-Dconfig=etc/config.properties',
  ]
  const words = [...options, '-cp', join(program, 'lib', '*'), 'io.trino.server.TrinoServer']
  const child = spawn(await findJava(), words, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(async () => {
    if (child.exitCode === null) {
      child.kill('SIGKILL')
      await once(child, 'close')
    }
    await rm(folder, { recursive: true, force: true })
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', text => {
      output += text
    })
  await until(async () => {
    if (child.exitCode !== null) throw new Error(output)
    return output.includes('SERVER STARTED')
  })
  const headers = { 'X-Trino-User': 'analyst', 'X-Trino-Time-Zone': 'UTC' }
  /** @returns the rows, or null if the server does not know yet that it may run queries itself. @throws if the statement fails */
  async function rowsOf(sql: string): Promise<unknown[][] | null> {
    const rows: unknown[][] = []
    let response = await fetch(`${address}/v1/statement`, { method: 'POST', body: sql, headers })
    for (;;) {
      const { nextUri, data = [], error } = (await response.json()) as Page
      if (error?.errorName === 'NO_NODES_AVAILABLE') return null
      if (error) throw new Error(error.message)
      rows.push(...data)
      if (!nextUri) return rows
      if (data.length === 0) await sleep(20)
      response = await fetch(nextUri, { headers })
    }
  }
  return { ask: sql => until(() => rowsOf(sql), { everyMs: 500 }) }
}
