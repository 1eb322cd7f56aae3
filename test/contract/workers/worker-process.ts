// Workers as users run them: processes of the built command that tests kill, freeze and end.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../../src/config.ts'
import type { TemporalPlace } from '../../../src/run/temporal/client/connection.ts'
import type { Role } from '../../../src/run/temporal/worker/worker.ts'
import { type Running, start } from '../../cli/cli-process.ts'
import { TOKEN } from '../scene.ts'

/** Writes the configuration to a file, as JSON, which is valid YAML. */
export async function writeConfig(config: Config, lease: string, more: object = {}): Promise<string> {
  const [workspace] = config.workspaces
  const { id, apiUrl, maxPage, rereadShare, sampleShare, resources } = workspace!
  const path = join(config.home, 'convohouse.yaml')
  const settings = { pageSize: maxPage, rereadShare, sampleShare, resources, timeout: '10s' }
  await writeFile(
    path,
    JSON.stringify({
      home: config.home,
      threads: 1,
      temporal: { queues: config.temporal.queues, lease },
      workspaces: [{ id, apiUrl, token: { env: 'WORKER_TOKEN' }, ...settings, ...more }],
    }),
  )
  return path
}

/** Starts a worker and resolves when the worker takes tasks. The worker is killed when the test ends. */
export async function workerProcess(options: {
  place: TemporalPlace
  path: string
  role: Role
  more?: string[]
  main?: string
}): Promise<Running> {
  const { place, path, role, more = [], main } = options
  const running = start(['worker', '--role', role, '--config', path, ...more], {
    env: { WORKER_TOKEN: TOKEN, TEMPORAL_ADDRESS: place.address, TEMPORAL_NAMESPACE: place.namespace },
    ...(main !== undefined && { main }),
  })
  await running.said(`worker (${role}) for `)
  return running
}
