// The command in a process of its own, to be killed.
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The built command, seen from `test/` or, where this is built itself, from `dist/test/`. */
export const CLI = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.js') ? '../../src/cli/convohouse.cjs' : '../../dist/src/cli/convohouse.cjs',
    import.meta.url,
  ),
)

export interface Ended {
  /** Null: it was killed. */
  code: number | null
  stdout: string
  stderr: string
}

/** Writes a configuration for one workspace, with further `settings` of it, and lines above all (`top`), as YAML; returns its path. */
export async function writeConfig(
  folder: string,
  options: { url: string; home: string; pageSize: number; settings?: readonly string[]; top?: readonly string[] },
): Promise<string> {
  const path = join(folder, 'convohouse.yaml')
  await writeFile(
    path,
    [
      `home: ${JSON.stringify(options.home)}`,
      // Of tiny worlds: a second thread only costs.
      'threads: 1',
      ...(options.top ?? []),
      'workspaces:',
      '  - id: ws_demo',
      `    apiUrl: ${options.url}`,
      '    token: { env: SYNC_TOKEN }',
      `    pageSize: ${options.pageSize}`,
      ...(options.settings ?? []).map(line => `    ${line}`),
      '',
    ].join('\n'),
  )
  return path
}

/** Runs the command to its end or, if `killAt` resolves first, kills it then, wherever it is. */
export async function runCommand(options: {
  args: readonly string[]
  token: string
  killAt?: (hasEnded: () => boolean) => Promise<unknown>
}): Promise<Ended> {
  const { args, token, killAt } = options
  const env = { PATH: process.env.PATH, SYNC_TOKEN: token }
  const child: ChildProcess = spawn(process.execPath, [CLI, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]!.setEncoding('utf8').on('data', text => {
      said[stream] += text
    })
  }
  let hasEnded = false
  const ended = new Promise<Ended>(resolve =>
    child.once('close', code => {
      hasEnded = true
      resolve({ code, ...said })
    }),
  )
  if (killAt) {
    await Promise.race([ended, killAt(() => hasEnded)])
    child.kill('SIGKILL')
  }
  return ended
}
