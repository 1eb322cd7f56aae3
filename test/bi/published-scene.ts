// A workspace of the sandbox that is synced and published with `convohouse publish` to configured targets, as users do.
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll } from 'vitest'
import { MAIN, openCliScene } from '../cli/cli-process.ts'
import { inProcess } from '../cli/in-process.ts'
import { TOKEN_ENV } from '../scene.ts'
import { EXTENSIONS, extensionFolder } from './extensions.ts'
import { whyLacking } from './lacking.ts'

export interface PublishedScene {
  /** Data folder; targets without a path are in its folder `published`. */
  home: string
  /** Runs a command with the configuration. */
  command(...words: string[]): Promise<string>
  /** Returns the rows of a query of the warehouse from which the targets are published. */
  query<Row extends object>(sql: string): Promise<Row[]>
}

/** Call it only in a test file: it publishes before the first test. `targets`: as in `convohouse.yaml`, or a function that returns them. */
export function publishedScene(targets: readonly object[] | (() => readonly object[])): PublishedScene {
  const scene = {} as PublishedScene
  let close = async () => {}

  beforeAll(async () => {
    const opened = await openCliScene({ conversations: 600, traffic: true }, { resources: 'all' })
    close = opened.close
    scene.home = opened.home
    const { code, stderr } = await inProcess(['sync'], { env: opened.env })
    if (code !== 0) throw new Error(stderr)
    const config = join(scene.home, 'convohouse.yaml')
    const workspace = {
      id: 'ws_demo',
      apiUrl: opened.env.CONVOHOUSE_API_URL,
      token: { env: 'CONVOHOUSE_API_TOKEN' },
    }
    const published = typeof targets === 'function' ? targets() : targets
    const settings = { home: scene.home, threads: 1, targets: published, workspaces: [workspace] }
    await writeFile(config, JSON.stringify(settings))
    const extensions = whyLacking(EXTENSIONS) === null && { CONVOHOUSE_EXTENSIONS: extensionFolder() }
    scene.command = async (...words) => {
      const env = { PATH: process.env.PATH, ...TOKEN_ENV, ...extensions }
      return (await promisify(execFile)(process.execPath, [MAIN, ...words, '--config', config], { env })).stdout
    }
    await scene.command('publish', '--verify')
  }, 600_000)

  afterAll(() => close())

  scene.query = async sql => JSON.parse(await scene.command('query', sql, '--format', 'json'))
  return scene
}
