// The process of a target stops just before it replaces the published file. Its publication is aborted after a timeout.
// If the process continues after its parent has died, it does not undo a newer state.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { TargetConfig } from '../../../src/config/targets.ts'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import { publish } from '../../../src/publish/publish.ts'
import { loadPages } from '../../../src/warehouse/load/load.ts'
import { openWarehouse, type Warehouse } from '../../../src/warehouse/open.ts'
import { temporaryFolder } from '../../../src/warehouse/temporary-files.ts'
import { ENTRY, newTarget, rowsIn, SETTINGS } from '../../publish/published.ts'
import { until } from '../../until.ts'
import { landConversations, SENT_AT_MS } from '../../warehouse/landed-pages.ts'
import { SMALL } from '../../warehouse/temporary-warehouse.ts'

const SRC = join(import.meta.dirname, '../../../dist/src')

/** Returns the target's process. It writes its process id and stops itself before it renames the next file. */
const stalling = (mark: string): string => `
import promises from 'node:fs/promises'
import { writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const { rename } = promises
promises.rename = async (...args) => {
  writeFileSync(${JSON.stringify(mark)}, String(process.pid))
  process.kill(process.pid, 'SIGSTOP')
  return rename(...args)
}
syncBuiltinESMExports()
await import(${JSON.stringify(pathToFileURL(join(SRC, 'publish/target-process.js')).href)})
`

/** Holds the warehouse and publishes. */
const parent = `
const { openWarehouse } = await import('${SRC}/warehouse/open.js')
const { publish } = await import('${SRC}/publish/publish.js')
const { home, target, settings, entry, limits } = JSON.parse(process.env.PUBLICATION)
const warehouse = await openWarehouse({ home, ...limits })
await publish({ warehouse, home, target, settings, entry: new URL(entry) })
`

/** Returns the process state as one letter, as Linux reports it; null if the process is gone. */
const stateOf = (pid: number): string | null => {
  const file = `/proc/${pid}/stat`
  return existsSync(file) ? (/\) (\w)/.exec(readFileSync(file, 'utf8'))?.[1] ?? null) : null
}

const isGone = (pid: number): boolean => [null, 'Z', 'X'].includes(stateOf(pid))

/** Returns a published data folder with a conversation that has changed since. */
async function openScene() {
  const home = await mkdtemp(join(tmpdir(), 'convohouse-'))
  const [mark, entry] = [join(home, 'stopped'), join(home, 'stalling.mjs')]
  await writeFile(entry, stalling(mark))
  const target = newTarget(home)
  const landing = openLanding(home).workspace('ws')
  let minute = 0
  const load = async ({ writer }: Warehouse, userName: string) => {
    const page = { records: [{ ID: 'a', userName }], sentAtMs: SENT_AT_MS + ++minute * 60_000 }
    await loadPages(
      {
        ...{ writer, workspaceId: 'ws', timeZone: 'UTC', mirrorLagMs: 0, temporaryFolder: temporaryFolder(home) },
        ...{ readBody: landing.body, pageFiles: landing.files, verifyChecksums: landing.verifyChecksums },
        now: Date.now,
      },
      [await landConversations(landing, page)],
    )
  }
  const publishWith = (warehouse: Warehouse, more: object = {}) =>
    publish({ warehouse, home, target, settings: SETTINGS, entry: ENTRY, ...more })
  const published = async () => (await rowsIn(target.path, 'SELECT user_name FROM conversations')).flat()
  const warehouse = await openWarehouse({ home, ...SMALL })
  await load(warehouse, 'Ann')
  await publishWith(warehouse)
  await load(warehouse, 'Amy')
  /** Waits until the target's process has stopped. @returns its id */
  const stopped = () => until(async () => existsSync(mark) && Number(await readFile(mark, 'utf8')))
  return { home, target, warehouse, mark, entry: pathToFileURL(entry), load, publishWith, published, stopped }
}

let scene: Awaited<ReturnType<typeof openScene>>
beforeAll(async () => {
  scene = await openScene()
})
afterAll(() => rm(scene.home, { recursive: true }))

/** Starts a process that publishes with the stalling target; kills it when the target's process has stopped. @returns the latter's id */
async function killedParent(
  options: { home: string; target: TargetConfig; entry: URL },
  stopped: () => Promise<number>,
) {
  const PUBLICATION = JSON.stringify({ ...options, settings: SETTINGS, limits: SMALL })
  const child = spawn(process.execPath, ['--input-type=module', '--eval', parent], {
    env: { ...process.env, PUBLICATION },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(child, 'close')
  const pid = await stopped()
  onTestFinished(() => {
    if (!isGone(pid)) process.kill(pid, 'SIGKILL')
  })
  await until(() => stateOf(pid) === 'T')
  child.kill('SIGKILL')
  await ended
  return pid
}

it('a publication whose target does not answer is aborted after the longest time, and the next one is right', async () => {
  const { warehouse, mark, entry, publishWith, published, stopped } = scene
  // On a busy machine, the process may need longer to reach the point at which it stops.
  for (let longestMs = 3_000; !existsSync(mark); longestMs *= 2)
    await expect(publishWith(warehouse, { entry, longestMs })).rejects.toMatchObject({
      code: 'PUBLICATION_FAILED',
      message: expect.stringMatching(/was aborted after \d+ s\.$/),
    })
  expect(isGone(await stopped())).toBe(true)
  expect(await published()).toEqual(['Ann'])
  const sql = 'SELECT error_code FROM _publications ORDER BY started_at DESC LIMIT 1'
  expect(await warehouse.writer.rows(sql)).toEqual([{ error_code: 'PUBLICATION_FAILED' }])
  expect(await publishWith(warehouse)).toMatchObject({ kind: 'delta' })
  expect(await published()).toEqual(['Amy'])
})

it('a process of a target that continues after its parent has died blocks others until it ends, and undoes nothing', async () => {
  const { home, target, warehouse, mark, entry, load, publishWith, published, stopped } = scene
  await load(warehouse, 'Eve')
  await warehouse.close()
  await rm(mark)
  const pid = await killedParent({ home, target, entry }, stopped)
  const next = await openWarehouse({ home, ...SMALL })
  await load(next, 'Zoe')
  await expect(publishWith(next)).rejects.toMatchObject({ code: 'TARGET_LOCKED' })
  expect(await published()).toEqual(['Amy'])
  process.kill(pid, 'SIGCONT')
  await until(() => isGone(pid))
  // The process was about to rename and may have done so.
  expect(['Amy', 'Eve']).toContain((await published())[0])
  expect(await publishWith(next, { verify: true })).toMatchObject({ kind: 'delta' })
  expect(await published()).toEqual(['Zoe'])
  await next.close()
})
