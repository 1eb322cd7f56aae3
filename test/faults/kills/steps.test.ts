// A table of processes that are killed just before a step, and of promises afterwards: nothing is lost or duplicated,
// and the next run completes the work. `test/publish/target-contract.ts` tests the steps of each target's process.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DAY, HOUR } from '../../../src/core/time.ts'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import type { Landing } from '../../../src/landing/landing.ts'
import { openLeaseLog } from '../../../src/landing/lease-log.ts'
import { folderOf } from '../../../src/landing/page-address.ts'
import { expireArchive } from '../../../src/spool/archive.ts'
import { spoolFolders } from '../../../src/spool/folders.ts'
import { CONCURRENT_WINDOWS } from '../../../workflows/window-loop.ts'
import { inProcess } from '../../cli/in-process.ts'
import { bytes, failureOf } from '../../landing/landing-contract.ts'
import { NOW, request, USAGE } from '../../landing/lease-log-contract.ts'
import { headOf, SENT_AT_MS } from '../../landing/page-heads.ts'
import { temporaryHome } from '../../landing/temporary-home.ts'
import { TOKEN_ENV } from '../../scene.ts'
import { isDeep } from '../../tier.ts'
import { messagesIn, receive, webhookEnv } from '../webhook-command.ts'
import { watchBilledRequests } from './billed-requests.ts'
import { openKilledHome } from './killed-home.ts'
import { BUILT, CHANGE, copyOf, type Killable, runKilled } from './killed-process.ts'

interface KilledProcess {
  does: string
  /** Fills the data folder. @returns facts that the checks need */
  fill(home: string): Promise<void>
  runs: Killable
  /** Patterns of the steps before which the process is killed; a number kills it before each of the first changes of a folder. */
  steps: number | readonly string[]
  /** Those of the steps that `npm test` tries, counted from 1. */
  usual?: readonly number[]
  /** Exit code of the process that completes the work; default: 0. */
  ends?: number
  /** Checks the state after each kill, and after the run that completes. `at` counts from 1; null if the process was not killed. */
  holds(home: string, at: number | null): Promise<void>
}

const program = (imports: string, from: string, run: string): Killable => ({
  program: `import { ${imports} } from '${BUILT}/${from}'\nconst home = process.env.HOME_UNDER_TEST\n${run}`,
})

const landingIn = (home: string): Landing => openLanding(home).workspace('ws')

async function pagesIn(home: string) {
  const store = landingIn(home)
  const pages = (await store.list()).map(async ({ address }) => {
    const { packed: _, ...head } = await store.head(address)
    return { address, head, body: String(await store.body(address)) }
  })
  return Promise.all(pages)
}

const compactAll = async (store: Landing) =>
  store.compact(
    (await store.folders()).map(({ folder }) => folder),
    SENT_AT_MS + DAY,
  )

/** Lands pages in turns: the second compaction joins a bundle with later pages. */
async function landInTurns(store: Landing): Promise<void> {
  for (const sequence of [1, 2, 3, 4, 5]) {
    await store.land(headOf({ sequence }), bytes(`{"data":[{"ID":"c${sequence}"}]}`))
    await store.land(headOf({ sequence, generation: 2 }), bytes(`{"data":[],"n":${sequence}}`))
    if (sequence === 3) await compactAll(store)
  }
}

const filesIn = async (folder: string): Promise<string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile() && !entry.name.startsWith('.tmp-')).map(({ name }) => name)
}

let landed: Awaited<ReturnType<typeof pagesIn>>

const compaction: KilledProcess = {
  does: 'a compaction',
  async fill(home) {
    await landInTurns(landingIn(home))
    landed = await pagesIn(home)
    expect(landed).toHaveLength(10)
  },
  runs: program(
    'openLanding',
    'landing/folder-landing.js',
    `const store = openLanding(home).workspace('ws')
await store.compact((await store.folders()).map(({ folder }) => folder), ${SENT_AT_MS + DAY})`,
  ),
  steps: 7,
  usual: [2, 5, 7],
  async holds(home) {
    expect(await pagesIn(home)).toEqual(landed)
    const store = landingIn(home)
    for (const { head } of landed)
      expect(await failureOf(store.land(head, bytes('{"data":[]}')))).toMatchObject({ code: 'LANDING_TAKEN' })
    await compactAll(store)
    expect(await pagesIn(home)).toEqual(landed)
    expect(await filesIn(join(home, 'landing'))).toHaveLength(1)
  },
}

const OCTOBER = '20261031T235959999Z-head-1-2'
const FOLDER = 'ws/conversations/agent-1/2026-10'
let kept: string[]
let all: string[]

