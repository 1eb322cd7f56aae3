import { afterEach, describe, expect, it } from 'vitest'
import {
  acknowledge,
  consumers,
  registerConsumer,
  removeConsumer,
  trimChanges,
} from '../../../src/warehouse/changes/consumers.ts'
import { logRange, type Watermark } from '../../../src/warehouse/changes/log-changes.ts'
import { isPublished } from '../../../src/warehouse/changes/published-tables.ts'
import { changedKeys, changesSince } from '../../../src/warehouse/changes/read-changes.ts'
import { applyTimeZone } from '../../../src/warehouse/load/time-zone.ts'
import { openWarehouse } from '../../../src/warehouse/open.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { SMALL, temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const register = (name = 'a') => registerConsumer(app.warehouse.writer, name)
const logged = () =>
  app.warehouse.writer.rows(
    `SELECT table_name AS "table", key[2:] AS key, partition_before AS before, op FROM _changes ORDER BY seq`,
  )
const since = (watermark: Watermark | null, name = 'a') => changesSince(app.warehouse.writer, { name, watermark })

async function load(workspace: Workspace, ...records: object[]): Promise<void> {
  await workspace.load(await landConversations(workspace.landing, { records }))
}

afterEach(async () => {
  for (const { name } of await consumers(app.warehouse.writer)) await removeConsumer(app.warehouse.writer, name)
})

describe('the change log', () => {
  it('covers every table but bookkeeping and patches, which are not published', async () => {
    const tables = await app.warehouse.writer.rows<{ name: string }>(
      `SELECT table_name AS name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main' AND NOT starts_with(table_name, '_')`,
    )
    const unpublished = tables.map(({ name }) => name).filter(name => !isPublished(name))
    expect(unpublished).toEqual(['conversation_patches'])
  })

  it('has an entry for each record and observation, with the partition before the change', async () => {
    const workspace = app.workspace()
    await load(workspace, { ID: 'c1', ts: Date.UTC(2026, 4, 31, 23, 59) })
    await register()
    await load(workspace, { ID: 'c1', ts: Date.UTC(2026, 5, 1), tags: ['a'] }, { ID: 'c2' })
    const at = (await workspace.rows('conversation_observations', 'DISTINCT observed_at::VARCHAR AS at'))[0]!.at
    expect(await logged()).toEqual([
      { table: 'conversation_observations', key: [AGENT, 'c1', at], before: null, op: 'insert' },
      { table: 'conversation_observations', key: [AGENT, 'c2', at], before: null, op: 'insert' },
      { table: 'conversations', key: [AGENT, 'c1'], before: '2026-05-01', op: 'update' },
      { table: 'conversations', key: [AGENT, 'c2'], before: null, op: 'insert' },
    ])
  })

  it('has no entry without a consumer, nor of a transaction that fails', async () => {
    const workspace = app.workspace()
    const { writer } = app.warehouse
    const before = await logRange(writer)
    await load(workspace, { ID: 'c1' })
    expect(await logRange(writer)).toEqual(before)
    const registered = await register()
    await writer.run('ALTER TABLE conversations ALTER COLUMN summary TYPE INTEGER')
    try {
      const page = await landConversations(workspace.landing, { records: [{ ID: 'c2', summary: 'not a number' }] })
      expect(await workspace.load(page)).toMatchObject({ quarantined: 1 })
    } finally {
      await writer.run('ALTER TABLE conversations ALTER COLUMN summary TYPE VARCHAR')
    }
    expect(await since(registered)).toMatchObject({ kind: 'changes', tables: [] })
  })

  it('is written by a process that finds a consumer in the file', async () => {
    const home = `${app.home}/reopened`
    const first = await openWarehouse({ home, ...SMALL })
    const registered = await registerConsumer(first.writer, 'a').finally(() => first.close())
    const second = await openWarehouse({ home, ...SMALL })
    try {
      const workspace = app.workspace()
      const event = eventOf('message_received', { agentId: AGENT, convoId: 'c1', createdAt: SENT_AT_MS })
      await applyTo({ ...workspace, context: { ...workspace.context, writer: second.writer } }, event)
      const found = await changesSince(second.writer, { name: 'a', watermark: registered })
      expect(found.kind === 'changes' && found.tables.map(({ published }) => published.table)).toEqual([
        'conversations',
        'messages_received',
        'webhook_events',
      ])
    } finally {
      await second.close()
    }
  })
})

