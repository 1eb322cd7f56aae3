// Runs the built command for a test, against a sandbox and an empty data folder.
import { onTestFinished } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { type CommandOptions, type Ended, MAIN, type Running, startCommand } from '../command.ts'
import { temporaryFolder as openFolder, openScene, TOKEN_ENV, WORKSPACE } from '../scene.ts'

export { TOKEN } from '../scene.ts'
export { type CommandOptions as CliOptions, type Ended, MAIN, type Running }

/** Starts the command; it is killed when the test ends. */
export function start(args: readonly string[], options: CommandOptions = {}): Running {
  const running = startCommand(args, options)
  onTestFinished(() => {
    running.process.kill('SIGKILL')
  })
  return running
}

export const cli = (args: readonly string[], options: CommandOptions = {}): Promise<Ended> => start(args, options).ended

/** Returns a folder that is removed after the test. */
export async function temporaryFolder(): Promise<string> {
  const { folder, remove } = await openFolder()
  onTestFinished(remove)
  return folder
}

export interface Scene {
  sandbox: Sandbox
  home: string
  env: Record<string, string>
}

interface OpenedScene extends Scene {
  close(): Promise<void>
}

/** Settings of the workspace, as in the configuration file. */
export interface CliSettings {
  pageSize?: number
  /** Syncs request only agents and conversations by default: the other resources take half of the CPU time of a small first sync. */
  resources?: 'all'
}

/** Returns a sandbox, an empty data folder, a configuration file, and the four variables that can replace the file. The caller closes it. */
export async function openCliScene(
  options: Partial<SandboxOptions> = {},
  settings: CliSettings = {},
): Promise<OpenedScene> {
  const sandboxOptions = { conversations: 120, arrivalsPerDay: 0, ...options }
  const { sandbox, home, file, close } = await openScene({
    sandbox: sandboxOptions,
    workspace: { resources: 'none', ...settings },
  })
  const env = {
    ...TOKEN_ENV,
    CONVOHOUSE_API_URL: sandbox.url,
    CONVOHOUSE_WORKSPACE: WORKSPACE,
    CONVOHOUSE_HOME: home,
    CONVOHOUSE_CONFIG: file,
  }
  return { sandbox, home, env, close }
}

/** Opens a scene like `openCliScene` and closes it after the test. */
export async function scene(...options: Parameters<typeof openCliScene>): Promise<Scene> {
  const { close, ...opened } = await openCliScene(...options)
  onTestFinished(close)
  return opened
}

/** Returns the number of conversations of all agents that can be exported. */
export const exportable = ({ world, clock }: Sandbox): number =>
  world.agentIds().reduce((sum, id) => sum + world.tally(id, clock.now()).exportable, 0)

/** Returns the lines of a `--json` output. */
export const jsonLines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
