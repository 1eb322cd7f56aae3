// Replays when events are only in the warehouse, because their spool files are missing or damaged.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { DAY } from '../../src/core/time.ts'
import { eventId } from '../../src/receiver/parse-event.ts'
import { replay } from '../../src/run/replay.ts'
import { expireArchive } from '../../src/spool/archive.ts'
import { spoolFolders } from '../../src/spool/folders.ts'
import { openSpool } from '../../src/spool/spool.ts'
import { warehouseFile } from '../../src/warehouse/warehouse-file.ts'
import { type SimulatedApp, WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

/** Receives a message event with each text, and seals the segment. */
async function receive({ config, sandbox, clock }: SimulatedApp, texts: readonly string[]): Promise<void> {
  const spool = openSpool({ home: config.home, now: clock.now })
  const [agentId] = sandbox.world.agentIds()
  const [createdAt, type] = [clock.now(), 'message_received']
  const kept = texts.map(messageContent => {
    const payload = Buffer.from(JSON.stringify({ agentId, convoId: 'c1', createdAt, messageContent }))
    const id = eventId({ type, createdAt, payload })
    return spool.append({ id, type, payload, workspaceId: WORKSPACE, receivedAtMs: createdAt })
  })
  await Promise.all(kept)
  await spool.close()
}

/** Returns the first word of each stored message, sorted. */
const messages = async (simulated: SimulatedApp): Promise<string[]> => {
  const rows = await simulated.rows<{ text: string }>('SELECT message_content AS text FROM messages_received')
  return rows.map(({ text }) => text.split(' ')[0]!).sort()
}

describe('a replay without some files of the spool', () => {
  it('keeps their events, of missing files and of expired ones, and counts them; more events may wait to be applied', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 5, agents: 1 } })
    const { home } = simulated.config
    const { drained } = spoolFolders(home, WORKSPACE)
    await receive(simulated, ['one', 'two'])
    await simulated.drain()
    const days = { beforeMs: simulated.clock.now() + 2 * DAY, nowMs: simulated.clock.now() + 3 * DAY }
    expect(await expireArchive(home, WORKSPACE, { ...days, dryRun: false })).toMatchObject({ files: 1 })
    simulated.advance(3 * DAY)
    await receive(simulated, ['three'])
    await simulated.drain()
    for (const name of await readdir(drained)) if (name !== 'expired.ndjson') await rm(join(drained, name))
    simulated.advance(1_000)
    await receive(simulated, ['a', 'b', 'c', 'd'])
    expect((await simulated.replay()).keptEvents).toBe(3)
    expect(await messages(simulated)).toEqual(['a', 'b', 'c', 'd', 'one', 'three', 'two'])
    const [lost] = await simulated.rows('SELECT count(*)::INTEGER AS n FROM webhook_events WHERE payload_file IS NULL')
    expect(lost).toEqual({ n: 3 })
    await simulated.close()
    await rm(warehouseFile(home))
    expect(await replay({ config: simulated.config })).toMatchObject({ keptEvents: 0, events: 4, expiredArchives: 1 })
  })
})

const DAMAGES: [string, (packed: Buffer) => Buffer][] = [
  ['cut off', packed => packed.subarray(0, packed.length >> 1)],
  [
    'with other bytes in its middle',
    packed => Buffer.from(packed).fill(0xff, packed.length >> 1, (packed.length >> 1) + 20),
  ],
  ['no gzip', () => Buffer.from('{}')],
  ['empty', () => Buffer.alloc(0)],
]

const EVENTS_A_FILE = 60

const MANY = Array.from(
  { length: DAMAGES.length * EVENTS_A_FILE },
  (_, n) => `${String(n).padStart(5, '0')} ${'words '.repeat(40)}`,
)

/** Splits the archive of `MANY` into one file per kind of damage, and damages each. @returns the files with their events */
async function damageArchive({ config }: SimulatedApp): Promise<{ file: string; events: string[] }[]> {
  const { drained } = spoolFolders(config.home, WORKSPACE)
  const [plain] = await readdir(drained)
  const lines = (await readFile(join(drained, plain!), 'utf8')).split(/(?<=\n)/)
  expect(lines).toHaveLength(MANY.length)
  await rm(join(drained, plain!))
  const files: { file: string; events: string[] }[] = []
  for (const [at, [, damage]] of DAMAGES.entries()) {
    const own = lines.slice(at * EVENTS_A_FILE, (at + 1) * EVENTS_A_FILE)
    const damaged = damage(gzipSync(own.join('')))
    expect(() => gunzipSync(damaged)).toThrow()
    const name = plain!.replace('.ndjson', `.${at + 1}.ndjson.gz`)
    await writeFile(join(drained, name), damaged)
    const events = own.map(line => /(\d{5}) words/.exec(line)![1]!)
    files.push({ file: `${WORKSPACE}/drained/${name}`, events })
  }
  return files
}

describe('a replay with damaged archive files', () => {
  it('continues, names each file, and keeps its events that are in the tables; without a warehouse it applies all readable lines', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 5, agents: 1 } })
    await receive(simulated, MANY)
    await simulated.drain()
    const files = await damageArchive(simulated)
    const before = await messages(simulated)
    expect(before).toHaveLength(MANY.length)
    const report = await simulated.replay()
    expect(report.damaged).toEqual(files.map(({ file }) => ({ file, why: expect.stringMatching(/^Z_/) })))
    expect(await messages(simulated)).toEqual(before)
    expect(report.events + report.keptEvents).toBe(MANY.length)
    expect(report.keptEvents).toBeGreaterThan(2 * EVENTS_A_FILE)

    await simulated.app.close()
    await rm(simulated.app.warehouse.file)
    const { damaged, events } = await simulated.replay()
    expect(damaged).toEqual(report.damaged)
    expect(damaged[0]!.why).toBe('Z_BUF_ERROR')
    const kept = await messages(simulated)
    expect(kept).toHaveLength(events)
    const counts = files.map(file => file.events.filter(event => kept.includes(event)).length)
    expect(kept).toEqual(files.flatMap((file, at) => file.events.slice(0, counts[at]).sort()).sort())
    expect(counts[0]).toBeGreaterThan(EVENTS_A_FILE / 4)
    expect(counts.slice(2)).toEqual([0, 0])
  })
})
