// Runs Temporal's dev server as a process that ends with this one, even after SIGKILL. (If the server is not ready
// after 5 s, the SDK's own helper gives up.)

import { type ChildProcess, spawn } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from '@temporalio/client'
import { ownEnvironment, searchPath } from '../../../config.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { SECOND } from '../../../core/time.ts'

/** Returns the path of the Temporal CLI, which contains the dev server, on the PATH; null if it is not there. */
export async function findTemporal(folders: readonly string[] = searchPath()): Promise<string | null> {
  const name = process.platform === 'win32' ? 'temporal.exe' : 'temporal'
  for (const path of folders.map(folder => join(folder, name))) {
    const isExecutable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isExecutable) return path
  }
  return null
}

interface DevServerOptions {
  /** The Temporal CLI. */
  command: string
  /** Namespaces to create besides `default`. */
  namespaces?: readonly string[]
  /** Default: a free port. */
  port?: number
  /** Port of the web UI; 0 selects a free one. */
  uiPort?: number
  /** Prefers Temporal's default ports (7233, UI 8233), where clients look first. */
  usual?: boolean
  /** Database file; without it, state is lost with the process. */
  file?: string
  /** Temporal's dynamic configuration. */
  dynamicConfig?: Readonly<Record<string, number | boolean | string>>
}

export interface DevServer {
  address: string
  uiUrl: string | null
  /** Id of the server's process, not of its keeper's. */
  pid: number
  /** Resolves when the server has ended for any reason. */
  ended: Promise<void>
  /** Shuts the server down; resolves when it has ended. */
  stop(): Promise<void>
}

/**
 * The keeper process runs the server as its child, and ends it when the IPC channel closes, which happens even if this
 * process is killed. It is detached, so that Ctrl-C does not reach the server before the workers have stopped.
 */
const KEEPER = `
const child = require('node:child_process').spawn(process.argv[1], process.argv.slice(2), { stdio: ['ignore', 'pipe', 'inherit'] })
const end = () => { child.kill('SIGTERM'); setTimeout(() => child.kill('SIGKILL'), 5000).unref() }
process.on('disconnect', end).on('SIGTERM', end)
child.on('spawn', () => process.send({ pid: child.pid }))
child.stdout.once('data', () => process.connected && process.send('serving')).resume()
child.on('error', error => { console.error(error.message); process.exit(1) })
child.on('exit', code => process.exit(code ?? 1))
`

/** A cold start takes 3 s; longer after a kill, with a large database or on a busy machine. */
const READY_MS = 60 * SECOND
/** The server prints its address when it is ready. A release that prints nothing counts as ready after this time. */
const PRINTS_WITHIN_MS = 15 * SECOND
const TRY_EVERY_MS = 100
/** Number of attempts to start: another process may take a free port before the server does. */
const STARTS = 3
const TAIL_CHARS = 2_000

interface Ports {
  port: number
  uiPort: number | null
}

/** Temporal's default ports. */
const USUAL = { port: 7233, uiPort: 8233 }

async function portsFor({ port, uiPort, usual = false }: DevServerOptions): Promise<Ports> {
  const free = (own: number) => (usual ? usualPort(own) : freePort())
  return {
    port: port ?? (await free(USUAL.port)),
    uiPort: uiPort === undefined ? null : uiPort || (await free(USUAL.uiPort)),
  }
}

const argumentsOf = (
  { namespaces = [], file, dynamicConfig = {} }: DevServerOptions,
  { port, uiPort }: Ports,
): string[] => [
  'server',
  'start-dev',
  ...['--ip', '127.0.0.1', '--port', `${port}`, '--log-level', 'error'],
  ...(uiPort === null ? ['--headless'] : ['--ui-port', `${uiPort}`]),
  ...namespaces.flatMap(name => ['--namespace', name]),
  ...(file === undefined ? [] : ['--db-filename', file]),
  ...Object.entries(dynamicConfig).flatMap(([key, value]) => [
    '--dynamic-config-value',
    `${key}=${JSON.stringify(value)}`,
  ]),
]

interface ServerProcess {
  child: ChildProcess
  ended: Promise<void>
  hasEnded(): boolean
  /** True once the server has printed its address: only then are the ports certainly its own. */
  isServing(): boolean
  /** Returns the last output of the server on stderr. */
  said(): string
}

