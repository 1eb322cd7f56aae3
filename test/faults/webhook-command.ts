// Commands that receive or apply events, as processes that tests kill.
import { type ChildProcess, spawn } from 'node:child_process'
import { onTestFinished } from 'vitest'
import { MAIN } from '../cli/cli-process.ts'

export const SECRET = 'whsec-canary-9c1d'

/**
 * Starts a command on that data folder, for workspace `ws`. The vendor's address does not answer. The command is killed when the
 * test ends.
 */
export function webhookCommand(home: string, ...args: string[]): ChildProcess {
  const env = {
    PATH: process.env.PATH,
    CONVOHOUSE_API_URL: 'http://127.0.0.1:1',
    CONVOHOUSE_API_TOKEN: 'none',
    CONVOHOUSE_WORKSPACE: 'ws',
    CONVOHOUSE_HOME: home,
    CONVOHOUSE_WEBHOOK_SECRET: SECRET,
  }
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}
