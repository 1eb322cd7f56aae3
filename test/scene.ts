// The scene of a test: a sandbox, a data folder, their configuration, and the requests that the sandbox served. Shared
// by the simulated host, the embedded host, workers on Temporal and spawned commands.
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Config, readConfig, type WorkspaceConfig } from '../src/config.ts'
import type { SandboxOptions } from '../src/sandbox/options.ts'
import type { ServedRequest } from '../src/sandbox/request-log.ts'
import { type Sandbox, startSandbox } from '../src/sandbox/server.ts'
import { isProbe } from './workflows/simulated/probe.ts'

/** A canary: tests search outputs and files for this token, which none of them may contain. */
export const TOKEN = 'canary-token-4711'
export const WORKSPACE = 'ws_demo'
export const START_MS = Date.UTC(2026, 5, 1, 12)

/** The environment that the configuration needs. */
export const TOKEN_ENV = { CONVOHOUSE_API_TOKEN: TOKEN }

/** Options of a sandbox with a clock that only tests and simulated sleeps advance. */
export const STILL: Partial<SandboxOptions> = { startMs: START_MS, speed: 0 }

/** Settings of a workspace that refreshes nothing: a refresh would change the number of requests that a test counts. */
export const NO_REFRESH = { rereadShare: 0, sampleShare: 0 }

export interface SceneOptions {
  sandbox?: Partial<SandboxOptions>
  /** A sandbox that is already open; `close` does not close it. */
  at?: Sandbox | undefined
  /** An existing data folder; `close` does not remove it. */
  home?: string | undefined
  workspaceId?: string | undefined
  /** Opens a proxy in front of the sandbox and resolves with the proxy's address. */
  through?: ((sandbox: Sandbox) => Promise<string>) | undefined
  /** Settings as in the configuration file: at its top level, and of the workspace. */
  top?: object
  workspace?: object
  /** Parsed settings of the workspace that `config` contains, but the configuration file does not. */
  settings?: Partial<WorkspaceConfig> | undefined
}

export interface SceneRequests {
  /** Export requests that the sandbox has served. */
  served(): Promise<ServedRequest[]>
  /** Served export requests that may be billed: all but probes. */
  exported(): Promise<ServedRequest[]>
  usage(): Promise<{ overagePacksCharged: number; overageUsedThisPeriod: number; billableUsedThisPeriod: number }>
}

export interface Scene extends SceneRequests {
  sandbox: Sandbox
  /** A temporary folder with the configuration file and, unless one was given, the data folder. */
  folder: string
  /** The data folder; it need not exist yet. */
  home: string
  /** The configuration file. */
  file: string
  /** The configuration as this process reads it. */
  config: Config
  /** Closes the sandbox and removes the folder. */
  close(): Promise<void>
}

export function requestsTo({ url }: Sandbox): SceneRequests {
  const control = async <T>(path: string) => (await (await fetch(`${url}/_sandbox/${path}`)).json()) as T
  const served = async () => (await control<{ requests: ServedRequest[] }>('requests?kind=export')).requests
  return {
    served,
    exported: async () => (await served()).filter(request => !isProbe(request)),
    usage: async () => (await control<{ usage: Awaited<ReturnType<SceneRequests['usage']>> }>('state')).usage,
  }
}

/** Creates a folder, which the caller removes. */
export async function temporaryFolder(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-'))
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) }
}

interface Place extends Pick<SceneOptions, 'workspaceId' | 'top' | 'workspace'> {
  url: string
  home: string
}

/** Writes the configuration of one workspace; resolves with its path. */
export async function writeConfig(folder: string, { url, home, workspaceId, top, workspace }: Place): Promise<string> {
  const file = join(folder, 'convohouse.yaml')
  const only = { id: workspaceId ?? WORKSPACE, apiUrl: url, token: { env: 'CONVOHOUSE_API_TOKEN' }, ...workspace }
  // With little data a second DuckDB thread costs a fifth of the CPU time, and tests run concurrently.
  await writeFile(file, JSON.stringify({ home, threads: 1, ...top, workspaces: [only] }))
  // Another user may have to read the file, and a warehouse that this process opened has narrowed the umask.
  await chmod(file, 0o644)
  return file
}

/** Returns the configuration as this process reads it. `settings`: parsed settings of the workspace. */
export function configOf(file: string, settings: Partial<WorkspaceConfig> = {}): Config {
  const config = readConfig({ path: file, env: TOKEN_ENV })
  return { ...config, workspaces: config.workspaces.map(workspace => ({ ...workspace, ...settings })) }
}

/** Opens a scene, which the caller closes. */
export async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const { at, workspaceId = WORKSPACE, through, settings } = options
  const { folder, remove } = await temporaryFolder()
  const sandbox = at ?? (await startSandbox({ port: 0, token: TOKEN, workspaceId, ...options.sandbox }))
  const home = options.home ?? join(folder, 'data')
  const file = await writeConfig(folder, { ...options, home, url: (await through?.(sandbox)) ?? sandbox.url })
  return {
    sandbox,
    folder,
    home,
    file,
    config: configOf(file, settings),
    ...requestsTo(sandbox),
    async close() {
      if (!at) await sandbox.close()
      await remove()
    },
  }
}
