// A sync in a process of its own, to be killed.
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'src', 'cli', 'main.js')

export interface SyncProcess {
  /** Ends it at once, wherever it is; false where it had ended by itself. */
  kill(): Promise<boolean>
  /** Its exit code and what it said on standard error; null: it was killed. */
  ended: Promise<{ code: number | null; said: string }>
}

/** Writes a configuration for one workspace; returns its path. */
export async function writeConfig(
  folder: string,
  options: { url: string; home: string; pageSize: number },
): Promise<string> {
  const path = join(folder, 'convohouse.yaml')
  await writeFile(
    path,
    [
      `home: ${JSON.stringify(options.home)}`,
      'workspaces:',
      '  - id: ws_demo',
      `    apiUrl: ${options.url}`,
      '    token: { env: SYNC_TOKEN }',
      `    pageSize: ${options.pageSize}`,
      '',
    ].join('\n'),
  )
  return path
}

export function startSync(config: string, token: string): SyncProcess {
  const child: ChildProcess = spawn(process.execPath, [MAIN, 'sync', '--yes', '--config', config], {
    env: { PATH: process.env.PATH, SYNC_TOKEN: token },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr!.setEncoding('utf8').on('data', text => {
    said += text
  })
  const ended = new Promise<{ code: number | null; said: string }>(resolve =>
    child.once('close', code => resolve({ code, said })),
  )
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return {
    ended,
    async kill() {
      child.kill('SIGKILL')
      return (await ended).code === null
    },
  }
}
