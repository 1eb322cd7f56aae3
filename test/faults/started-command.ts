// Starts the built command in a separate process that runs until it is ended or killed.
import { spawn } from 'node:child_process'
import { CLI, type Ended } from './kills/sync-process.ts'

export interface Process {
  ended: Promise<Ended>
  /** Resolves when standard error contains the text; rejects if the command ends without it. */
  said(text: string): Promise<void>
  kill(signal: NodeJS.Signals): void
}

export function startCommand(args: readonly string[], env: Record<string, string>): Process {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', text => {
      output[stream] += text
    })
  }
  // This process may exit before the command, for example after a timeout, and must not leave it running.
  const orphan = () => void child.kill('SIGKILL')
  process.once('exit', orphan)
  const ended = new Promise<Ended>(resolve =>
    child.once('close', code => {
      process.off('exit', orphan)
      resolve({ code, ...output })
    }),
  )
  const said = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (output.stderr.includes(text)) resolve()
      }
      child.stderr.on('data', look)
      ended.then(() => reject(new Error(`ended without saying ${text}: ${output.stderr}`)))
      look()
    })
  return { ended, said, kill: signal => void child.kill(signal) }
}
