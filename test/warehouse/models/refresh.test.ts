// Models of a user: files in a folder, over a small warehouse.
import { mkdir, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../src/core/time.ts'
import { registerConsumer } from '../../../src/warehouse/changes/consumers.ts'
import { changesSince } from '../../../src/warehouse/changes/read-changes.ts'
import { eraseRecords } from '../../../src/warehouse/maintenance/erase-records.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { refreshModels } from '../../../src/warehouse/models/refresh-models.ts'
import { builtModels } from '../../../src/warehouse/models/stored-models.ts'
import { folderOfFile } from '../../of-file.ts'
import { AGENT, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { LOADED_AT_MS, temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()
const folder = await folderOfFile()
let workspace: Workspace
let minutes = 0
let nowMs = LOADED_AT_MS

beforeAll(async () => {
  workspace = app.workspace()
  await load('a', 'b')
})

const load = async (...ids: string[]) => {
  const sentAtMs = SENT_AT_MS + ++minutes * MINUTE
  const records = ids.map(ID => ({
    ID,
    ts: SENT_AT_MS - DAY,
    lastModified: SENT_AT_MS + minutes,
    userPlatform: `channel-${minutes}`,
  }))
  await workspace.load(await landConversations(workspace.landing, { records, sentAtMs }))
  await refreshMarts(app.warehouse.writer)
}

const write = (name: string, ...lines: string[]) => writeFile(join(folder, `${name}.sql`), lines.join('\n'))
const remove = (name: string) => unlink(join(folder, `${name}.sql`))

const refresh = (more: { timeoutMs?: number; signal?: AbortSignal; onModel?: (name: string) => void } = {}) =>
  refreshModels({ warehouse: app.warehouse, folder, now: () => nowMs, ...more })

/** Returns the outcome of each model, by name. */
const outcomes = async (more?: Parameters<typeof refresh>[0]) =>
  Object.fromEntries((await refresh(more)).map(({ name, outcome, error }) => [name, error ?? outcome]))

const rows = (model: string) => app.warehouse.writer.rows(`SELECT * FROM models.${model} ORDER BY ALL`)

/** Returns the keys of a model that the log contains after an entry. */
const logged = async (table: string, after: number) =>
  (
    await app.warehouse.writer.rows<{ key: string[] }>(
      `SELECT DISTINCT key FROM _changes WHERE table_name = '${table}' AND seq > ${after} ORDER BY ALL`,
    )
  ).map(({ key }) => key)

const lastSeq = async () => {
  const [row] = await app.warehouse.writer.rows<{ seq: string }>(
    'SELECT coalesce(max(seq), 0)::VARCHAR AS seq FROM _changes',
  )
  return Number(row!.seq)
}

const HEADER = ['-- One row for each conversation.', '-- key: workspace_id, conversation_id', '-- columns:']
const KEYS = ['--   workspace_id     none  Workspace', '--   conversation_id  none  Conversation']
const CHANNELS = [
  ...HEADER,
  ...KEYS,
  '--   channel          none  Channel',
  'SELECT workspace_id, conversation_id, channel, sum(1) AS n FROM marts.fct_conversations GROUP BY ALL;',
]
const COUNTED = [
  '-- One row for each channel.',
  '-- key: channel',
  '-- columns:',
  '--   channel  none  Channel',
  'WITH own AS (FROM models.by_conversation)',
  'SELECT channel, count(*) AS conversations, {a: 1} AS nested, 1.5::DECIMAL(4, 2) AS amount FROM own GROUP BY ALL -- no line break',
]

/** Returns a file with a valid header over this SELECT, whose rows have the columns `workspace_id` and `conversation_id`. */
const over = (select: string): readonly string[] => [...HEADER, ...KEYS, select]

/** Returns a file with a key column of that name, whose values are of the class `none`, over this SELECT. */
const keyed = (name: string, select: string) => [
  ...['-- Rows.', `-- key: ${name}`, '-- columns:', `--   ${name}  none  Key`],
  select,
]

const ONE = `SELECT '' AS workspace_id, '' AS conversation_id`

/** The fault of a model, its file, and the beginning of its error. */
const FAULTY: readonly [string, readonly string[], string][] = [
  ['no SELECT', over('DELETE FROM conversations'), 'DELETE is not allowed in queries, which only read the warehouse.'],
  ['a file', over(`FROM read_csv('/etc/passwd')`), 'The function read_csv() is not allowed in queries'],
  ['two statements', over('SELECT 1; SELECT 2'), 'The SQL contains 2 statements.'],
  ['an unknown table', over('FROM conversation'), 'Catalog Error: Table with name conversation does not exist!'],
  ['an unknown model', over('FROM models.nobody'), 'it reads models.nobody, which does not exist'],
  ['an unknown mart', over('FROM marts.nobody'), 'it reads marts.nobody, which does not exist'],
  ['no description', ['-- key: id', 'SELECT 1 AS id'], 'its header has no description'],
  ['no key', ['-- Rows.', 'SELECT 1 AS id'], 'its header needs a line `-- key: COLUMN, …`'],
  [
    'a key without a class',
    ['-- Rows.', '-- key: id', 'SELECT 1 AS id'],
    'its header declares no class for the key column',
  ],
  [
    'an unknown class',
    ['-- Rows.', '-- columns:', '--   id  secret  Id'],
    'the line "id  secret  Id" of its header is not',
  ],
  [
    'an unknown column',
    [...HEADER, ...KEYS, '--   x  none  X', ONE],
    'its header declares the column x, which its SELECT does',
  ],
  [
    'a key that is not unique',
    over(`${ONE} FROM range(3)`),
    'its 3 rows have only 1 different key (workspace_id, conv',
  ],
  [
    'a key that databases clamp',
    keyed(
      't',
      `SELECT unnest([TIMESTAMPTZ 'infinity', '10000-01-01 00:00:00+00', '0001-01-01 (BC) 00:00:00+00', '2026-01-01']) AS t`,
    ),
    '3 of its rows have NULL, or a time outside of the years 1 to 9999, in a key column',
  ],
  ['a key that is NULL', keyed('id', 'SELECT NULL::VARCHAR AS id'), '1 of its rows have NULL, or a time outside'],
  ['a key of another type', keyed('id', 'SELECT 1.5::DOUBLE AS id'), 'its key column id has the type DOUBLE'],
  ['a key column twice', keyed('id, id', 'SELECT 1 AS id'), 'its header names the key column id twice'],
  ['the column rowid', over(`${ONE}, 1 AS rowid`), 'its column rowid has the name of a column of DuckDB'],
  ['a type without an equal', over(`${ONE}, 'x'::BLOB AS b`), 'its column b has the type BLOB'],
  ['a failure with values', over('SELECT *, workspace_id::INTEGER FROM conversations'), 'Conversion Error'],
]

describe('models', () => {
  it('are built in dependency order, with the types of targets and the classes of the header', async () => {
    // The model is the first by name, but reads the other.
    await write('a_counted', ...COUNTED)
    await write('by_conversation', ...CHANNELS)
    const named: string[] = []
    const onModel = (name: string) => void named.push(name)
    expect(await outcomes({ onModel })).toEqual({ by_conversation: 'built', a_counted: 'built' })
    expect(named).toEqual(['by_conversation', 'a_counted'])
    const conversation = { workspace_id: workspace.id, channel: 'channel-1', n: '1' }
    expect(await rows('by_conversation')).toEqual(['a', 'b'].map(id => ({ ...conversation, conversation_id: id })))
    expect(await rows('a_counted')).toEqual([
      { channel: 'channel-1', conversations: '2', nested: '{"a":1}', amount: 1.5 },
    ])
    const models = await builtModels(app.warehouse.writer)
    expect(models.map(({ columns }) => columns.map(({ name, sqlType, pii }) => [name, sqlType, pii]))).toEqual([
      [
        ['channel', 'VARCHAR', 'none'],
        ['conversations', 'BIGINT', 'content'],
        ['nested', 'JSON', 'content'],
        ['amount', 'DOUBLE', 'content'],
      ],
      [
        ['workspace_id', 'VARCHAR', 'none'],
        ['conversation_id', 'VARCHAR', 'none'],
        ['channel', 'VARCHAR', 'none'],
        ['n', 'BIGINT', 'content'],
      ],
    ])
  })

  it('are not computed again, and log nothing, while nothing that they read changes', async () => {
    const seq = await lastSeq()
    nowMs += MINUTE
    const tried = (await refresh()).map(({ triedAt }) => Date.parse(triedAt))
    expect(tried.every(at => at < nowMs)).toBe(true)
    expect(await lastSeq()).toBe(seq)
  })

  it('follow changes, and log the rows that differ', async () => {
    const { writer } = app.warehouse
    await registerConsumer(writer, 'copy')
    const seq = await lastSeq()
    await load('b', 'c')
    expect(await outcomes()).toEqual({ by_conversation: 'built', a_counted: 'built' })
    expect(await rows('a_counted')).toMatchObject([
      { channel: 'channel-1', conversations: '1' },
      { channel: 'channel-2', conversations: '2' },
    ])
    expect(await logged('models.by_conversation', seq)).toEqual(['b', 'c'].map(id => [workspace.id, id]))
    expect(await logged('models.a_counted', seq)).toEqual([['channel-1'], ['channel-2']])
    const [{ epoch }] = (await writer.rows('SELECT epoch FROM _change_log')) as [{ epoch: string }]
    const changes = await changesSince(writer, { name: 'copy', watermark: { epoch, seq } })
    expect(changes.kind === 'changes' && changes.tables.map(({ published }) => published.table)).toContain(
      'models.a_counted',
    )
  })

  it('keep their rows while they have an error, as do the models that read them, and no others', async () => {
    await write(
      'by_conversation',
      ...CHANNELS.slice(0, -1),
      'SELECT workspace_id, conversation_id, nothing AS channel FROM marts.fct_conversations',
    )
    await write('other', ...over('SELECT workspace_id, conversation_id FROM conversations'))
    await load('d')
    expect(await outcomes()).toEqual({
      by_conversation: expect.stringMatching(/^Binder Error: Referenced column "nothing" not found/),
      a_counted: 'it reads models.by_conversation, which is not built',
      other: 'built',
    })
    expect(await rows('by_conversation')).toHaveLength(3)
    expect(await rows('a_counted')).toHaveLength(2)
    expect(await rows('other')).toHaveLength(4)
    await write('by_conversation', ...CHANNELS)
    expect(await outcomes()).toEqual({ by_conversation: 'built', a_counted: 'built', other: 'built' })
    expect(await rows('by_conversation')).toHaveLength(4)
  })

  it('that cannot be used have an error that says why', async () => {
    const files = FAULTY.map(([what, lines]) => [`faulty_${what.replaceAll(/\W/g, '_').toLowerCase()}`, lines] as const)
    for (const [name, lines] of files) await write(name, ...lines)
    const found = await outcomes()
    for (const [index, [name]] of files.entries()) {
      const [what, , message] = FAULTY[index]!
      expect(found[name]!.slice(0, message.length), what).toBe(message)
      expect(found[name], what).not.toContain('ws_')
      await remove(name)
    }
    expect(Object.keys(await outcomes()).filter(name => name.startsWith('faulty'))).toEqual([])
  })

  it('follow a model whose columns have changed, also if it has no rows any more, and the log has no keys of its earlier table', async () => {
    await write('reshaped', ...keyed('id', 'SELECT 1 AS id'))
    await write('reader', ...keyed('id', 'SELECT 1 AS id, count(*) AS n FROM models.reshaped'))
    expect(await outcomes()).toMatchObject({ reshaped: 'built', reader: 'built' })
    expect(await rows('reader')).toEqual([{ id: 1, n: '1' }])
    const seq = await lastSeq()
    await write('reshaped', ...keyed('id', `SELECT '' AS id, 2 AS x WHERE false`))
    expect(await outcomes()).toMatchObject({ reshaped: 'built', reader: 'built' })
    expect(await rows('reader')).toEqual([{ id: 1, n: '0' }])
    expect(await logged('models.reshaped', 0)).toEqual([[]])
    expect(await logged('models.reshaped', seq)).toEqual([[]])
    await remove('reader')
    await remove('reshaped')
    await refresh()
  })

  it('that read each other, or have the name of a table, a view or a mart, have an error', async () => {
    await write('x', ...over('FROM models.y'))
    await write('y', ...over('FROM models.x'))
    await write('fct_csat', ...CHANNELS)
    await write('Upper', ...CHANNELS)
    expect(await outcomes()).toMatchObject({
      x: 'models read each other in a cycle: x → y → x',
      y: 'models read each other in a cycle: x → y → x',
      fct_csat: 'fct_csat is the name of a table, view or mart: rename the file',
      Upper: expect.stringContaining('its name must begin with a small letter'),
      other: 'built',
    })
    for (const name of ['x', 'y', 'fct_csat', 'Upper']) await remove(name)
  })

  it('that take too long are interrupted, and tried again after an hour', async () => {
    await write(
      'slow',
      ...over(
        `SELECT 'w' AS workspace_id, max(a.i * b.i)::VARCHAR AS conversation_id FROM range(10000000) a(i), range(1000) b(i)`,
      ),
    )
    expect(await outcomes({ timeoutMs: 200 })).toMatchObject({
      slow: 'it takes longer than 0 s',
      other: 'built',
    })
    await write('other', ...over('SELECT workspace_id, conversation_id FROM conversations ORDER BY ALL LIMIT 2'))
    const tried = async () => (await refresh({ timeoutMs: 200 })).find(({ name }) => name === 'slow')!.triedAt
    const first = await tried()
    nowMs += MINUTE
    expect(await tried()).toBe(first)
    nowMs += HOUR
    expect(await tried()).not.toBe(first)
    await remove('slow')
  })

  it('lose the rows of an erased record at once, and are filled again by the next refresh', async () => {
    const { writer } = app.warehouse
    await outcomes()
    const records = [{ table: 'conversations', key: [AGENT, 'c'] }]
    const seq = await lastSeq()
    await eraseRecords(writer, { workspaceId: workspace.id, records, nowMs })
    expect(await rows('by_conversation')).toEqual([])
    expect(await writer.rows(`SELECT DISTINCT op FROM _changes WHERE table_name = 'models.by_conversation'`)).toEqual([
      { op: 'delete' },
    ])
    expect(await logged('models.by_conversation', seq)).toContainEqual([workspace.id, 'c'])
    // A refresh that reaches none of them leaves them empty.
    await outcomes({ signal: AbortSignal.abort() })
    expect(await rows('by_conversation')).toEqual([])
    await outcomes()
    expect((await rows('by_conversation')).map(row => row.conversation_id)).toEqual(['a', 'b', 'd'])
  })

  it('may have keys with any name, name the database of what they read, and leave the end of the log when they are removed', async () => {
    const lines = (table: string) => [
      ...[
        '-- Rows.',
        '-- key: group, the"key',
        '-- columns:',
        '--   group    none  Channel',
        '--   the"key  none  Conversation',
      ],
      `SELECT channel AS "group", conversation_id AS "the""key" FROM ${table}`,
    ]
    await write('order', ...lines('warehouse.conversations'))
    await write('whole', ...lines('warehouse.marts.fct_conversations'))
    expect(await outcomes()).toMatchObject({ order: 'built', whole: 'built' })
    const seq = await lastSeq()
    await load('b')
    expect(await outcomes()).toMatchObject({ order: 'built', whole: 'built' })
    for (const name of ['order', 'whole']) {
      expect((await logged(`models.${name}`, seq)).map(([, conversation]) => conversation)).toEqual(['b', 'b'])
      await remove(name)
    }
    // `whole` had the newest entry: the log continues after it.
    const end = await lastSeq()
    await outcomes()
    expect(await lastSeq()).toBeGreaterThanOrEqual(end)
    expect(await logged('models.whole', 0)).toEqual([[]])
  })

  it('stay unchanged while the folder cannot be read, and are removed with their files', async () => {
    await expect(refreshModels({ warehouse: app.warehouse, folder: join(folder, 'missing') })).rejects.toMatchObject({
      code: 'MODEL_INVALID',
    })
    expect(await rows('by_conversation')).toHaveLength(3)
    await remove('a_counted')
    await mkdir(join(folder, 'ignored'))
    expect(Object.keys(await outcomes())).toEqual(['by_conversation', 'other'])
    await expect(rows('a_counted')).rejects.toThrow('does not exist')
    expect(await refreshModels({ warehouse: app.warehouse, folder: null })).toEqual([])
    expect(await app.warehouse.writer.rows('FROM _models')).toEqual([])
    expect(await app.warehouse.writer.rows(`FROM _consumers WHERE name = 'models'`)).toEqual([])
  })
})
