import { readFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openHouse } from '../../src/app.ts'
import { conversation } from '../../src/catalog/conversation.ts'
import { layoutOf } from '../../src/catalog/layout.ts'
import { openLanding } from '../../src/landing/store.ts'
import { replay } from '../../src/run/replay.ts'
import { replayTables } from '../../src/run/replay-tables.ts'
import type { Row, Writer } from '../../src/warehouse/connection.ts'
import { applyPatches } from '../../src/warehouse/patches.ts'
import { replaceableTables } from '../../src/warehouse/replace-tables.ts'
import { landConversations } from '../warehouse/landed-pages.ts'
import { type SimulatedHouse, simulatedHouse, WORKSPACE } from '../workflows/simulated-house.ts'

async function withWriter<T>({ config }: SimulatedHouse, work: (writer: Writer) => Promise<T>): Promise<T> {
  const house = await openHouse({ config })
  try {
    return await work(house.warehouse.writer)
  } finally {
    await house.close()
  }
}

/** Every row of every table that can be rebuilt, but for when it was loaded and for its number. */
const snapshot = (simulated: SimulatedHouse): Promise<Record<string, Row[]>> =>
  withWriter(simulated, async writer => {
    const found: Record<string, Row[]> = {}
    for (const table of [...replaceableTables(), 'conversation_patches', '_loads', '_runs'])
      found[table] = (
        await writer.rows(`SELECT * EXCLUDE (${await stamps(writer, table)}) FROM ${table} ORDER BY ALL`)
      ).map(plain)
    return found
  })

/** In which order keys stand in `extra` depends on the batch. */
const plain = (row: Row): Row => ('extra' in row ? { ...row, extra: JSON.parse(String(row.extra)) as unknown } : row)

/** Child rows without their record's number, and records without one of their own. */
const misnumbered = (simulated: SimulatedHouse): Promise<Row[]> =>
  withWriter(simulated, async writer => {
    const rules = ['children_have_records', 'records_numbered'].map(name =>
      readFileSync(new URL(`../../sql/checks/${name}.sql`, import.meta.url), 'utf8'),
    )
    return (await Promise.all(rules.map(rule => writer.rows(rule)))).flat()
  })

async function stamps(writer: Writer, table: string): Promise<string> {
  const rows = await writer.rows<{ name: string }>(
    `SELECT DISTINCT column_name AS name FROM duckdb_columns() WHERE table_name = '${table}' AND column_name IN ('_loaded_at', 'loaded_at', 'started_at', '_record')`,
  )
  return rows.length > 0 ? rows.map(({ name }) => name).join(', ') : 'workspace_id'
}

/** A synced house, with a page of odd records, an event about one conversation, and one about another that only it tells of. */
async function synced(): Promise<SimulatedHouse> {
  const simulated = await simulatedHouse({ sandbox: { conversations: 80 } })
  await landConversations(openLanding(simulated.config.home, WORKSPACE), {
    records: [{ ID: 'odd', messagesNum: 'many', extraField: 1 }, null, { ID: 'even' }],
  })
  await simulated.sync()
  const { writer } = simulated.house.warehouse
  const patch = (conversationId: string) => ({
    agentId: 'agent-1',
    conversationId,
    values: { state: 'told-by-event', tags: ['patched'] },
    modifiedMs: null,
    createdMs: Date.UTC(2027, 0, 1),
    receivedMs: Date.UTC(2027, 0, 1),
  })
  const options = { layout: layoutOf(conversation), workspaceId: WORKSPACE, nowMs: 0 }
  await writer.transaction(() =>
    applyPatches(writer, { ...options, patches: [patch('even'), patch('only an event tells of it')] }),
  )
  await writer.run(`INSERT INTO conversation_observations (workspace_id, agent_id, conversation_id, observed_at, source, version)
    VALUES ('${WORKSPACE}', 'agent-1', 'even', '2027-01-01', 'webhook', '2027-01-01')`)
  await simulated.close()
  return simulated
}

const spoil = (simulated: SimulatedHouse, ...statements: string[]): Promise<void> =>
  withWriter(simulated, async writer => {
    for (const statement of statements) await writer.run(statement)
  })

/** Takes the page of odd records out of the landing; the function puts it back. */
async function takeAway({ config }: SimulatedHouse): Promise<string> {
  const { root, list } = openLanding(config.home, WORKSPACE)
  const { path } = (await list()).find(file => file.path.includes('/agent-1/'))!
  await rename(join(root, path), join(config.home, 'taken-away'))
  return path
}

