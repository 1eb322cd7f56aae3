// A data folder that is synced once per file, because the first sync is most of the cost of many command tests.
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { type CliSettings, openCliScene, type Scene, temporaryFolder } from './cli-process.ts'
import { inProcess } from './in-process.ts'

/** Returns a function that copies the data folder for one test. All tests share the sandbox, so its requests and usage add up. */
export function syncedOnce(
  options: Partial<SandboxOptions> = {},
  settings: CliSettings = {},
  prepare: (sandbox: Sandbox) => void = () => {},
): () => Promise<Scene> {
  let made: Awaited<ReturnType<typeof openCliScene>>
  beforeAll(async () => {
    made = await openCliScene(options, settings)
    prepare(made.sandbox)
    const { code, stderr } = await inProcess(['sync'], { env: made.env })
    if (code !== 0) throw new Error(stderr)
  })
  afterAll(() => made.close())
  return () => copyOf(made)
}

/** Copies the data folder; both copies share the sandbox. */
export async function copyOf({ sandbox, home: from, env }: Scene): Promise<Scene> {
  const home = join(await temporaryFolder(), 'data')
  await cp(from, home, { recursive: true })
  return { sandbox, home, env: { ...env, CONVOHOUSE_HOME: home } }
}
