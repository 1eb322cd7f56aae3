// A folder with a `convohouse` command of ours in it, and shells that find it there.
import { execFile } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { segment } from '../../../src/files/path-segment.ts'
import { MAIN, temporaryFolder } from '../cli-process.ts'

const run = promisify(execFile)

/** An id that a shell must not take for a command. */
export const HOSTILE = '$(touch pwned)'

export interface Shelf {
  folder: string
  /** What the shell prints. */
  shell(command: string, args: readonly string[]): Promise<string>
}

/** Two configured workspaces, one of which has two agents with landed pages. */
export async function shelf(): Promise<Shelf> {
  const folder = await temporaryFolder()
  const command = join(folder, 'convohouse')
  await writeFile(command, `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`)
  await chmod(command, 0o755)
  const workspaces = ['ws_one', 'ws_two'].map(
    id => `  - id: ${id}\n    apiUrl: https://api.example.com\n    token: { env: T }\n`,
  )
  await writeFile(join(folder, 'convohouse.yaml'), `home: data\nworkspaces:\n${workspaces.join('')}`)
  for (const agent of ['agent-a', HOSTILE])
    await mkdir(join(folder, 'data', 'landing', 'ws_one', 'conversations', segment(agent)), { recursive: true })
  const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, LANG: 'C', TERM: 'dumb' }
  return {
    folder,
    shell: async (shell, args) => (await run(shell, args, { cwd: folder, env, timeout: 50_000 })).stdout,
  }
}

/** True where this machine has that shell. */
export async function has(shell: string): Promise<boolean> {
  return run(shell, ['-c', 'exit 0']).then(
    () => true,
    () => false,
  )
}
