import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DAY, HOUR } from '../../src/core/time.ts'
import { checkAfterLoads } from '../../src/steps/checks.ts'
import { registerConsumer } from '../../src/warehouse/changes/consumers.ts'
import { logChanges } from '../../src/warehouse/changes/log-changes.ts'
import { allChecks, warehouseChecks } from '../../src/warehouse/checks/all-checks.ts'
import { blockedTables, runCheck, type StoredResult, storedResults } from '../../src/warehouse/checks/results.ts'
import { iso } from '../../src/warehouse/connection.ts'
import { eraseRecords } from '../../src/warehouse/maintenance/erase-records.ts'
import { rowsHere } from '../../src/warehouse/query/rows.ts'
import { AGENT, landConversations } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'

const NOW = Date.UTC(2026, 10, 20, 12)

const app = temporaryWarehouse()

let folder: string
let nowMs: number

// Registers a consumer, as the marts do: without one, changes are not logged.
beforeAll(() => registerConsumer(app.warehouse.writer, 'marts'))

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'convohouse-checks-'))
  nowMs = NOW
  const { writer } = app.warehouse
  await writer.run(`DELETE FROM _checks; DELETE FROM _runs; DELETE FROM conversations; DELETE FROM conversation_tags`)
  await writer.run(
    `INSERT INTO _runs (workspace_id, run, started_at) VALUES ('w', 'r', TIMESTAMPTZ '${iso(NOW - 3 * DAY)}')`,
  )
})

afterEach(() => rm(folder, { recursive: true }))

const check = (checks: string | null = folder) =>
  checkAfterLoads({ warehouse: app.warehouse, folder: checks, now: () => nowMs, signal: new AbortController().signal })

const own = (name: string, ...lines: string[]) => writeFile(join(folder, `${name}.sql`), lines.join('\n'))

const results = async (): Promise<Record<string, StoredResult>> =>
  Object.fromEntries((await storedResults(app.warehouse.writer)).map(result => [result.name, result]))

const NO_CHANNEL = [
  '-- Every conversation has a channel.',
  '-- severity: warn',
  '-- table: conversations',
  '-- key: workspace_id, agent_id, conversation_id',
  'SELECT *, user_email FROM conversations WHERE channel IS NULL -- those without',
]

const KEYS = `'w' AS workspace_id, 'a' AS agent_id`

/** Inserts a conversation, and logs it as loads do. */
const insert = (id: string, { channel = 'NULL' } = {}) => {
  const { writer } = app.warehouse
  return writer.transaction(async () => {
    const keys = `SELECT ${KEYS}, '${id}' AS conversation_id`
    await logChanges(writer, { table: 'conversations', keys, areNew: true })
    await writer.run(`INSERT INTO conversations (workspace_id, agent_id, conversation_id, channel, user_email, _record, _complete)
      SELECT ${KEYS}, '${id}', ${channel}, 'eve@example.com', (SELECT coalesce(max(_record), 0) + 1 FROM conversations), false`)
  })
}

describe('the checks at the end of a sync', () => {
  it('run after changes as often as their time allows, after a failure too, and once a day', async () => {
    const { writer } = app.warehouse
    await own('channel', ...NO_CHANNEL)
    await insert('c1', { channel: `'voice'` })
    await check()
    expect((await results()).channel).toMatchObject({ outcome: 'passed', violations: 0 })
    await writer.run(`UPDATE _checks SET duration_ms = 60 WHERE name = 'channel'`)
    await insert('c2')
    nowMs += 59_999
    expect(await check()).toEqual([])
    nowMs += 1
    expect(await check()).toMatchObject([{ name: 'channel', outcome: 'failed' }])
    const { channel } = await results()
    expect(channel).toMatchObject({ violations: 1, severity: 'warn', checkedAt: '2026-11-20T12:01:00.000Z' })
    expect(channel!.examples).toEqual([{ workspace_id: 'w', agent_id: 'a', conversation_id: 'c2' }])

    nowMs += HOUR
    await writer.run(`UPDATE conversations SET channel = 'voice'`)
    const { loads_unique } = await results()
    expect(await check()).toEqual([])
    expect((await results()).channel).toMatchObject({ outcome: 'passed', violations: 0, examples: [] })
    expect((await results()).loads_unique).toEqual(loads_unique)
    nowMs += DAY
    await check()
    expect((await results()).loads_unique!.checkedAt).toBe(iso(nowMs))
  })

  it('begin on the second day of a warehouse', async () => {
    await app.warehouse.writer.run(`UPDATE _runs SET started_at = TIMESTAMPTZ '${iso(NOW - HOUR)}'`)
    await check()
    expect(await results()).toEqual({})
    nowMs += DAY
    await check()
    expect(Object.keys(await results())).toHaveLength((await warehouseChecks()).length)
  })

  it('stop the publication of a table with a duplicate key or an orphan, and only of that table', async () => {
    // This check also fails, but only warns.
    await own('channel', ...NO_CHANNEL)
    await check()
    await insert('c1')
    await insert('c1')
    await app.warehouse.writer.run(
      `INSERT INTO conversation_tags (workspace_id, agent_id, conversation_id, tag) VALUES ('w', 'a', 'x', 't')`,
    )
    nowMs += DAY
    await check()
    expect(await blockedTables(app.warehouse.writer)).toEqual(
      new Map([['conversations', ['children_of_conversations', 'conversations_unique']]]),
    )
  })
})

