// Runs the command in a separate process that can be killed.
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { TOKEN_ENV } from '../../scene.ts'

/** The path of the built command, from `test/` or, in compiled tests, from `dist/test/`. */
export const CLI = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.js') ? '../../../src/cli/convohouse.cjs' : '../../../dist/src/cli/convohouse.cjs',
    import.meta.url,
  ),
)

export interface Ended {
  /** The exit code; null if the process was killed. */
  code: number | null
  stdout: string
  stderr: string
}

/** Runs the command to its end, or kills it when `killAt` resolves first. */
export async function runCommand(options: {
  args: readonly string[]
  killAt?: (hasEnded: () => boolean) => Promise<unknown>
}): Promise<Ended> {
  const { args, killAt } = options
  const env = { PATH: process.env.PATH, ...TOKEN_ENV }
  const child: ChildProcess = spawn(process.execPath, [CLI, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]!.setEncoding('utf8').on('data', text => {
      output[stream] += text
    })
  }
  let hasEnded = false
  const ended = new Promise<Ended>(resolve =>
    child.once('close', code => {
      hasEnded = true
      resolve({ code, ...output })
    }),
  )
  if (killAt) {
    await Promise.race([ended, killAt(() => hasEnded)])
    child.kill('SIGKILL')
  }
  return ended
}
