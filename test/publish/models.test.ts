// The user's models in targets: built before a publication, with their classes, as deltas, and filtered by agents.
import { unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import type { PostgresTarget } from '../../src/config/targets/postgres.ts'
import { DAY, MINUTE } from '../../src/core/time.ts'
import { selectionFor } from '../../src/publish/selection.ts'
import { typeOf } from '../../src/publish/targets/target-types.ts'
import { refreshModels } from '../../src/warehouse/models/refresh-models.ts'
import { folderOfFile } from '../of-file.ts'
import { isDeep } from '../tier.ts'
import { AGENT, landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../warehouse/temporary-warehouse.ts'
import { DEFAULT, KEEP, newTarget, publishTo, rowsIn, SETTINGS } from './published.ts'
import { newParquet, rowsOf } from './published-parquet.ts'

const app = temporaryWarehouse()
const folder = await folderOfFile()
let workspace: Workspace

const load = async (minutes: number, ...ids: string[]) => {
  const sentAtMs = SENT_AT_MS + minutes * MINUTE
  const records = ids.map(ID => ({
    ID,
    ts: SENT_AT_MS - DAY,
    lastModified: SENT_AT_MS + minutes,
    userPlatform: `channel-${minutes}`,
  }))
  await workspace.load(await landConversations(workspace.landing, { records, sentAtMs }))
}

const write = (name: string, ...lines: string[]) => writeFile(join(folder, `${name}.sql`), lines.join('\n'))

beforeAll(async () => {
  workspace = app.workspace()
  await load(0, 'a', 'b')
  await write(
    'by_conversation',
    ...[
      '-- One row for each conversation.',
      '-- key: workspace_id, agent_id, conversation_id',
      '-- shared: channel',
      '-- columns:',
    ],
    ...[
      '--   workspace_id     none  Workspace',
      '--   agent_id         none  Agent',
      '--   conversation_id  none  Conversation',
    ],
    ...['--   channel          none  Channel'],
    `SELECT workspace_id, agent_id, conversation_id, channel, 'said' AS undeclared FROM conversations`,
  )
  await write(
    'by_channel',
    ...[
      '-- One row for each channel.',
      '-- key: channel',
      '-- columns:',
      '--   channel  none  Channel',
      '--   n        none  Conversations',
    ],
    'SELECT channel, count(*) AS n FROM models.by_conversation GROUP BY ALL',
  )
})

const settings = () => ({ ...SETTINGS, models: folder })

it('are published with their classes and comments, follow as deltas, and leave the target with their files', async () => {
  const target = newTarget(app.home, { pii: DEFAULT })
  const published = (sql: string) => rowsIn(target.path, sql)
  await publishTo(app, target, { settings: settings() })
  const sql = 'SELECT conversation_id, channel, undeclared FROM models.by_conversation ORDER BY ALL'
  expect(await published(sql)).toEqual([
    ['a', 'channel-0', null],
    ['b', 'channel-0', null],
  ])
  expect(await published('SELECT channel, n FROM models.by_channel')).toEqual([['channel-0', '2']])
  expect(
    await published(`SELECT comment FROM duckdb_columns() WHERE schema_name = 'models' AND column_name = 'n'`),
  ).toEqual([['Conversations']])
  if (isDeep) {
    const files = newParquet(app.home)
    await publishTo(app, files, { settings: settings() })
    expect(await rowsOf(files, 'models.by_channel', 'channel')).toEqual([['channel-0']])
  }
  await load(1, 'b')
  const report = await publishTo(app, target, { settings: settings(), verify: true })
  expect(report.kind).toBe('delta')
  expect(await published('SELECT channel, n FROM models.by_channel ORDER BY ALL')).toEqual([
    ['channel-0', '1'],
    ['channel-1', '1'],
  ])
  await unlink(join(folder, 'by_channel.sql'))
  await publishTo(app, target, { settings: settings() })
  expect(await published(`SELECT table_name FROM duckdb_tables() WHERE schema_name = 'models'`)).toEqual([
    ['by_conversation'],
  ])
})

it('reach a target with a row filter if their key has the agent, without shared columns', async () => {
  await write(
    'of_all',
    '-- One row.',
    '-- key: workspace_id',
    '-- columns:',
    '--   workspace_id  none  Workspace',
    'SELECT DISTINCT workspace_id FROM conversations',
  )
  const target = newTarget(app.home, { rows: { agents: [AGENT], organizations: [] } })
  await publishTo(app, target, { settings: settings() })
  expect(await rowsIn(target.path, `SELECT table_name FROM duckdb_tables() WHERE schema_name = 'models'`)).toEqual([
    ['by_conversation'],
  ])
  expect(await rowsIn(target.path, 'SELECT DISTINCT channel FROM models.by_conversation')).toEqual([[null]])
})

const model = (key: string, ...select: string[]) =>
  write('edited', ...['-- Rows.', `-- key: ${key}`, '-- columns:', `--   ${key}  none  Key`], ...select)

const refresh = () => refreshModels({ warehouse: app.warehouse, folder })

const NAMES = `SELECT conversation_id, 1 AS n FROM conversations WHERE conversation_id IN ('a', 'b')`

const leaveB = `${NAMES} AND conversation_id <> 'b'`

it.each<[string, () => Promise<unknown>]>([
  ['had other columns', () => model('conversation_id', leaveB.replace(' FROM', ', 2 AS other FROM'))],
  ['was removed', () => unlink(join(folder, 'edited.sql'))],
  ['had a key of another type', () => model('n', leaveB)],
])(
  'are written from empty once their table %s in between: no entry of the log has the rows that it lost',
  async (_, edit) => {
    const target = newTarget(app.home)
    const policy = async () => {
      const selection = await selectionFor(app.warehouse.writer, { target, type: typeOf(target), key: null })
      return selection.policyOf(new Map())
    }
    await model('conversation_id', NAMES)
    await refresh()
    const before = await policy()
    await refresh()
    expect(await policy()).toBe(before)
    await edit()
    await refresh()
    await model('conversation_id', leaveB)
    await refresh()
    expect(await policy()).not.toBe(before)
  },
)

const columnsOf = (count: number, value: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => `${value(index)} AS c${index}`).join(', ')

it.each([
  ['of 1,700 columns', columnsOf(1_700, String), 'it has 1701 columns, and PostgreSQL allows 1,600'],
  [
    'with a long name',
    `1 AS ${'n'.repeat(64)}`,
    `its column ${'n'.repeat(64)} has a name that PostgreSQL reserves, or of more than 63 bytes`,
  ],
  [
    'with a name of PostgreSQL',
    '1 AS xmin',
    'its column xmin has a name that PostgreSQL reserves, or of more than 63 bytes',
  ],
  ['of large rows', columnsOf(1_500, of => `${of}::DOUBLE`), 'a row is larger than a page of PostgreSQL'],
  ['of many texts', columnsOf(900, of => `'some text ${of}'`), 'a row is larger than a page of PostgreSQL'],
  ['of as many NULLs', columnsOf(1_500, () => 'NULL::DOUBLE'), undefined],
])(
  '%s are unfit for PostgreSQL only if it cannot hold them, and are then not published',
  async (_, columns, reason) => {
    const target = { name: 'pg', type: 'postgres', schema: 'pg', pii: KEEP, rows: null } as PostgresTarget
    await model('k', `SELECT 'k' AS k, ${columns}`)
    const stored = (await refresh()).find(({ name }) => name === 'edited')
    expect(stored).toMatchObject({ outcome: 'built' })
    const { unfit, relations } = await selectionFor(app.warehouse.writer, { target, type: typeOf(target), key: null })
    expect(unfit.get('models.edited')).toBe(reason)
    expect(relations.some(({ name }) => name === 'models.edited')).toBe(reason === undefined)
    expect(relations.map(({ name }) => name)).toContain('conversations')
  },
)
