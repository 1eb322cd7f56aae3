// A sandbox in real time and a data folder of its own, for whichever host syncs it.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Config, readConfig, type WorkspaceConfig } from '../../src/config.ts'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import type { Row } from '../../src/warehouse/connection.ts'
import type { SyncReport, SyncRequest } from '../../workflows/steps.ts'
import { isProbe } from '../workflows/probe.ts'

export const TOKEN = 'contract-token-1177'
export const WORKSPACE = 'ws_demo'

export type Asked = Partial<Omit<SyncRequest, 'run' | 'workspaceId'>>

/** Whoever runs the orchestration. */
export interface HostUnderTest {
  sync(asked: Omit<SyncRequest, 'run'>): Promise<SyncReport>
  rows<R = Row>(sql: string): Promise<R[]>
}

/** Opens a host on that configuration; it is closed when the test is over. */
export type OpenHost = (config: Config) => Promise<HostUnderTest>

/** Nobody in this process runs the sync. */
export const elsewhere: OpenHost = async () => ({
  sync: () => Promise.reject(new Error()),
  rows: () => Promise.reject(new Error()),
})

export interface Scene {
  sandbox: Sandbox
  config: Config
  sync(asked?: Asked): Promise<SyncReport>
  rows<R = Row>(sql: string): Promise<R[]>
  /** Export requests that the sandbox has served; probes among them, or not. */
  served(): Promise<ServedRequest[]>
  bought(): Promise<ServedRequest[]>
}

async function homeFolder(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'convohouse-contract-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  return home
}

/** Task queues of its own: scenes share a server. */
let scenes = 0

export function configAt(options: { url: string; home: string; settings?: Partial<WorkspaceConfig> }): Config {
  const { url, home, settings = {} } = options
  const config = readConfig({
    env: {
      CONVOHOUSE_API_URL: url,
      CONVOHOUSE_API_TOKEN: TOKEN,
      CONVOHOUSE_WORKSPACE: WORKSPACE,
      CONVOHOUSE_HOME: home,
    },
  })
  const nothingAgain = { rereadShare: 0, sampleShare: 0 }
  scenes += 1
  return {
    ...config,
    threads: 1,
    temporal: { ...config.temporal, queues: `contract-${process.pid}-${scenes}` },
    workspaces: [{ ...config.workspaces[0]!, ...nothingAgain, ...settings }],
  }
}

export async function scene(
  open: OpenHost,
  options: { sandbox?: Partial<SandboxOptions>; settings?: Partial<WorkspaceConfig> } = {},
): Promise<Scene> {
  const still = { port: 0, token: TOKEN, workspaceId: WORKSPACE, conversations: 120, arrivalsPerDay: 0 }
  const sandbox = await startSandbox({ ...still, ...options.sandbox })
  onTestFinished(() => sandbox.close())
  const config = configAt({ url: sandbox.url, home: await homeFolder(), ...options })
  const host = await open(config)
  const served = async () => {
    const answer = await fetch(`${sandbox.url}/_sandbox/requests?kind=export`)
    return ((await answer.json()) as { requests: ServedRequest[] }).requests
  }
  return {
    sandbox,
    config,
    sync: (asked = {}) => host.sync({ ...PLAIN_SYNC, ...asked, workspaceId: WORKSPACE }),
    rows: sql => host.rows(sql),
    served,
    bought: async () => (await served()).filter(request => !isProbe(request)),
  }
}
