// Shared by benches that run the built command: its path, its environment, a server, and a folder that is removed after the work.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const CLI = fileURLToPath(new URL('../../src/cli/convohouse.cjs', import.meta.url))
export const TOKEN = 'sandbox-token'
export const WORKSPACE = 'ws_demo'
/** An address that refuses connections. */
export const NO_API = 'http://127.0.0.1:9'

/** Returns the environment of a command with one workspace. */
export function environment(place: { home: string; url?: string; workspaceId?: string }): NodeJS.ProcessEnv {
  return {
    ...process.env,
    CONVOHOUSE_API_URL: place.url ?? NO_API,
    CONVOHOUSE_API_TOKEN: TOKEN,
    CONVOHOUSE_WORKSPACE: place.workspaceId ?? WORKSPACE,
    CONVOHOUSE_HOME: place.home,
  }
}

/** Runs `work` with a new folder, which is removed afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-bench-'))
  return work(folder).finally(() => rm(folder, { recursive: true, force: true }))
}

/** Runs a server that prints its port on its first line, for the duration of `work`. */
export async function serving<T>(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  work: (port: number, pid: number) => Promise<T>,
): Promise<T> {
  const server: ChildProcess = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [line] = (await once(server.stdout!, 'data')) as [Buffer]
    return await work((JSON.parse(String(line)) as { port: number }).port, server.pid!)
  } finally {
    server.kill('SIGKILL')
    await once(server, 'close')
  }
}
