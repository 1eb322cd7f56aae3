// Measures `convohouse forget` for one person with three conversations among `--records`: the number of rewritten files, which must not
// depend on the size of the data folder, the seconds of each part, and the disk that it needs. With `--home FOLDER`, the data folder is
// kept for later runs, each of which forgets another person.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openWindow } from '../../src/core/planning/windows.ts'
import { DAY } from '../../src/core/time.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { erasures } from '../../src/landing/tombstones.ts'
import { createWorld } from '../../src/sandbox/world/world.ts'
import { warehouseFile } from '../../src/warehouse/warehouse-file.ts'
import { CLI, environment, inFolder } from './command.ts'
import { EXPORTED_AT_MS, PAGE, pageOf } from './landed-export.ts'
import { type BenchOptions, rounded, seconds } from './measure.ts'
import { copyId } from './multiplied.ts'

const run = promisify(execFile)
const WORKSPACE = 'ws_bench'
/** Conversations that the sandbox generates; the others are copies with other ids. */
const GENERATED = 10_000
const PEOPLE = 10
const OF_EACH = 3

/** No contact whom another conversation shares. */
const NOBODY = { userEmail: null, userPhone: null, userID: null, contactIdentityId: null }

const emailOf = (person: number): string => `person-${person}@forgotten.example`

/** Lands the conversations, the people's among them in different pages where there are enough. */
async function land(home: string, { records, agents, seed }: BenchOptions): Promise<void> {
  const landing = openLanding(home).workspace(WORKSPACE)
  const conversations = Math.min(records, GENERATED)
  const world = createWorld({ agents, conversations: Math.ceil(conversations * 1.1), startMs: EXPORTED_AT_MS, seed })
  const all = world.agentIds().map(agentId => {
    const own = [...world.conversations(agentId, EXPORTED_AT_MS)].filter(({ billableSessions }) => billableSessions > 0)
    return { agentId, documents: own.map(({ document }) => document) }
  })
  const step = Math.max(1, Math.floor(all[0]!.documents.length / (PEOPLE * OF_EACH)))
  for (let person = 0; person < PEOPLE; person++)
    for (let index = 0; index < OF_EACH; index++)
      Object.assign(all[0]!.documents[(person * OF_EACH + index) * step]!, { ...NOBODY, userEmail: emailOf(person) })
  for (let copy = 0, left = records; left > 0; copy++)
    for (const { agentId, documents } of all) {
      const own = documents.slice(0, Math.max(0, left))
      left -= own.length
      const openedAtMs = EXPORTED_AT_MS - copy * DAY
      const window = openWindow({ agentId, kind: 'tail', fromSec: null, toSec: openedAtMs / 1_000, openedAtMs })
      for (let start = 0; start < own.length; start += PAGE) {
        const texts = own.slice(start, start + PAGE).map(document => JSON.stringify(copied(document, copy)))
        const of = { window, sequence: start / PAGE + 1, hasMore: start + PAGE < own.length }
        const { head, body } = pageOf(texts, of)
        await landing.land(head, body)
      }
    }
}

const copied = (document: Record<string, unknown>, copy: number): Record<string, unknown> =>
  copy === 0 ? document : { ...document, ID: copyId(String(document.ID), copy), ...NOBODY }

/** Returns the bytes of the files directly in the folder and below `tmp`, which a rebuild adds to. */
async function bytesIn(home: string): Promise<number> {
  const names = [
    ...(await readdir(home)),
    ...(await readdir(join(home, 'tmp'), { recursive: true }).catch(() => [])).map(name => join('tmp', name)),
  ]
  const sizes = names.map(name =>
    stat(join(home, name)).then(
      found => (found.isFile() ? found.size : 0),
      () => 0,
    ),
  )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

const LOOK_EVERY_MS = 100

async function forgetIn(home: string): Promise<Record<string, number>> {
  const env = environment({ home, workspaceId: WORKSPACE })
  const person = (await erasures(home)).length
  if (person === PEOPLE) throw new Error(`all people of ${home} are forgotten: remove it`)
  const file = warehouseFile(home)
  const before = await bytesIn(home)
  let most = before
  const looking = setInterval(() => void bytesIn(home).then(bytes => (most = Math.max(most, bytes))), LOOK_EVERY_MS)
  const beganMs = Date.now()
  const took = await seconds(() => run(process.execPath, [CLI, 'forget', '--email', emailOf(person), '--yes'], { env }))
  clearInterval(looking)
  const { requestedMs, erasedMs, places, conversations } = (await erasures(home)).at(-1)!
  if (conversations !== OF_EACH) throw new Error(`${conversations} of ${OF_EACH} conversations were found`)
  // The file of the new warehouse is created as soon as nothing is left to rewrite.
  const { birthtimeMs, size } = await stat(file)
  return {
    rewrittenFiles: places['landed files']!,
    forgetSeconds: rounded(took, 1),
    findSeconds: rounded((requestedMs - beganMs) / 1_000, 1),
    rewriteSeconds: rounded((birthtimeMs - requestedMs) / 1_000, 1),
    rebuildSeconds: rounded((erasedMs! - birthtimeMs) / 1_000, 1),
    warehouseMegabytes: rounded(size / 1e6, 0),
    diskNeedMegabytes: rounded((most - before) / 1e6, 0),
  }
}

export async function forgetBench(options: BenchOptions): Promise<Record<string, number>> {
  const measure = async (home: string) => {
    if (!existsSync(warehouseFile(home))) {
      const landed = await seconds(() => land(home, options))
      const env = environment({ home, workspaceId: WORKSPACE })
      const loaded = await seconds(() => run(process.execPath, [CLI, 'replay'], { env }))
      console.log(`landed in ${rounded(landed, 0)} s, loaded in ${rounded(loaded, 0)} s`)
    }
    return { records: options.records, ...(await forgetIn(home)) }
  }
  return options.home === null ? inFolder(measure) : measure(options.home)
}
