// A sandbox whose clock stands still, a data folder, and the built command between them: what each fault is made on.
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { type CliOptions, cli, type Ended, type Running, start, temporaryFolder } from '../cli/cli-process.ts'
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
  run(args: readonly string[], options?: CliOptions): Promise<Ended>
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
  const withEnv = (options: CliOptions) => ({ ...options, env: { ...SYNC_ENV, ...options.env } })
  return {
    sandbox,
    folder,
    home,
    run: (args, options = {}) => cli(flagged(args), withEnv(options)),
    start: (args, options = {}) => start(flagged(args), withEnv(options)),
    async bought() {
      const answer = await fetch(`${sandbox.url}/_sandbox/requests?kind=export`)
      return ((await answer.json()) as { requests: ServedRequest[] }).requests.filter(request => !isProbe(request))
    },
    at: async other => sceneOf(sandbox, await temporaryFolder(), other, settings),
  }
}

/** A sandbox that whoever starts it closes. */
export const stillSandbox = (options: Partial<SandboxOptions> = {}): Promise<Sandbox> =>
  startSandbox({ port: 0, token: TOKEN, startMs: START_MS, speed: 0, conversations: 200, ...options })

/** Some twenty pages of three agents, unless told otherwise. `beside`: a sandbox that is there already. */
export async function faultScene(
  options: { sandbox?: Partial<SandboxOptions>; beside?: Sandbox } & Partial<Settings> = {},
): Promise<FaultScene> {
  const sandbox = options.beside ?? (await stillSandbox(options.sandbox))
  if (!options.beside) onTestFinished(() => sandbox.close())
  const folder = await temporaryFolder()
  return sceneOf(sandbox, folder, join(folder, 'data'), { pageSize: 10, ...options })
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
