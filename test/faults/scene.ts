// A sandbox whose clock stands still, a data folder, and the command between them: the scene of each fault.
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { type CliOptions, type Ended, type Running, start, temporaryFolder } from '../cli/cli-process.ts'
import { inProcess } from '../cli/in-process.ts'
import { expectedTables } from '../workflows/expected-rows.ts'
import { isProbe } from '../workflows/probe.ts'
import { readThrough, truthOf } from '../workflows/truth.ts'
import { asLines, warehouseTables } from '../workflows/warehouse-tables.ts'
import { writeConfig } from './sync-process.ts'

export const TOKEN = 'faulty-token-4242'
export const START_MS = Date.UTC(2026, 5, 1, 12)
export const SETTLE_MS = 120_000

export interface FaultScene {
  sandbox: Sandbox
  /** A folder of its own, gone after the test; the data folder and the configuration are in it. */
  folder: string
  home: string
  /** Runs the command to its end: in this process, or with `options` in a process of its own. */
  run(args: readonly string[], options?: CliOptions): Promise<Ended>
  /** Starts the command in a process of its own. */
  start(args: readonly string[], options?: CliOptions): Running
  /** Export requests served so far, probes apart. */
  bought(): Promise<ServedRequest[]>
  /** The same command on another data folder. */
  at(home: string): Promise<FaultScene>
}

const SYNC_ENV = { SYNC_TOKEN: TOKEN }

interface Settings {
  pageSize: number
  /** Further lines of the workspace's configuration. */
  settings?: readonly string[]
}

async function sceneOf(sandbox: Sandbox, folder: string, home: string, settings: Settings): Promise<FaultScene> {
  const config = await writeConfig(folder, { url: sandbox.url, home, ...settings })
  const flagged = (args: readonly string[]) => [...args, '--config', config]
  const started = (args: readonly string[], options: CliOptions = {}) =>
    start(flagged(args), { ...options, env: { ...SYNC_ENV, ...options.env } })
  return {
    sandbox,
    folder,
    home,
    run: (args, options) => (options ? started(args, options).ended : inProcess(flagged(args), { env: SYNC_ENV })),
    start: started,
    async bought() {
      const answer = await fetch(`${sandbox.url}/_sandbox/requests?kind=export`)
      return ((await answer.json()) as { requests: ServedRequest[] }).requests.filter(request => !isProbe(request))
    },
    at: async other => sceneOf(sandbox, await temporaryFolder(), other, settings),
  }
}

interface SceneOptions extends Partial<Settings> {
  sandbox?: Partial<SandboxOptions>
}

const stillSandbox = (options: Partial<SandboxOptions> = {}): Promise<Sandbox> =>
  startSandbox({ port: 0, token: TOKEN, startMs: START_MS, speed: 0, conversations: 90, ...options })

const openScene = (sandbox: Sandbox, folder: string, options: SceneOptions): Promise<FaultScene> =>
  sceneOf(sandbox, folder, join(folder, 'data'), { pageSize: 5, ...options })

/** Some twenty pages of three agents, unless `options` say otherwise. */
export async function faultScene(options: SceneOptions = {}): Promise<FaultScene> {
  const sandbox = await stillSandbox(options.sandbox)
  onTestFinished(() => sandbox.close())
  return openScene(sandbox, await temporaryFolder(), options)
}

/**
 * Scenes that begin with everything synced: one sync for the tests of a file, whose data folder each scene has a copy of. Each has a
 * sandbox of its own with the same conversations, which has served nothing yet.
 */
export function syncedScenes(options: SceneOptions = {}): () => Promise<FaultScene> {
  let folder: string
  beforeAll(async () => {
    const sandbox = await stillSandbox(options.sandbox)
    folder = await mkdtemp(join(tmpdir(), 'convohouse-synced-'))
    const { code, stderr } = await (await openScene(sandbox, folder, options)).run(['sync', '--yes'])
    expect(code, stderr).toBe(0)
    await sandbox.close()
  })
  afterAll(() => rm(folder, { recursive: true }))
  return async () => {
    const scene = await faultScene(options)
    await cp(join(folder, 'data'), scene.home, { recursive: true })
    return scene
  }
}

/** What a failed command says: its code, what it names and how to mend it, and neither token, stack nor a person's data. */
export function expectTold(
  { sandbox }: FaultScene,
  ended: Ended,
  told: { exit: number; error: string; says: string[] },
) {
  expect(ended.code, ended.stderr).toBe(told.exit)
  for (const text of [`error ${told.error}: `, '  → ', ...told.says]) expect(ended.stderr).toContain(text)
  expectClean(sandbox, ended)
}

export function expectClean(sandbox: Sandbox, { stdout, stderr }: Ended): void {
  const said = stdout + stderr
  expect(said).not.toContain(TOKEN)
  expect(said).not.toMatch(/^\s+at .+:\d+:\d+/m)
  const people = truthOf(sandbox, { throughMs: Number.POSITIVE_INFINITY })
    .flatMap(({ record }) => [record.userEmail, record.userPhone, record.summary])
    .filter(value => typeof value === 'string' && value.length > 6)
  expect(people.filter(value => said.includes(value as string))).toEqual([])
}

/** The tables equal what the sandbox has. `home`: another folder to look into than the scene's. */
export async function expectWhole({ sandbox, home }: Pick<FaultScene, 'sandbox' | 'home'>): Promise<void> {
  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
  try {
    const truth = truthOf(sandbox, { throughMs: readThrough(sandbox.clock.now(), SETTLE_MS) })
    expect(asLines(await warehouseTables(warehouse.writer.rows))).toEqual(asLines(expectedTables(truth)))
  } finally {
    await warehouse.close()
  }
}

const keyOf = ({ agentId, query }: Pick<ServedRequest, 'agentId' | 'query'>): string =>
  JSON.stringify([agentId, Object.entries(query).sort()])

/** Requests that were made more than once. */
export async function boughtTwice(scene: FaultScene): Promise<ServedRequest[]> {
  const seen = new Set<string>()
  return (await scene.bought()).filter(request => {
    const again = seen.has(keyOf(request))
    seen.add(keyOf(request))
    return again
  })
}

/** The requests whose pages are on disk, as keys. */
async function landedKeys({ home }: FaultScene): Promise<Set<string>> {
  const landing = openLanding(home).workspace('ws_demo')
  const heads = await Promise.all((await landing.list('conversations')).map(({ address }) => landing.head(address)))
  return new Set(heads.map(({ place, request }) => keyOf({ agentId: place.agentId, query: request.query })))
}

/**
 * A sync that ends well, after which everything is there. It asks for nothing that had landed; over all runs, no more than
 * `underWay` requests (at a kill) were made twice.
 */
export async function expectMended(scene: FaultScene, { underWay = 0 } = {}): Promise<Ended> {
  const landed = await landedKeys(scene)
  const before = (await scene.bought()).length
  const ended = await scene.run(['sync', '--yes'])
  expect(ended.code, ended.stderr).toBe(0)
  expectClean(scene.sandbox, ended)
  const asked = (await scene.bought()).slice(before)
  expect(asked.filter(request => landed.has(keyOf(request)))).toEqual([])
  expect((await boughtTwice(scene)).length).toBeLessThanOrEqual(underWay)
  await expectWhole(scene)
  return ended
}
