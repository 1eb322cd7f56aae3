// Replays compared row by row: of an intact, a damaged, a missing and an incomplete warehouse or landing.

import { mkdirSync, rmSync } from 'node:fs'
import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Config } from '../../src/config.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { replay } from '../../src/run/replay.ts'
import { registerConsumer } from '../../src/warehouse/changes/consumers.ts'
import { changesSince } from '../../src/warehouse/changes/read-changes.ts'
import { recordChecks } from '../../src/warehouse/checks/all-checks.ts'
import type { Row, Writer } from '../../src/warehouse/connection.ts'
import { applyEvents } from '../../src/warehouse/events/apply.ts'
import { warehouseFile } from '../../src/warehouse/warehouse-file.ts'
import { landedFile } from '../landing/landed-file.ts'
import { RESOURCES } from '../tier.ts'
import { eventOf } from '../warehouse/events/events-in.ts'
import { landConversations } from '../warehouse/landed-pages.ts'
import { WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'
import { FROM_SOURCES, madeOnce, rowsOfTables, withWriter } from './synced-home.ts'

/** Columns that a replay may change. The events of these tests are in no file of the spool, so a replay drops their addresses. */
const CHANGING = ['_loaded_at', 'loaded_at', 'started_at', '_record', 'payload_file', 'payload_offset']

/** Returns every row of every table that can be rebuilt, without load times, record numbers and addresses of payloads. */
async function tablesIn(writer: Writer): Promise<Record<string, Row[]>> {
  const found = await rowsOfTables(writer, { tables: FROM_SOURCES, without: CHANGING })
  return Object.fromEntries(Object.entries(found).map(([table, rows]) => [table, rows.map(plain)]))
}

const snapshot = (config: Config) => withWriter(config, tablesIn)

/** Parses `extra`, because the order of its keys depends on the batch. */
const plain = (row: Row): Row => ('extra' in row ? { ...row, extra: JSON.parse(String(row.extra)) as unknown } : row)

/** Returns child rows whose number is not that of their record, and records whose number is missing or not unique. */
async function misnumberedIn(writer: Writer): Promise<Row[]> {
  const rules = recordChecks().filter(({ name }) => /^(children|numbers)_of_/.test(name))
  return (await Promise.all(rules.map(({ sql }) => writer.rows(sql)))).flat()
}

const expectHolds = (config: Config, tables: Record<string, Row[]>): Promise<void> =>
  withWriter(config, async writer => {
    expect(await tablesIn(writer)).toEqual(tables)
    expect(await misnumberedIn(writer)).toEqual([])
  })

/**
 * A synced data folder with a page of malformed records, an event for a stored conversation, and one for a conversation
 * that was never exported.
 */
const synced = madeOnce(async () => {
  const simulated = await simulatedApp({
    sandbox: { conversations: 24 },
    settings: { resources: RESOURCES },
  })
  await landConversations(openLanding(simulated.config.home).workspace(WORKSPACE), {
    records: [{ ID: 'odd', messagesNum: 'many', extraField: 1 }, null, { ID: 'even' }],
  })
  await simulated.sync()
  const { writer } = simulated.app.warehouse
  const updated = (convoId: string) =>
    eventOf(
      'conversation_updated',
      {
        agentId: 'agent-1',
        convoId,
        createdAt: Date.UTC(2027, 0, 1),
        lightConvoData: { state: 'from-event', tags: ['patched'] },
        turns: [{ role: 'user', text: 'hello' }],
      },
      { receivedAtMs: Date.UTC(2027, 0, 1) },
    )
  const context = { writer, workspaceId: WORKSPACE, timeZone: 'UTC', now: () => 0 }
  await applyEvents(context, [updated('even'), updated('known only from an event')])
  await simulated.close()
  return simulated.config
})

/** Removes the page of malformed records from the landing. */
async function takeAway({ home }: Config): Promise<string> {
  const { list } = openLanding(home).workspace(WORKSPACE)
  const { address: path } = (await list()).find(file => file.address.includes('/agent-1/'))!
  await rename(landedFile(home, path), join(home, 'taken-away'))
  return path
}

/** Statements that corrupt the rows of the workspace. */
const SPOIL = [
  "UPDATE conversations SET state = 'spoiled'",
  'DELETE FROM conversation_tags',
  'UPDATE conversation_sessions SET _record = _record + 1000',
  'DELETE FROM _drift',
  'UPDATE _issues SET occurrences = 0',
  'DELETE FROM _windows',
  "UPDATE agents SET title = 'spoiled'",
].map(statement => `${statement} WHERE workspace_id = '${WORKSPACE}'`)

/** Statements that add another workspace, whose records have the numbers that the rebuilt records will get. */
const KEY = `'elsewhere' AS workspace_id, agent_id, conversation_id`
const ELSEWHERE = [
  ...['_requests', '_loads', '_windows', '_quota', '_issues', '_drift', '_quarantine'].map(
    table => `INSERT INTO ${table} BY NAME SELECT * REPLACE ('elsewhere' AS workspace_id) FROM ${table}`,
  ),
  `INSERT INTO _checks BY NAME SELECT 'mine' AS name, '' AS about, 'conversations' AS table_name, 'error' AS severity, true AS blocks,
     'failed' AS outcome, '[]' AS examples, now() AS checked_at, 0 AS duration_ms, '' AS epoch, 0 AS seq`,
  `INSERT INTO conversation_tags BY NAME SELECT ${KEY}, _record, tag FROM conversation_tags`,
  `INSERT INTO conversations BY NAME SELECT ${KEY}, row_number() OVER () AS _record, _complete FROM conversations`,
  `UPDATE conversation_tags AS t SET _record = c._record FROM conversations c WHERE t.workspace_id = 'elsewhere'
     AND c.workspace_id = 'elsewhere' AND c.agent_id = t.agent_id AND c.conversation_id = t.conversation_id`,
]

it('a replay restores rows that were corrupted, numbers records and child rows consistently, keeps data from events, the times of quarantine, results of checks and another workspace, and makes consumers fill their copies again', async () => {
  const config = await synced()
  const since = (watermark: Awaited<ReturnType<typeof registerConsumer>>) =>
    withWriter(config, writer => changesSince(writer, { name: 'a', watermark }))
  const { before, registered } = await withWriter(config, async writer => {
    for (const statement of ELSEWHERE) await writer.run(statement)
    const found = await tablesIn(writer)
    const watermark = await registerConsumer(writer, 'a')
    for (const statement of SPOIL) await writer.run(statement)
    expect(await misnumberedIn(writer)).not.toEqual([])
    return { before: found, registered: watermark }
  })
  expect(before.conversation_tags!.filter(tag => tag.workspace_id === 'elsewhere')).not.toEqual([])
  const own = (table: string) => before[table]!.filter(row => row.workspace_id === WORKSPACE)
  expect(own('_quarantine')).toHaveLength(1)
  expect((await replay({ config })).files).toBe(own('_loads').length)
  await expectHolds(config, before)
  expect(await since(registered)).toMatchObject({ kind: 'refill', reason: 'other epoch', to: { seq: 0 } })
  expect(await withWriter(config, writer => writer.rows('SELECT name FROM _checks'))).toEqual([{ name: 'mine' }])
})

const rebuiltIn = async ({ home }: Config) => (await readdir(home)).filter(name => name.includes('rebuilt'))

describe('a replay that fails', () => {
  it('leaves the existing warehouse, if a page cannot be read, a loaded file is missing, rows would be lost, or its log cannot be removed; if it may continue, it keeps the rows that only this file supplied', async () => {
    const config = await synced()
    const { list } = openLanding(config.home).workspace(WORKSPACE)
    const page = landedFile(config.home, (await list('conversations')).find(({ sequence }) => sequence === 1)!.address)
    const before = await withWriter(config, async writer => {
      await writer.run(
        `INSERT INTO conversations (workspace_id, agent_id, conversation_id, _complete, _fetched_at, _record)
         SELECT workspace_id, agent_id, 'in no landed page', true, _fetched_at, _record + 1000000 FROM conversations
         WHERE _complete LIMIT 1`,
      )
      return tablesIn(writer)
    })
    const bytes = await readFile(page)
    await writeFile(page, 'no page')
    await expect(replay({ config })).rejects.toMatchObject({ code: 'LANDING_CORRUPT' })
    await writeFile(page, bytes)
    await expect(replay({ config })).rejects.toMatchObject({
      code: 'REPLAY_LOSES_ROWS',
      exitCode: 6,
      message: expect.stringMatching(/1 of conversations \(".* in no landed page"\)/) as string,
    })
    const path = await takeAway(config)
    await expect(replay({ config })).rejects.toMatchObject({
      code: 'LANDING_INCOMPLETE',
      message: expect.stringContaining(path) as string,
    })
    const log = `${warehouseFile(config.home)}.wal`
    // On close, DuckDB removes a file of that name, but no folder.
    const onProgress = () => {
      rmSync(log, { recursive: true, force: true })
      mkdirSync(log)
    }
    await expect(replay({ config, allowIncomplete: true, onProgress })).rejects.toMatchObject({ code: 'HOME_UNUSABLE' })
    expect(await readdir(config.home)).toContain('warehouse.duckdb.wal')
    rmSync(log, { recursive: true })
    expect([await snapshot(config), await rebuiltIn(config)]).toEqual([before, []])
    const report = await replay({ config, allowIncomplete: true })
    expect(report.files).toBe(before._loads!.length - 1)
    await expectHolds(config, before)
  })
})
