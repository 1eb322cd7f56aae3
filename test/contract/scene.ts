// A sandbox and a workspace in real time, synced by the host under test.
import { mkdir } from 'node:fs/promises'
import { onTestFinished } from 'vitest'
import type { Config, WorkspaceConfig } from '../../src/config.ts'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { Row } from '../../src/warehouse/connection.ts'
import type { SyncReport, SyncRequest } from '../../workflows/steps.ts'
import { type Scene as AnyScene, NO_REFRESH, openScene, WORKSPACE } from '../scene.ts'

export { TOKEN, WORKSPACE } from '../scene.ts'

export type Asked = Partial<Omit<SyncRequest, 'run' | 'workspaceId'>>

/** A host of the orchestration, as the contract tests use it. */
export interface HostUnderTest {
  sync(asked: Omit<SyncRequest, 'run'>): Promise<SyncReport>
  rows<R = Row>(sql: string): Promise<R[]>
}

/** Opens a host with that configuration; it is closed when the test ends. */
export type OpenHost = (config: Config) => Promise<HostUnderTest>

/** For tests that start their syncs by other means: this host refuses to sync. */
export const elsewhere: OpenHost = async () => ({
  sync: () => Promise.reject(new Error()),
  rows: () => Promise.reject(new Error()),
})

export interface Scene extends Pick<AnyScene, 'sandbox' | 'config' | 'served' | 'exported'> {
  sync(asked?: Asked): Promise<SyncReport>
  rows<R = Row>(sql: string): Promise<R[]>
}

/** Number of scenes so far. It makes the names of their task queues unique, because scenes share a server. */
let scenes = 0

/**
 * A sandbox and a configuration with its own task queues, synced by the host that `open` opens; all end with the test. Unless the settings
 * name resources, syncs request agents and conversations only.
 */
export async function scene(
  open: OpenHost,
  options: { sandbox?: Partial<SandboxOptions>; settings?: Partial<WorkspaceConfig> } = {},
): Promise<Scene> {
  scenes += 1
  const { sandbox, config, served, exported, close } = await openScene({
    sandbox: { conversations: 120, arrivalsPerDay: 0, ...options.sandbox },
    top: { temporal: { queues: `contract-${process.pid}-${scenes}` } },
    workspace: NO_REFRESH,
    settings: { resources: [], ...options.settings },
  })
  onTestFinished(close)
  await mkdir(config.home)
  const host = await open(config)
  return {
    sandbox,
    config,
    sync: (asked = {}) => host.sync({ ...PLAIN_SYNC, ...asked, workspaceId: WORKSPACE }),
    rows: sql => host.rows(sql),
    served,
    exported,
  }
}