const expiry: KilledProcess = {
  does: 'an expiry of pages',
  async fill(home) {
    const store = landingIn(home)
    for (const sequence of [1, 2, 3]) {
      await store.land(headOf({ window: OCTOBER, sequence }), bytes(`{"data":[${sequence}]}`))
      await store.land(headOf({ window: OCTOBER, generation: 2, sequence }), bytes('{"data":[]}'))
      if (sequence === 2) await store.compact([FOLDER], SENT_AT_MS + DAY)
    }
    kept = [
      await store.land(headOf({ window: OCTOBER, agentId: 'other' }), bytes('{"data":[]}')),
      await store.land(headOf(), bytes('{"data":[]}')),
    ]
    all = (await store.list()).map(({ address }) => address)
    expect(all).toHaveLength(8)
  },
  runs: program(
    'openLanding',
    'landing/folder-landing.js',
    `await openLanding(home).workspace('ws').expire([{ folder: '${FOLDER}', pages: 6 }], { beforeMs: 0, nowMs: 7 })`,
  ),
  steps: 3,
  usual: [2, 3],
  async holds(home) {
    const store = landingIn(home)
    const left = new Set((await store.list()).map(({ address }) => address))
    const expired = await store.expired()
    for (const address of all.filter(one => !left.has(one))) {
      expect(expired.has(folderOf(address))).toBe(true)
      expect(kept).not.toContain(address)
    }
    for (const address of left) expect((await store.body(address)).length).toBeGreaterThan(0)
    const isListed = (await store.folders()).some(({ folder }) => folder === FOLDER)
    expect(isListed || [...left].every(address => folderOf(address) !== FOLDER)).toBe(true)
    await store.expire([{ folder: FOLDER, pages: 0 }], { beforeMs: 0, nowMs: 8 })
    expect((await store.list()).map(({ address }) => address)).toEqual(kept)
    expect([...(await store.expired())]).toEqual([[FOLDER, 6]])
  },
}

const EXPIRING = ['2026-11-18.1.ndjson.gz', '2026-11-19.1.ndjson.gz', '2026-11-19.2.ndjson.gz']
const UNEXPIRED = '2026-11-20.1.ndjson.gz'
const EXPIRE = { beforeMs: Date.UTC(2026, 10, 20), nowMs: 7, dryRun: false }
const archived = async (home: string) =>
  (await readdir(spoolFolders(home, 'ws').drained)).filter(name => name !== 'expired.ndjson').sort()

const eventExpiry: KilledProcess = {
  does: 'an expiry of event payloads',
  async fill(home) {
    const { drained } = spoolFolders(home, 'ws')
    await mkdir(drained, { recursive: true })
    for (const name of [...EXPIRING, UNEXPIRED]) await writeFile(join(drained, name), '12345')
  },
  runs: program('expireArchive', 'spool/archive.js', `await expireArchive(home, 'ws', ${JSON.stringify(EXPIRE)})`),
  steps: EXPIRING.length,
  usual: [2],
  async holds(home, at) {
    const left = await archived(home)
    expect(left).toHaveLength(at === null ? 1 : EXPIRING.length + 2 - at)
    const recorded = await readFile(join(spoolFolders(home, 'ws').drained, 'expired.ndjson'), 'utf8')
    for (const name of EXPIRING) if (!left.includes(name)) expect(recorded).toContain(name)
    await expireArchive(home, 'ws', EXPIRE)
    expect(await archived(home)).toEqual([UNEXPIRED])
  },
}

const ENTRIES = Array.from({ length: 16 }, (_, index) => request(NOW - (15 - index) * HOUR, { usage: USAGE }))
const leaseLogIn = (home: string) => openLeaseLog({ home, workspaceId: 'ws', run: 'run' })

const merge: KilledProcess = {
  does: 'a merge of the lease log',
  async fill(home) {
    const leaseLog = leaseLogIn(home)
    for (const entry of ENTRIES) await leaseLog.append(entry)
    await leaseLog.close()
  },
  runs: program(
    'openLeaseLog',
    'landing/lease-log.js',
    `await openLeaseLog({ home, workspaceId: 'ws', run: 'merge' }).merge(${NOW + DAY})`,
  ),
  // The steps are 16 renames, `link` and `unlink` of the temporary file, and 16 deletions.
  steps: 34,
  usual: [9, 17, 34],
  async holds(home, at) {
    const leaseLog = leaseLogIn(home)
    expect(await leaseLog.recent(NOW, DAY)).toEqual(ENTRIES)
    await leaseLog.merge(NOW + DAY)
    expect(await leaseLog.recent(NOW, DAY)).toEqual(ENTRIES)
    // A merge that has not begun is not continued: later merges wait until there are enough files again.
    const most = at !== null && at > 1 && at < 17 ? 18 - at : 1
    expect((await filesIn(join(home, 'landing/ws/ledger'))).length).toBeLessThanOrEqual(most)
  },
}