describe('a consumer', () => {
  it('reads each changed key once', async () => {
    const workspace = app.workspace()
    const registered = await register()
    await load(workspace, { ID: 'c1' })
    await load(workspace, { ID: 'c1' })
    const found = await since(registered)
    expect(found).toMatchObject({ kind: 'changes', from: registered, to: { ...registered, seq: 4 } })
    if (found.kind !== 'changes') throw new Error('no changes')
    const { published } = found.tables.find(({ published }) => published.table === 'conversations')!
    expect(await app.warehouse.writer.rows(changedKeys(published, found))).toEqual([
      { workspace_id: workspace.id, agent_id: AGENT, conversation_id: 'c1' },
    ])
  })

  it('must fill its copy again if the log does not continue from its watermark', async () => {
    const workspace = app.workspace()
    expect(await since(null)).toMatchObject({ kind: 'refill', reason: 'unknown consumer' })
    const { epoch } = await register()
    await load(workspace, { ID: 'c1' })
    expect(await since(null)).toMatchObject({ kind: 'refill', reason: 'no watermark', to: { epoch, seq: 2 } })
    expect(await since({ epoch: 'earlier', seq: 0 })).toMatchObject({ kind: 'refill', reason: 'other epoch' })
    expect(await since({ epoch, seq: 3 })).toMatchObject({ kind: 'refill', reason: 'ahead of the log' })
    await app.warehouse.writer.run('UPDATE _changes SET logged_at = logged_at - INTERVAL 8 DAY')
    await trimChanges(app.warehouse.writer)
    expect(await since({ epoch, seq: 1 })).toMatchObject({ kind: 'refill', reason: 'trimmed' })
    expect(await since({ epoch, seq: 2 })).toMatchObject({ kind: 'changes', tables: [] })
    await load(workspace, { ID: 'c1' })
    expect(await since({ epoch, seq: 2 })).toMatchObject({ kind: 'changes', to: { seq: 4 } })
  })

  it('keeps the entries that it has not acknowledged, for seven days', async () => {
    const workspace = app.workspace()
    const { writer } = app.warehouse
    const fast = await register('fast')
    await register('slow')
    await load(workspace, { ID: 'c1' })
    await load(workspace, { ID: 'c2' })
    expect(await acknowledge(writer, 'fast', { ...fast, seq: 4 })).toBe(true)
    expect(await logged()).toHaveLength(4)
    expect(await acknowledge(writer, 'slow', { ...fast, seq: 1 })).toBe(true)
    expect(await logged()).toHaveLength(3)
    expect(await consumers(writer)).toEqual([
      { name: 'fast', seq: 4, behind: 0 },
      { name: 'slow', seq: 1, behind: 3 },
    ])
    await writer.run('UPDATE _changes SET logged_at = logged_at - INTERVAL 8 DAY WHERE seq = 2')
    await trimChanges(writer)
    expect(await logged()).toHaveLength(2)
    await removeConsumer(writer, 'slow')
    expect(await logged()).toEqual([])
    expect(await since({ ...fast, seq: 4 }, 'fast')).toMatchObject({ kind: 'changes', tables: [] })
  })

  it('cannot acknowledge an earlier epoch, nor entries that do not exist', async () => {
    const { writer } = app.warehouse
    const { epoch } = await register()
    expect(await acknowledge(writer, 'a', { epoch: 'earlier', seq: 0 })).toBe(false)
    expect(await acknowledge(writer, 'a', { epoch, seq: 1 })).toBe(false)
    expect(await acknowledge(writer, 'b', { epoch, seq: 0 })).toBe(false)
  })
})

describe('a new epoch begins', () => {
  it('with the first consumer, since nothing was logged before, and with the removal of the last', async () => {
    const first = await register('a')
    expect(await register('b')).toEqual(first)
    expect(await register('a')).toEqual(first)
    await removeConsumer(app.warehouse.writer, 'a')
    expect((await logRange(app.warehouse.writer)).epoch).toBe(first.epoch)
    await removeConsumer(app.warehouse.writer, 'b')
    const { epoch } = await logRange(app.warehouse.writer)
    expect(epoch).not.toBe(first.epoch)
    expect((await register('a')).epoch).not.toBe(epoch)
  })

  it('with a changed time zone, which derives the days of all rows again', async () => {
    const workspace = app.workspace()
    const first = await register()
    await load(workspace, { ID: 'c1', ts: SENT_AT_MS })
    await applyTimeZone(app.warehouse.writer, workspace.id, 'UTC')
    expect(await since(first)).toMatchObject({ kind: 'changes' })
    await applyTimeZone(app.warehouse.writer, workspace.id, 'Pacific/Auckland')
    expect(await since(first)).toMatchObject({ kind: 'refill', reason: 'other epoch', to: { seq: 0 } })
    expect(await consumers(app.warehouse.writer)).toEqual([{ name: 'a', seq: 0, behind: 0 }])
  })
})
