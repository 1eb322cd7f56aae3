// Events that a replay finds in the warehouse alone, since their files are gone from the spool.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { spoolOf } from '../../src/app/spool.ts'
import { spoolFolders } from '../../src/spool/folders.ts'
import { eventId } from '../../src/spool/identity.ts'
import { openSpool } from '../../src/spool/spool.ts'
import { drainAll } from '../../workflows/ingest.ts'
import { type SimulatedApp, WORKSPACE } from '../workflows/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated-app.ts'

/** Receives messages, and seals them. */
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

describe('a replay, where files of the spool are gone', () => {
  it.each([
    ['none', []],
    ['as many', ['four', 'five', 'six']],
    ['more', ['four', 'five', 'six', 'seven']],
  ])('keeps their events, though %s wait to be applied', async (_, waiting) => {
    const simulated = await simulatedApp({ sandbox: { conversations: 5, agents: 1 } })
    const { config, app, clock } = simulated
    await simulated.sync()
    await receive(simulated, ['one', 'two', 'three'])
    await drainAll(spoolOf({ app, home: config.home, workspace: config.workspaces[0]!, now: clock.now }), WORKSPACE)
    await rm(spoolFolders(config.home, WORKSPACE).drained, { recursive: true })
    simulated.advance(1_000)
    await receive(simulated, waiting)
    await simulated.replay()
    const told = await simulated.rows<{ text: string }>('SELECT message_content AS text FROM messages_received')
    expect(told.map(({ text }) => text).sort()).toEqual(['one', 'two', 'three', ...waiting].sort())
  })
})

const texts = async (simulated: SimulatedApp): Promise<string[]> => {
  const told = await simulated.rows<{ text: string }>('SELECT message_content AS text FROM messages_received')
  return told.map(({ text }) => text.slice(0, 5)).sort()
}

const MANY = Array.from({ length: 60 }, (_, n) => `${String(n).padStart(5, '0')} ${'words '.repeat(40)}`)

/** A house whose events are all in a packed file of its archive, of which not all can be read any more. */
async function damagedArchive(damage: (packed: Buffer) => Buffer) {
  const simulated = await simulatedApp({ sandbox: { conversations: 5, agents: 1 } })
  const { config, app, clock } = simulated
  await simulated.sync()
  await receive(simulated, MANY)
  await drainAll(spoolOf({ app, home: config.home, workspace: config.workspaces[0]!, now: clock.now }), WORKSPACE)
  const { drained } = spoolFolders(config.home, WORKSPACE)
  const [plain] = await readdir(drained)
  const packed = gzipSync(await readFile(join(drained, plain!)))
  await rm(join(drained, plain!))
  const name = plain!.replace('.ndjson', '.1.ndjson.gz')
  await writeFile(join(drained, name), damage(packed))
  expect(() => gunzipSync(damage(packed))).toThrow()
  return { simulated, file: `${WORKSPACE}/drained/${name}` }
}

const DAMAGES: [string, (packed: Buffer) => Buffer][] = [
  ['is cut off', packed => packed.subarray(0, packed.length >> 1)],
  [
    'has other bytes in its middle',
    packed => Buffer.from(packed).fill(0xff, packed.length >> 1, (packed.length >> 1) + 20),
  ],
  ['is no gzip', () => Buffer.from('{}')],
  ['is empty', () => Buffer.alloc(0)],
]

describe('a replay, where a file of the archive is damaged', () => {
  it.each(DAMAGES)('which %s, goes on, names it, and keeps what the tables have of it', async (_, damage) => {
    const { simulated, file } = await damagedArchive(damage)
    const before = await texts(simulated)
    const report = await simulated.replay()
    expect(report.damaged).toEqual([{ file, why: expect.stringMatching(/^Z_/) }])
    expect([before.length, await texts(simulated)]).toEqual([MANY.length, before])
  })

  it('and there is no warehouse, applies all lines that can be read', async () => {
    const { simulated, file } = await damagedArchive(DAMAGES[0]![1])
    await simulated.app.close()
    await rm(simulated.app.warehouse.file)
    const { damaged, events } = await simulated.replay()
    expect(damaged).toEqual([{ file, why: 'Z_BUF_ERROR' }])
    const kept = await texts(simulated)
    expect(kept).toEqual(MANY.slice(0, kept.length).map(text => text.slice(0, 5)))
    expect([kept.length, kept.length > MANY.length / 4]).toEqual([events, true])
  })
})