describe('a check of the user', () => {
  it('that cannot run is reported, without values, and stops no other', async () => {
    await insert('c1')
    const header = ['-- It is broken.', '-- severity: error', '-- table: conversations']
    await own('channel', ...NO_CHANNEL)
    await own('column', ...header, 'SELECT nothing FROM conversations')
    await own('values', ...header, 'SELECT 1 FROM conversations WHERE user_email::INTEGER > 1')
    await own('writes', ...header, 'DELETE FROM conversations')
    await own('explains', ...header, 'EXPLAIN SELECT 1')
    await own('mistake', ...header, 'SELECT 1 FORM conversations')
    await own('outside', ...header, "SELECT * FROM read_csv('/etc/passwd')")
    await own('nothing', '')
    await own('mistyped', ...header, '-- kye: agent_id', 'SELECT 1')
    await own('email', ...header, '-- key: user_email', 'SELECT 1')
    await own('blocking', '-- Warns.', '-- severity: warn', '-- blocks: true', '-- table: conversations', 'SELECT 1')
    await own('loads_unique', ...header, 'SELECT 1')
    await mkdir(join(folder, 'folder.sql'))
    const begun = await check()
    expect(Object.fromEntries(begun.map(({ name, outcome, error }) => [name, error ?? outcome]))).toEqual({
      channel: 'failed',
      column: expect.stringMatching(/^Binder Error: Referenced column "nothing" not found/),
      values: 'Conversion Error',
      writes: expect.stringMatching(
        /^it is not one SELECT that DuckDB can parse: Parser Error: syntax error at or near "FROM"/,
      ),
      explains: expect.stringMatching(/^it is not one SELECT that DuckDB can parse: Parser Error: /),
      mistake: expect.stringMatching(/Parser Error: syntax error at or near "conversations"/),
      outside: expect.stringMatching(/read_csv\(\) is not allowed/),
      nothing: expect.stringContaining('has no description'),
      mistyped: expect.stringContaining('unknown line "kye: agent_id"'),
      email: expect.stringContaining(
        '`key` names user_email; the key columns of conversations are workspace_id, agent_id, conversation_id',
      ),
      blocking: expect.stringContaining('`blocks` is only possible with severity error'),
      'loads_unique.sql': expect.stringContaining('rename the file'),
      folder: expect.stringContaining('cannot be read'),
    })
    expect((await results()).loads_unique).toMatchObject({ outcome: 'passed' })
    expect(JSON.stringify(await storedResults(app.warehouse.writer))).not.toContain('eve@example.com')
    expect(await app.warehouse.writer.rows('SELECT count(*)::INTEGER AS n FROM conversations')).toEqual([{ n: 1 }])
  })

  it('that takes too long is interrupted', async () => {
    const header = ['-- It is slow.', '-- severity: warn', '-- table: conversations']
    await own('slow', ...header, 'SELECT 1 FROM range(1000000000000) t(i) WHERE i % 7 = 8')
    const slow = (await allChecks(folder)).find(({ name }) => name === 'slow')!
    expect(await runCheck(rowsHere(app.warehouse.instance, { timeoutMs: 200 }), slow)).toMatchObject({
      outcome: 'timeout',
      violations: null,
    })
  })

  it('that is removed leaves no result; a folder that cannot be read is reported', async () => {
    await own('channel', ...NO_CHANNEL)
    await insert('c1')
    await check()
    expect((await results()).channel).toMatchObject({ outcome: 'failed' })
    const begun = await check(join(folder, 'missing'))
    expect(begun).toMatchObject([{ name: 'checks', outcome: 'broken' }])
    expect(begun[0]!.error).toContain(join(folder, 'missing'))
    expect((await results()).channel).toBeUndefined()
  })
})

it('erasing a conversation removes it from examples, and no check fails afterwards', async () => {
  const { writer } = app.warehouse
  const workspace = app.workspace()
  const records = ['kept', 'erased'].map(ID => ({ ID, ts: NOW - DAY, tags: ['a'], sessions: [{ id: 's' }] }))
  await workspace.load(await landConversations(workspace.landing, { records }))
  await own('channel', ...NO_CHANNEL)
  await check()
  expect((await results()).channel!.examples).toHaveLength(2)
  const key = { table: 'conversations', key: [AGENT, 'erased'] }
  await eraseRecords(writer, { workspaceId: workspace.id, records: [key], nowMs })
  expect((await results()).channel!.examples).toEqual([])
  nowMs += DAY
  await check()
  const failed = Object.values(await results()).filter(({ outcome }) => outcome !== 'passed')
  expect(failed.map(({ name, violations }) => [name, violations])).toEqual([['channel', 1]])
})
