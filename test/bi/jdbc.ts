// JDBC's drivers, through which DBeaver, Metabase and Spark read what is published.
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { version } from '@duckdb/node-api'
import { onTestFinished } from 'vitest'
import { downloadExtensions } from './extensions.ts'
import type { Tool } from './installed.ts'
import { needed } from './lacking.ts'
import { copyArtifacts } from './maven.ts'

/** The newest, which DBeaver downloads; one with the DuckDB whose extensions are installed; PostgreSQL's. */
const DRIVERS = {
  duckdb: 'org.duckdb:duckdb_jdbc:2.0.0.1',
  lake: `org.duckdb:duckdb_jdbc:${version().replace(/^v/, '')}.1`,
  postgres: 'org.postgresql:postgresql:42.7.14',
} as const

export type Driver = keyof typeof DRIVERS

const ARTIFACTS = Object.values(DRIVERS)

/** A home folder in which DuckDB finds its extension `icu`, which it otherwise downloads for the setting `TimeZone`. */
const HOME = 'home'
const INSTALLED = join(HOME, '.duckdb', 'extensions', version(), 'linux_amd64')

export const JDBC: Tool = {
  folder: `bi-jdbc-${createHash('sha256').update(ARTIFACTS.join()).digest('hex').slice(0, 8)}`,
  about: `JDBC's drivers (Maven Central's ${ARTIFACTS.join(', ')}; PyPI's duckdb-extension-icu), with the machine's JDK`,
  async install(folder) {
    const { stdout } = await promisify(execFile)('java', ['--list-modules'])
    if (!stdout.includes('jdk.compiler')) throw new Error('the java in PATH is no JDK: its compiler is not found')
    await mkdir(join(folder, INSTALLED), { recursive: true })
    await downloadExtensions(join(folder, INSTALLED), ['icu'])
    await copyArtifacts(folder, ARTIFACTS)
  },
}

/** The driver's file. Skips the test if it is missing. */
export function driverOf(driver: Driver): string {
  const [, artifact, number] = DRIVERS[driver].split(':')
  return join(needed(JDBC), `${artifact}-${number}.jar`)
}

export interface Answer {
  /** Of the columns, as the driver names them. */
  types: Record<string, string>
  rows: (string | null)[][]
}

/** Starts Jdbc.java, which answers commands until the test has finished. The returned function throws what the driver throws. */
export function startJdbc(driver: Driver, url: string, properties: Record<string, string> = {}) {
  const words = Object.entries(properties).map(([name, value]) => `${name}=${value}`)
  const program = join(import.meta.dirname, 'Jdbc.java')
  const env = { ...process.env, HOME: join(needed(JDBC), HOME) }
  const child = spawn('java', ['-cp', driverOf(driver), program, url, ...words], { env, stdio: 'pipe' })
  let errors = ''
  child.stderr.on('data', text => {
    errors += text
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  onTestFinished(async () => {
    child.stdin.end()
    if (child.exitCode === null) await once(child, 'close')
  })
  return async (command: string): Promise<Answer> => {
    child.stdin.write(`${command.trim().replace(/\s+/g, ' ')}\n`)
    const { value, done } = await lines.next()
    if (done) throw new Error(errors)
    const answer = JSON.parse(value) as Answer & { error?: string }
    if (answer.error !== undefined) throw new Error(answer.error)
    return answer
  }
}