describe('a replay of single tables', () => {
  it('gives back what they held, and touches no other', async () => {
    const simulated = await synced()
    const before = await snapshot(simulated)
    expect(before._quarantine).toHaveLength(1)
    await spoil(
      simulated,
      "UPDATE conversations SET state = 'spoiled'",
      'DELETE FROM conversation_tags',
      'DELETE FROM _drift',
      'UPDATE _issues SET occurrences = 0',
      'DELETE FROM _windows',
      "DELETE FROM conversation_observations WHERE source = 'export'",
      "UPDATE agents SET title = 'stays spoiled'",
    )
    const tables = ['conversations', 'conversation_tags', '_drift', '_issues', '_windows', 'conversation_observations']
    const report = await replayTables({ config: simulated.config, tables })
    expect(report.files).toBe(before._loads!.length)
    const agents = before.agents!.map(agent => ({ ...agent, title: 'stays spoiled' }))
    expect(await snapshot(simulated)).toEqual({ ...before, agents })
    expect(await misnumbered(simulated)).toEqual([])
  })

  it('gives back all of them', async () => {
    const simulated = await synced()
    const before = await snapshot(simulated)
    await replayTables({ config: simulated.config, tables: replaceableTables() })
    expect(await snapshot(simulated)).toEqual(before)
    expect(await misnumbered(simulated)).toEqual([])
  })

  it('numbers records and what hangs on them alike, whichever of them are replaced', async () => {
    const simulated = await synced()
    const before = await snapshot(simulated)
    const odd = `hash(conversation_id) % 2 = 0`
    const spoiling = [
      `DELETE FROM conversations WHERE ${odd}`,
      `DELETE FROM conversation_tags WHERE ${odd}`,
      'UPDATE conversation_sessions SET _record = _record + 1000',
    ]
    await spoil(simulated, ...spoiling)
    expect(await misnumbered(simulated)).not.toEqual([])
    await replayTables({ config: simulated.config, tables: ['conversations'] })
    await replayTables({ config: simulated.config, tables: ['conversation_tags'] })
    expect(await snapshot(simulated)).toEqual(before)
    expect(await misnumbered(simulated)).toEqual([])
  })

  it('brings no record that is quarantined into one table and not into the others', async () => {
    const simulated = await synced()
    const { path } = (await openLanding(simulated.config.home, WORKSPACE).list()).find(file =>
      file.path.includes('/agent-1/'),
    )!
    await spoil(
      simulated,
      ...['conversations', 'conversation_tags', 'conversation_observations'].map(
        table => `DELETE FROM ${table} WHERE conversation_id = 'odd'`,
      ),
      `INSERT INTO _quarantine VALUES ('${WORKSPACE}', 'conversation', '${path}', 1, 'once', '2026-01-01')`,
    )
    const before = await snapshot(simulated)
    await replayTables({ config: simulated.config, tables: ['conversations', '_quarantine'] })
    const { _quarantine, conversations } = await snapshot(simulated)
    expect(_quarantine).toEqual(before._quarantine)
    expect(conversations).toEqual(before.conversations)
  })

  it('is refused for a table that landing does not tell, and names those that it does', async () => {
    const simulated = await simulatedHouse()
    await expect(replayTables({ config: simulated.config, tables: ['_runs'] })).rejects.toMatchObject({
      code: 'TABLE_UNKNOWN',
      mend: expect.stringContaining('conversation_observations') as string,
    })
  })

  it('is refused where a loaded file is not in the landing any more', async () => {
    const simulated = await synced()
    const path = await takeAway(simulated)
    const before = await snapshot(simulated)
    await expect(replayTables({ config: simulated.config, tables: ['_drift'] })).rejects.toMatchObject({
      code: 'LANDING_INCOMPLETE',
      message: expect.stringContaining(path) as string,
    })
    expect(await snapshot(simulated)).toEqual(before)
  })
})

describe('a whole replay', () => {
  it('keeps what events told, and since when records are quarantined', async () => {
    const simulated = await synced()
    const before = await snapshot(simulated)
    await replay({ config: simulated.config })
    expect(await snapshot(simulated)).toEqual(before)
    expect(await misnumbered(simulated)).toEqual([])
  })

  it('is refused where a loaded file is not in the landing any more', async () => {
    const simulated = await synced()
    await takeAway(simulated)
    const before = await snapshot(simulated)
    await expect(replay({ config: simulated.config })).rejects.toMatchObject({ code: 'LANDING_INCOMPLETE' })
    expect(await snapshot(simulated)).toEqual(before)
  })

  it('keeps another workspace, and numbers it apart', async () => {
    const simulated = await synced()
    const key = `'elsewhere' AS workspace_id, agent_id, conversation_id`
    await spoil(
      simulated,
      // Numbers that the rebuilt records get too.
      `INSERT INTO conversation_tags BY NAME SELECT ${key}, _record, tag FROM conversation_tags`,
      `INSERT INTO conversations BY NAME SELECT ${key}, row_number() OVER () AS _record, _complete FROM conversations`,
      `UPDATE conversation_tags AS t SET _record = c._record FROM conversations c WHERE t.workspace_id = 'elsewhere'
         AND c.workspace_id = 'elsewhere' AND c.agent_id = t.agent_id AND c.conversation_id = t.conversation_id`,
    )
    const tags = (await snapshot(simulated)).conversation_tags
    await replay({ config: simulated.config })
    expect((await snapshot(simulated)).conversation_tags).toEqual(tags)
    expect(tags!.filter(tag => tag.workspace_id === 'elsewhere')).not.toEqual([])
    expect(await misnumbered(simulated)).toEqual([])
  })

  it('keeps what only that file told, where it is allowed to go on', async () => {
    const simulated = await synced()
    const before = await snapshot(simulated)
    await takeAway(simulated)
    const report = await replay({ config: simulated.config, allowIncomplete: true })
    expect(report.files).toBe(before._loads!.length - 1)
    expect(await snapshot(simulated)).toEqual(before)
    expect(await misnumbered(simulated)).toEqual([])
  })
})
