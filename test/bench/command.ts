// Shared by benches that run the built command: its path, its environment, and a folder that is removed after the work.
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
