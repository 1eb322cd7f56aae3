// Runs the built command as users do: in its own process, inheriting only PATH from this environment.
import { type ChildProcess, spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { temporaryFolder as openFolder, openScene, TOKEN_ENV, WORKSPACE } from '../scene.ts'

export const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'src', 'cli', 'convohouse.cjs')

export { TOKEN } from '../scene.ts'

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface CliOptions {
  env?: Record<string, string>
  cwd?: string
  stdin?: string
  /** Another command, with arguments, that starts this one: for example one that enters a namespace. */
  through?: readonly string[]
  /** Options of Node itself. */
  node?: readonly string[]
  /** Id of the user that the command runs as. */
  uid?: number
  /** Entry point of another release; by default that of the release built here. */
  main?: string
}

export interface Running {
  process: ChildProcess
  ended: Promise<Ended>
  /** Resolves when standard error contains the text; rejects if the command ends without it. */
  said(text: string): Promise<void>
}

/** Starts the command; it is killed when the test ends. */
export function start(args: readonly string[], options: CliOptions = {}): Running {
  const { env = {}, cwd, stdin, through = [], node = [], uid, main = MAIN } = options
  const [command, ...rest] = [...through, process.execPath, ...node, main, ...args]
  const child = spawn(command!, rest, {
    ...(uid !== undefined && { uid, gid: uid }),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    cwd: cwd ?? tmpdir(),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    stderr += text
  })
  child.stdin.on('error', () => {})
  child.stdin.end(stdin ?? '')
  const ended = new Promise<Ended>(resolve => child.on('close', code => resolve({ code, stdout, stderr })))
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const said = (text: string) => {
    const found = new Promise<void>((resolve, reject) => {
      const look = () => {
        if (stderr.includes(text)) resolve()
      }
      child.stderr.on('data', look)
      child.on('close', () => reject(new Error(`ended without saying ${text}: ${stderr}`)))
      look()
    })
    // If a test fails before it awaits this promise, its rejection must not be a second failure.
    found.catch(() => {})
    return found
  }
  return { process: child, ended, said }
}

export const cli = (args: readonly string[], options: CliOptions = {}): Promise<Ended> => start(args, options).ended

/** A folder that is removed after the test. */
export async function temporaryFolder(): Promise<string> {
  const { folder, remove } = await openFolder()
  onTestFinished(remove)
  return folder
}

export interface Scene {
  sandbox: Sandbox
  home: string
  env: Record<string, string>
}

interface OpenedScene extends Scene {
  close(): Promise<void>
}

/** Settings of the workspace, as in the configuration file. */
export interface CliSettings {
  pageSize?: number
  /** By default, syncs request no resources besides agents and conversations: those are half of the CPU time of a small first sync. */
  resources?: 'all'
}

/** A sandbox, an empty data folder, a configuration file, and the four variables that can replace the file. The caller closes it. */
export async function openCliScene(
  options: Partial<SandboxOptions> = {},
  settings: CliSettings = {},
): Promise<OpenedScene> {
  const sandboxOptions = { conversations: 120, arrivalsPerDay: 0, ...options }
  const { sandbox, home, file, close } = await openScene({
    sandbox: sandboxOptions,
    workspace: { resources: 'none', ...settings },
  })
  const env = {
    ...TOKEN_ENV,
    CONVOHOUSE_API_URL: sandbox.url,
    CONVOHOUSE_WORKSPACE: WORKSPACE,
    CONVOHOUSE_HOME: home,
    CONVOHOUSE_CONFIG: file,
  }
  return { sandbox, home, env, close }
}

/** Like `openCliScene`, but closed after the test. */
export async function scene(...options: Parameters<typeof openCliScene>): Promise<Scene> {
  const { close, ...opened } = await openCliScene(...options)
  onTestFinished(close)
  return opened
}

/** Number of conversations of all agents that can be exported. */
export const exportable = ({ world, clock }: Sandbox): number =>
  world.agentIds().reduce((sum, id) => sum + world.tally(id, clock.now()).exportable, 0)

/** The lines of a `--json` output. */
export const jsonLines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
