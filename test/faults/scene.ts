// The scene of each fault test: a sandbox with a stopped clock, a data folder, and the command that syncs the sandbox into it.
import { cp } from 'node:fs/promises'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { type CliOptions, type Ended, type Running, start } from '../cli/cli-process.ts'
import { inProcess } from '../cli/in-process.ts'
import { openScene, type Scene, STILL, TOKEN, TOKEN_ENV } from '../scene.ts'
import { expectedTables } from '../workflows/simulated/expected-rows.ts'
import { readThrough, truthOf } from '../workflows/simulated/truth.ts'
import { asLines, warehouseTables } from '../workflows/simulated/warehouse-tables.ts'

const SETTLE_MS = 120_000

export interface FaultScene extends Scene {
  /** Runs the command to its end: in this process, or in a separate process if `options` are given. */
  run(args: readonly string[], options?: CliOptions): Promise<Ended>
  /** Starts the command in a separate process. */
  start(args: readonly string[], options?: CliOptions): Running
  /** Returns a scene with the same command on another data folder. */
  at(home: string): Promise<FaultScene>
}

interface FaultSceneOptions {
  sandbox?: Partial<SandboxOptions>
  /** Settings of the workspace, as in the configuration file. By default, syncs request agents and conversations only. */
  workspace?: object
}

function withCommand(scene: Scene, workspace: object): FaultScene {
  const flagged = (args: readonly string[]) => [...args, '--config', scene.file]
  const started = (args: readonly string[], options: CliOptions = {}) =>
    start(flagged(args), { ...options, env: { ...TOKEN_ENV, ...options.env } })
  return {
    ...scene,
    run: (args, options) => (options ? started(args, options).ended : inProcess(flagged(args), { env: TOKEN_ENV })),
    start: started,
    async at(home) {
      const other = await openScene({ at: scene.sandbox, home, workspace })
      onTestFinished(other.close)
      return withCommand(other, workspace)
    },
  }
}

/** Opens a scene with about twenty pages of three agents, unless the options specify others. The caller closes the scene. */
async function openFaultScene({ sandbox, workspace = {} }: FaultSceneOptions): Promise<FaultScene> {
  const settings = { pageSize: 5, resources: 'none', ...workspace }
  const scene = await openScene({ sandbox: { ...STILL, conversations: 90, ...sandbox }, workspace: settings })
  return withCommand(scene, settings)
}

/** Opens a scene that is closed when the test ends. */
export async function faultScene(options: FaultSceneOptions = {}): Promise<FaultScene> {
  const scene = await openFaultScene(options)
  onTestFinished(scene.close)
  return scene
}

/**
 * Opens scenes that are already fully synced. A test file syncs once; each scene gets a copy of that data folder and
 * its own sandbox, which has the same conversations and has served nothing yet.
 */
export function syncedScenes(options: FaultSceneOptions = {}): () => Promise<FaultScene> {
  let synced: FaultScene
  beforeAll(async () => {
    synced = await openFaultScene(options)
    const { code, stderr } = await synced.run(['sync', '--yes'])
    expect(code, stderr).toBe(0)
  })
  afterAll(() => synced.close())
  return async () => {
    const scene = await faultScene(options)
    await cp(synced.home, scene.home, { recursive: true })
    return scene
  }
}

/** Expects that a failed command prints its error code, the cause and a hint, but no token, stack trace or personal data. */
export function expectError(
  { sandbox }: FaultScene,
  ended: Ended,
  expected: { exit: number; error: string; says: string[] },
) {
  expect(ended.code, ended.stderr).toBe(expected.exit)
  for (const text of [`error ${expected.error}: `, '  → ', ...expected.says]) expect(ended.stderr).toContain(text)
  expectClean(sandbox, ended)
}

export function expectClean(sandbox: Sandbox, { stdout, stderr }: Ended): void {
  const output = stdout + stderr
  expect(output).not.toContain(TOKEN)
  expect(output).not.toMatch(/^\s+at .+:\d+:\d+/m)
  const people = truthOf(sandbox, { throughMs: Number.POSITIVE_INFINITY })
    .flatMap(({ record }) => [record.userEmail, record.userPhone, record.summary])
    .filter(value => typeof value === 'string' && value.length > 6)
  expect(people.filter(value => output.includes(value as string))).toEqual([])
}

/** Expects that the tables in `home`, which may be another data folder than the scene's, equal the sandbox's data. */
export async function expectComplete({ sandbox, home }: Pick<FaultScene, 'sandbox' | 'home'>): Promise<void> {
  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
  try {
    const truth = truthOf(sandbox, { throughMs: readThrough(sandbox.clock.now(), SETTLE_MS) })
    expect(asLines(await warehouseTables(warehouse.writer.rows))).toEqual(asLines(await expectedTables(truth)))
  } finally {
    await warehouse.close()
  }
}

const keyOf = ({ agentId, query }: Pick<ServedRequest, 'agentId' | 'query'>): string =>
  JSON.stringify([agentId, Object.entries(query).sort()])

/** Returns export requests that repeat an earlier one. */
export async function exportedTwice(scene: FaultScene): Promise<ServedRequest[]> {
  const seen = new Set<string>()
  return (await scene.exported()).filter(request => {
    const again = seen.has(keyOf(request))
    seen.add(keyOf(request))
    return again
  })
}

/** Returns the keys (`keyOf`) of the requests whose pages have landed. */
async function landedKeys({ home }: FaultScene): Promise<Set<string>> {
  const landing = openLanding(home).workspace('ws_demo')
  const heads = await Promise.all((await landing.list('conversations')).map(({ address }) => landing.head(address)))
  return new Set(heads.map(({ place, request }) => keyOf({ agentId: place.agentId, query: request.query })))
}

/**
 * Expects that the next sync, `sync`, succeeds, completes the tables and requests no page that had landed, and that over all
 * runs at most `inFlight` requests (those in flight at kills) were made twice.
 */
export async function expectRecovered(
  scene: FaultScene,
  { inFlight = 0, sync = () => scene.run(['sync', '--yes']) } = {},
): Promise<Ended> {
  const landed = await landedKeys(scene)
  const before = (await scene.exported()).length
  const ended = await sync()
  expect(ended.code, ended.stderr).toBe(0)
  expectClean(scene.sandbox, ended)
  const requests = (await scene.exported()).slice(before)
  expect(requests.filter(request => landed.has(keyOf(request)))).toEqual([])
  expect((await exportedTwice(scene)).length).toBeLessThanOrEqual(inFlight)
  await expectComplete(scene)
  return ended
}
