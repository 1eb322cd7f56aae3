// Runs the built command as users do: in its own process, which inherits only PATH and HOME from this environment.
import { type ChildProcess, spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'

/** The built command, from `test/` or, in compiled benches, from `dist/test/`. */
export const MAIN = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.js') ? '../src/cli/convohouse.cjs' : '../dist/src/cli/convohouse.cjs',
    import.meta.url,
  ),
)

export interface Ended {
  /** The exit code; null if the process was killed. */
  code: number | null
  stdout: string
  stderr: string
}

export interface CommandOptions {
  env?: Record<string, string>
  cwd?: string
  stdin?: string
  /** Another command, with arguments, that starts this one: for example one that enters a namespace. */
  through?: readonly string[]
  /** Options of Node itself. */
  node?: readonly string[]
  /** Id of the user that the command runs as. */
  uid?: number
  /** Another program instead of the command, for example that of another release. */
  main?: string
}

export interface Running {
  process: ChildProcess
  ended: Promise<Ended>
  /** Resolves when standard error contains the text; rejects if the command ends without it. */
  said(text: string): Promise<void>
  /** Resolves with the first line of standard output. */
  firstLine(): Promise<string>
  /** Kills the process; resolves when it has ended. */
  kill(signal?: NodeJS.Signals): Promise<Ended>
}

/** Starts the command. It ends with this process at the latest. */
export function startCommand(args: readonly string[], options: CommandOptions = {}): Running {
  const { env = {}, cwd, stdin, through = [], node = [], uid, main = MAIN } = options
  const [command, ...rest] = [...through, process.execPath, ...node, main, ...args]
  const child = spawn(command!, rest, {
    ...(uid !== undefined && { uid, gid: uid }),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    cwd: cwd ?? tmpdir(),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', text => {
      output[stream] += text
    })
  child.stdin.on('error', () => {})
  child.stdin.end(stdin ?? '')
  // This process may exit before the command, for example after a timeout, and must not leave it running.
  const orphan = () => void child.kill('SIGKILL')
  process.once('exit', orphan)
  const ended = new Promise<Ended>(resolve =>
    child.once('close', code => {
      process.off('exit', orphan)
      resolve({ code, ...output })
    }),
  )
  const contains = (stream: 'stdout' | 'stderr', text: string) => {
    const found = new Promise<void>((resolve, reject) => {
      const look = () => {
        if (output[stream].includes(text)) resolve()
      }
      child[stream].on('data', look)
      ended.then(() => reject(new Error(`ended without saying ${text}: ${output.stderr}`)))
      look()
    })
    // If a test fails before it awaits this promise, its rejection must not be a second failure.
    found.catch(() => {})
    return found
  }
  return {
    process: child,
    ended,
    said: text => contains('stderr', text),
    firstLine: async () => {
      await contains('stdout', '\n')
      return output.stdout.split('\n')[0]!
    },
    kill: (signal = 'SIGKILL') => {
      child.kill(signal)
      return ended
    },
  }
}
