// People whom only events or landed files name, and a data folder whose key of tombstones is lost.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DAY } from '../../src/core/time.ts'
import { forgottenAs, pendingErasures, remember } from '../../src/landing/tombstones.ts'
import { eventId } from '../../src/receiver/parse-event.ts'
import { finishErasures } from '../../src/run/erasures.ts'
import { findPeople } from '../../src/run/find-people.ts'
import { openSpool } from '../../src/spool/spool.ts'
import { eraseFiles } from '../../src/steps/forgetting/erase-files.ts'
import { expire } from '../../src/steps/upkeep.ts'
import { type SimulatedApp, WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

/** Receives message events of the first agent, and seals the segment. */
async function receive({ config, sandbox, clock }: SimulatedApp, messages: readonly object[]): Promise<void> {
  const spool = openSpool({ home: config.home, now: clock.now })
  const [agentId] = sandbox.world.agentIds()
  const type = 'message_received'
  const kept = messages.map((message, index) => {
    const createdAt = clock.now() + index
    const payload = Buffer.from(JSON.stringify({ agentId, createdAt, ...message }))
    return spool.append({
      id: eventId({ type, createdAt, payload }),
      type,
      payload,
      workspaceId: WORKSPACE,
      receivedAtMs: createdAt,
    })
  })
  await Promise.all(kept)
  await spool.close()
}

const MESSAGES = [
  { convoId: 'c9', messageContent: 'from Jane', from: '+491701234567' },
  { convoId: 'c9', messageContent: 'second of Jane' },
  { convoId: 'c8', messageContent: 'of another', from: '+491701234568' },
]

const JANE = { requests: [{ phone: '+49 170 1234567' }], countries: [] }

describe('a person whom only an event names', () => {
  it('is found with the conversation, whose other events name nobody, and all of them are erased', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 5, agents: 1 } })
    const { config, app } = simulated
    await receive(simulated, MESSAGES)
    await simulated.drain()
    const people = await findPeople(app.warehouse.writer, { ...JANE, workspaceIds: [WORKSPACE] })
    expect(people.conversations.map(({ id }) => id)).toEqual(['c9'])
    await remember(config.home, people, Date.now())
    const { erased } = await simulated.replay()
    expect(erased.places).toMatchObject({ messages_received: 2, 'received events': 2 })
    // No page was replaced.
    expect(erased.checksums).toEqual([])
    const left = await simulated.app.warehouse.writer.rows('SELECT message_content AS text FROM messages_received')
    expect(left).toEqual([{ text: 'of another' }])
  })

  it('is found in events that were not drained yet; those that arrive meanwhile lead to the others, too', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 5, agents: 1 } })
    const { home } = simulated.config
    const landing = simulated.app.stores.landing.workspace(WORKSPACE)
    await receive(simulated, MESSAGES)
    const people = await findPeople(simulated.app.warehouse.writer, { ...JANE, workspaceIds: [WORKSPACE] })
    expect(people.conversations).toEqual([])
    const of = { home, workspaceId: WORKSPACE, landing, forgotten: forgottenAs(people), dryRun: true }
    expect((await eraseFiles(of)).begun).toEqual([{ agentId: simulated.sandbox.world.agentIds()[0], id: 'c9' }])
    await remember(home, people, Date.now())
    await simulated.replay()
    await simulated.drain()
    await simulated.restart()
    await simulated.drain()
    const left = await simulated.app.warehouse.writer.rows('SELECT message_content AS text FROM messages_received')
    expect(left).toEqual([{ text: 'of another' }])
  })
})

it('a person whose pages have expired is erased from the rows, which no file has any more, and all other rows stay', async () => {
  const simulated = await simulatedApp({ sandbox: { conversations: 12, agents: 1 } })
  const { home } = simulated.config
  await simulated.sync()
  await receive(simulated, MESSAGES)
  await simulated.drain()
  const ids = async () => {
    const sql = 'SELECT agent_id AS "agentId", conversation_id AS id, user_id AS "user" FROM conversations ORDER BY ALL'
    return simulated.app.warehouse.writer.rows<{ agentId: string; id: string; user: string }>(sql)
  }
  const [gone, ...others] = await ids()
  simulated.advance(62 * DAY)
  const landing = simulated.app.stores.landing.workspace(WORKSPACE)
  const of = { landing, writer: simulated.app.warehouse.writer, home, workspaceId: WORKSPACE, now: simulated.clock.now }
  const retention = { pagesMs: 31 * DAY, eventsMs: 31 * DAY }
  expect(await expire({ ...of, retention }, { dryRun: false })).toMatchObject({ eventFiles: 1 })
  expect((await landing.list()).filter(({ address }) => address.includes('conversations/'))).toEqual([])
  const conversations = [{ workspaceId: WORKSPACE, agentId: gone!.agentId, id: gone!.id }]
  await remember(home, { identifiers: ['phone:+491701234567'], conversations, countries: [] }, Date.now())
  await simulated.close()
  await finishErasures(simulated.config)
  expect(await pendingErasures(home)).toEqual([])
  await simulated.restart()
  // c9 is hers, too.
  expect(await ids()).toEqual(others.filter(({ id }) => id !== 'c9'))
  const left = await simulated.app.warehouse.writer.rows('SELECT message_content AS text FROM messages_received')
  expect(left).toEqual([{ text: 'of another' }])
})

describe('a conversation that two workspaces have', () => {
  it('is forgotten in both', async () => {
    const { app } = await simulatedApp({ sandbox: { conversations: 5, agents: 1 } })
    const { writer } = app.warehouse
    for (const id of ['ws_a', 'ws_b'])
      await writer.run(
        `INSERT INTO conversations (workspace_id, agent_id, conversation_id, _version, _as_of, _fetched_at, _loaded_at, _source, _complete, _record)
         VALUES ('${id}', 'a1', 'c1', now(), now(), now(), now(), 'export', true, 1)`,
      )
    const requests = [{ conversation: 'a1/c1' }]
    const found = await findPeople(writer, { requests, countries: [], workspaceIds: ['ws_a', 'ws_b'] })
    expect(found.conversations.map(({ workspaceId }) => workspaceId).sort()).toEqual(['ws_a', 'ws_b'])
  })
})

describe('a sync without the key of the tombstones', () => {
  it('requests no page, since none could land', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 20, agents: 1 } })
    const { home } = simulated.config
    await remember(home, { identifiers: ['user:u-17'], conversations: [], countries: [] }, Date.now())
    await rm(join(home, 'landing', '.forgotten.key'))
    const { failures } = await simulated.sync()
    expect(failures).toMatchObject([{ code: 'HOME_UNUSABLE', what: expect.stringContaining('.forgotten.key') }])
    expect((await simulated.usage()).billableUsedThisPeriod).toBe(0)
  })
})