const DRAIN = ['sync', '--yes']

/** The vendor's address refuses connections, so the sync fails once it has applied the events. */
const UNAVAILABLE = 5

/** Events are in two places after the archive is synced and before anything is applied, and between the commit and the removal of their segment. */
const draining: KilledProcess = {
  does: 'a drain of events',
  fill: home => receive(home, ['one', 'two']),
  runs: { args: DRAIN, env: webhookEnv },
  steps: ['^datasynced', '^unlink .*/sealed/'],
  usual: [2],
  ends: UNAVAILABLE,
  async holds(home, at) {
    const { sealed, drained } = spoolFolders(home, 'ws')
    expect(await readdir(sealed)).toHaveLength(at === null ? 0 : 1)
    await receive(home, ['three'])
    await inProcess(DRAIN, { env: webhookEnv(home) })
    expect(await readdir(sealed)).toEqual([])
    expect(await messagesIn(home)).toEqual(['one', 'three', 'two'])
    const archive = (
      await Promise.all((await filesIn(drained)).map(name => readFile(join(drained, name), 'utf8')))
    ).join()
    expect(archive.match(/"messageContent":"\w+"/g)).toHaveLength(3)
  },
}

describe.each([compaction, expiry, eventExpiry, merge, draining])(
  '$does',
  ({ fill, runs, steps, usual, ends = 0, holds }) => {
    it('that is killed just before any step loses and duplicates nothing, and the next one completes it', async () => {
      const home = join(await temporaryHome(), 'data')
      await fill(home)
      const points =
        typeof steps === 'number'
          ? Array.from({ length: steps }, (_, at) => Array(at + 1).fill(CHANGE))
          : steps.map(step => [step])
      const tried = points.filter((_, index) => isDeep || !usual || usual.includes(index + 1))
      for (const each of isDeep ? [...tried, null] : tried) {
        const copy = await copyOf(home)
        const step = each && (typeof steps === 'number' ? each.length : steps.indexOf(each[0]!) + 1)
        const { code, stderr } = await runKilled(runs, { home: copy, points: each ?? [] })
        expect(code, `before step ${step}: ${stderr}`).toBe(each === null ? ends : null)
        await holds(copy, step)
      }
    })
  },
)

describe('a sync and a replay', () => {
  it('that are killed just before a step lose and duplicate nothing, and the next sync repeats only requests in flight', async () => {
    const killed = await openKilledHome(7, isDeep ? {} : { workspace: { resources: 'none' } })
    onTestFinished(killed.close)
    const { home, config } = killed
    const billed = watchBilledRequests(killed)
    const args = (...words: string[]) => [...words, '--config', config]
    const kill = async (words: string[], points: readonly string[]) => {
      const { code, stderr } = await runKilled({ args: args(...words), env: () => TOKEN_ENV }, { home, points })
      expect(code, stderr).toBe(null)
    }
    const complete = async (...words: string[]) => {
      const { code, stderr } = await inProcess(args(...words), { env: TOKEN_ENV })
      expect(code, stderr).toBe(0)
      expect(await killed.compare()).toEqual({ lost: 0, doubled: 0 })
    }
    const SYNC = ['sync', '--yes']
    // The process is killed before the third page lands, and before it commits the first load after a landed page.
    for (const points of [Array(3).fill('^link .*/conversations/'), ['^link .*/conversations/', '^sql COMMIT']]) {
      await kill(SYNC, points)
      const { repeated, unlanded } = await billed.next()
      expect(repeated).toBe(0)
      expect(unlanded).toBeLessThanOrEqual(CONCURRENT_WINDOWS)
    }
    await complete(...SYNC)
    expect(await billed.next()).toMatchObject({ repeated: 0, unlanded: 0 })
    expect(billed.conversations()).toBe(killed.expectedExports())
    if (!isDeep) return
    // The kill comes before the rebuilt warehouse replaces the old one, which stays complete.
    await kill(['replay'], ['^rename .*rebuilt'])
    expect(await killed.compare()).toEqual({ lost: 0, doubled: 0 })
    await complete('replay')
    expect((await readdir(home)).filter(name => name.includes('rebuilt'))).toEqual([])
  })
})
