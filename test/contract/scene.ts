// A sandbox and a workspace in real time, with separate task queues.
import { mkdir } from 'node:fs/promises'
import { onTestFinished } from 'vitest'
import type { WorkspaceConfig } from '../../src/config.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { SyncRequest } from '../../workflows/steps.ts'
import { type Scene as AnyScene, NO_REFRESH, openScene } from '../scene.ts'

export { TOKEN, WORKSPACE } from '../scene.ts'

export type Asked = Partial<Omit<SyncRequest, 'run' | 'workspaceId'>>

export type Scene = Pick<AnyScene, 'sandbox' | 'config' | 'served' | 'exported'>

/** Number of scenes so far. It makes the names of their task queues unique, because scenes share a server. */
let scenes = 0

/**
 * Opens a sandbox and a configuration, which end with the test. By default, syncs request agents and conversations
 * only.
 */
export async function scene(
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
  return { sandbox, config, served, exported }
}
