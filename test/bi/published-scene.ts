// A workspace of the sandbox, synced, and published with `convohouse publish` to the targets of a configuration, as users do.
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { MAIN, openCliScene } from '../cli/cli-process.ts'
import { inProcess } from '../cli/in-process.ts'
import { TOKEN_ENV } from '../scene.ts'

export interface PublishedScene {
  /** The data folder; targets without a path are in its folder `published`. */
  home: string
  /** Runs a command with the configuration. */
  command(...words: string[]): Promise<string>
  close(): Promise<void>
}

/** `targets`: as in `convohouse.yaml`. */
export async function publishedScene(
  targets: readonly object[],
  { env = {} }: { env?: Record<string, string> } = {},
): Promise<PublishedScene> {
  const { home, env: synced, close } = await openCliScene({ conversations: 600, traffic: true }, { resources: 'all' })
  const { code, stderr } = await inProcess(['sync'], { env: synced })
  if (code !== 0) throw new Error(stderr)
  const config = join(home, 'convohouse.yaml')
  const workspace = { id: 'ws_demo', apiUrl: synced.CONVOHOUSE_API_URL, token: { env: 'CONVOHOUSE_API_TOKEN' } }
  await writeFile(config, JSON.stringify({ home, threads: 1, targets, workspaces: [workspace] }))
  const command = async (...words: string[]) => {
    const all = { PATH: process.env.PATH, ...TOKEN_ENV, ...env }
    return (await promisify(execFile)(process.execPath, [MAIN, ...words, '--config', config], { env: all })).stdout
  }
  await command('publish', '--verify')
  return { home, command, close }
}
