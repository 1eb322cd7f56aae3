// Events that a replay finds in the warehouse alone, since their files are gone from the spool.
import { rm } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { spoolOf } from '../../src/app/spool.ts'
import { spoolFolders } from '../../src/spool/folders.ts'
import { eventId } from '../../src/spool/identity.ts'
import { openSpool } from '../../src/spool/spool.ts'
import { drainAll } from '../../workflows/ingest.ts'
import { type SimulatedHouse, WORKSPACE } from '../workflows/open-simulated-house.ts'
import { simulatedHouse } from '../workflows/simulated-house.ts'

/** Receives messages, and seals them. */
async function receive({ config, sandbox, clock }: SimulatedHouse, texts: readonly string[]): Promise<void> {
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
    const simulated = await simulatedHouse({ sandbox: { conversations: 5, agents: 1 } })
    const { config, house, clock } = simulated
    await simulated.sync()
    await receive(simulated, ['one', 'two', 'three'])
    await drainAll(spoolOf({ house, home: config.home, workspace: config.workspaces[0]!, now: clock.now }), WORKSPACE)
    await rm(spoolFolders(config.home, WORKSPACE).drained, { recursive: true })
    simulated.advance(1_000)
    await receive(simulated, waiting)
    await simulated.replay()
    const told = await simulated.rows<{ text: string }>('SELECT message_content AS text FROM messages_received')
    expect(told.map(({ text }) => text).sort()).toEqual(['one', 'two', 'three', ...waiting].sort())
  })
})