function spawnServer(command: string, args: readonly string[]): ServerProcess {
  const child = spawn(process.execPath, ['-e', KEEPER, command, ...args], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
    // The server needs a user's name and home, which a container's process may not have.
    env: { USER: 'convohouse', HOME: '/nonexistent', ...ownEnvironment() },
  })
  let said = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-TAIL_CHARS)
  })
  let serving = false
  child.on('message', message => {
    serving ||= message === 'serving'
  })
  let over = false
  const ended = new Promise<void>(resolve => {
    child.once('exit', () => {
      over = true
      resolve()
    })
  })
  return { child, ended, hasEnded: () => over, isServing: () => serving, said: () => said.trim() }
}

const failed = (what: string): ConvohouseError =>
  new ConvohouseError('TEMPORAL_UNREACHABLE', {
    what:
      what === ''
        ? "Temporal's dev server did not start and printed no error."
        : `Temporal's dev server did not start: ${what}.`,
    hint: 'Run `temporal server start-dev` to see its output, or configure the address of a running server (TEMPORAL_ADDRESS).',
  })

/** True if the server describes every namespace. */
async function answers(address: string, namespaces: readonly string[]): Promise<boolean> {
  const connection = await Connection.connect({ address, connectTimeout: SECOND }).catch(() => null)
  try {
    for (const namespace of namespaces) await connection?.workflowService.describeNamespace({ namespace })
    return connection !== null
  } catch {
    return false
  } finally {
    await connection?.close()
  }
}

/** Resolves when every namespace answers. Until the server prints its address, another new one may answer at the port. */
async function ready(kept: ServerProcess, address: string, namespaces: readonly string[]): Promise<void> {
  const begunMs = performance.now()
  const passedMs = () => performance.now() - begunMs
  while (!kept.hasEnded() && passedMs() < READY_MS) {
    const isOwn = kept.isServing() || passedMs() > PRINTS_WITHIN_MS
    if (isOwn && (await answers(address, namespaces))) return
    await sleep(TRY_EVERY_MS)
  }
  throw failed(kept.hasEnded() ? kept.said() : 'it does not answer')
}

function pidOf(kept: ServerProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    kept.child.once('message', message => resolve((message as { pid: number }).pid))
    kept.ended.then(() => reject(failed(kept.said())), reject)
  })
}

/** Lets this process exit while the server runs; the keeper then ends the server. */
function unref({ child }: ServerProcess): void {
  child.unref()
  child.channel?.unref()
  ;(child.stderr as unknown as { unref(): void }).unref()
}

async function startAt(options: DevServerOptions, ports: Ports): Promise<DevServer> {
  const kept = spawnServer(options.command, argumentsOf(options, ports))
  const address = `127.0.0.1:${ports.port}`
  const stop = async () => {
    // Keeps the event loop alive until the server has ended.
    kept.child.ref()
    if (kept.child.connected) kept.child.disconnect()
    await kept.ended
  }
  try {
    const pid = await pidOf(kept)
    await ready(kept, address, ['default', ...(options.namespaces ?? [])])
    unref(kept)
    const uiUrl = ports.uiPort === null ? null : `http://127.0.0.1:${ports.uiPort}`
    return { address, uiUrl, pid, ended: kept.ended, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Starts the dev server; resolves when it is ready. @throws TEMPORAL_UNREACHABLE with the server's output */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  for (let start = 1; ; start++) {
    try {
      return await startAt(options, await portsFor(options))
    } catch (error) {
      if (start === STARTS || options.port !== undefined) throw error
    }
  }
}

/** Returns the port if it is free now, else null; another process may take it before the caller does. */
async function portIfFree(port: number): Promise<number | null> {
  const server = createServer()
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  } catch {
    return null
  }
  const taken = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return taken.port
}

/** Returns any free port. */
export async function freePort(): Promise<number> {
  const port = await portIfFree(0)
  if (port === null) throw new Error('this machine has no free port')
  return port
}

/** Returns the preferred port if it is free, else any free port. */
const usualPort = async (port: number): Promise<number> => (await portIfFree(port)) ?? freePort()
