// The rules of the target `postgres` that need no server: types, values, statements, the connection, and the texts of errors.
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeAll, describe, expect, it } from 'vitest'
import type { PostgresTarget } from '../../src/config/targets/postgres.ts'
import type { ConvohouseError } from '../../src/core/errors.ts'
import type { PackagedTable } from '../../src/publish/package.ts'
import { publishedRelations } from '../../src/publish/selection.ts'
import { connectionText, postgresError } from '../../src/publish/targets/postgres/connection.ts'
import { columnType, representedValue } from '../../src/publish/targets/postgres/representation.ts'
import type { StoredState } from '../../src/publish/targets/postgres/stored-state.ts'
import {
  addedColumns,
  createTable,
  expectColumns,
  indexedColumns,
  indexesOf,
} from '../../src/publish/targets/postgres/table-ddl.ts'
import { KEEP } from './published.ts'

const TARGET: PostgresTarget = {
  ...{ name: 'bi', type: 'postgres', schema: 'convohouse', passwordFile: '/run/secrets/pg', pii: KEEP, rows: null },
  connection: { host: 'db', port: 5432, database: 'bi', user: 'loader', sslmode: 'require', sslrootcert: null },
}

const COLUMNS = [
  { name: 'workspace_id', sqlType: 'VARCHAR', about: '' },
  { name: 'conversation_id', sqlType: 'VARCHAR', about: '' },
  { name: 'agent_id', sqlType: 'VARCHAR', about: '' },
  { name: 'day', sqlType: 'DATE', about: '' },
  { name: 'ts', sqlType: 'TIMESTAMPTZ', about: '' },
]

const TABLE: PackagedTable = {
  ...{ name: 'conversations', about: 'One', columns: COLUMNS, key: ['workspace_id', 'agent_id', 'conversation_id'] },
  ...{
    isKeyUnique: true,
    isChild: false,
    timeColumn: 'ts',
    isWhole: true,
    deletes: null,
    rows: [],
    rowCount: 0,
    partitions: null,
  },
}

const stateWith = (columns: Record<string, string>): StoredState => ({
  schemas: new Set(['convohouse']),
  tables: new Map([['conversations', new Map(Object.entries(columns))]]),
  own: new Set(['conversations']),
  watermark: null,
})

describe('a value in PostgreSQL', () => {
  let valueIn: (value: string, sqlType: string, settings?: { id?: boolean; isKey?: boolean }) => Promise<unknown>
  beforeAll(async () => {
    const connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect()
    await connection.run(`SET TimeZone = 'UTC'`)
    valueIn = async (value, sqlType, { id = false, isKey = false } = {}) => {
      const ids = new Set(id ? ['x'] : [])
      const sql = representedValue('t.x', { name: 'x', sqlType }, { ids, isKey })
      const rows = await connection.runAndReadAll(`SELECT (${sql})::VARCHAR FROM (SELECT ${value} AS x) t`)
      return rows.getRowsJson()[0]![0]
    }
  })

  it.each([
    ['a text', `'a'`, 'VARCHAR', 'a'],
    ['a NUL in a text', `'a' || chr(0) || 'b'`, 'VARCHAR', 'a\uFFFDb'],
    ['a NUL in a list', `['a' || chr(0), NULL, 'b']`, 'VARCHAR[]', '[a\uFFFD, NULL, b]'],
    ['escaped NULs in JSON', `'["\\u0000\\u0000", "\\\\u0000"]'::JSON`, 'JSON', '["\\ufffd\\ufffd", "\\\\u0000"]'],
    ['JSON as it was sent', `'{"b": 1.0,  "a": 2}'::JSON`, 'JSON', '{"b": 1.0,  "a": 2}'],
    ['a late day', `DATE '9999-12-31'`, 'DATE', '9999-12-31'],
    ['a later day', `DATE '10000-01-01'`, 'DATE', null],
    ['a day before Christ', `DATE '0001-12-31 (BC)'`, 'DATE', null],
    ['an infinite time', `'infinity'::TIMESTAMPTZ`, 'TIMESTAMPTZ', null],
    ['a late time', `TIMESTAMPTZ '9999-12-31 23:59:59.999999Z'`, 'TIMESTAMPTZ', '9999-12-31 23:59:59.999999+00'],
    ['no time', `NULL::TIMESTAMPTZ`, 'TIMESTAMPTZ', null],
  ])('is %s', async (_, value, sqlType, expected) => {
    expect(await valueIn(value, sqlType)).toBe(expected)
  })

  it('is no NULL in a key, and an id that no index can hold has a hash', async () => {
    expect(await valueIn(`'-infinity'::DATE`, 'DATE', { isKey: true })).toBe('0001-01-01')
    expect(await valueIn(`DATE '10000-01-01'`, 'DATE', { isKey: true })).toBe('9999-12-31')
    expect(await valueIn(`'infinity'::TIMESTAMPTZ`, 'TIMESTAMPTZ', { isKey: true })).toBe(
      '9999-12-31 23:59:59.999999+00',
    )
    expect(await valueIn(`repeat('é', 250)`, 'VARCHAR', { id: true })).toBe('é'.repeat(250))
    const [one, two] = [
      await valueIn(`'a' || chr(0)`, 'VARCHAR', { id: true }),
      await valueIn(`'a\uFFFD'`, 'VARCHAR', { id: true }),
    ]
    expect(one).toMatch(/^a\uFFFD…[0-9a-f]{64}$/)
    expect(two).toBe('a\uFFFD')
    expect(Buffer.byteLength(String(await valueIn(`repeat('é', 251)`, 'VARCHAR', { id: true })))).toBeLessThan(500)
  })
})

describe('a table in PostgreSQL', () => {
  it('has a type for every published column, and names and keys that PostgreSQL can hold', async () => {
    for (const { name, columns, key } of await publishedRelations()) {
      for (const column of columns) {
        expect(Buffer.byteLength(column.name), `${name}.${column.name}`).toBeLessThanOrEqual(63)
        expect([column.sqlType, columnType(column.sqlType) === 'json']).toEqual([
          column.sqlType,
          column.sqlType === 'JSON',
        ])
      }
      const texts = key.filter(of => columns.find(column => column.name === of)!.sqlType === 'VARCHAR')
      expect(texts.length, name).toBeLessThanOrEqual(5)
    }
  })

  it('is created with its columns, and afterwards gets its key and indexes, whose names PostgreSQL chooses', () => {
    expect(createTable(TARGET, TABLE)).toBe(
      'CREATE TABLE "convohouse"."conversations" ("workspace_id" text, "conversation_id" text, "agent_id" text, "day" date, "ts" timestamptz)',
    )
    expect(indexedColumns(TABLE)).toEqual([
      ['conversation_id', 'agent_id', 'workspace_id'],
      ['day'],
      ['ts'],
      ['agent_id', 'day'],
    ])
    const [key] = indexesOf(TARGET, { ...TABLE, name: 'marts.fct_conversations' })
    expect(key).toBe(
      'ALTER TABLE "convohouse_marts"."fct_conversations" ADD PRIMARY KEY ("conversation_id", "agent_id", "workspace_id")',
    )
    expect(indexesOf(TARGET, { ...TABLE, isKeyUnique: false, isChild: true })).toEqual([
      'CREATE INDEX ON "convohouse"."conversations" ("conversation_id", "agent_id", "workspace_id")',
    ])
  })

  it('has its primary key only where no two rows ever have the same key', async () => {
    const unique = new Map((await publishedRelations()).map(({ name, isKeyUnique }) => [name, isKeyUnique]))
    expect(unique.get('conversations')).toBe(true)
    expect(unique.get('marts.conversations_daily')).toBe(true)
    // Tables with child rows, observations of the same time, and keys that may be hashed.
    for (const name of ['conversation_tags', 'conversation_observations', 'marts.dim_people'])
      expect(unique.get(name), name).toBe(false)
  })

  it('is not continued by a delta where its owner has changed a column: the statement that repairs it is named', () => {
    const types = { workspace_id: 'text', conversation_id: 'text', agent_id: 'text', day: 'date' }
    const codeAndHint = (ts?: string) => {
      let found: ConvohouseError | undefined
      try {
        expectColumns(TARGET, TABLE, stateWith({ ...types, ...(ts && { ts }) }))
      } catch (error) {
        found = error as ConvohouseError
      }
      return found && [found.code, found.hint]
    }
    expect(codeAndHint('timestamp with time zone')).toBeUndefined()
    const repair = 'ALTER TABLE "convohouse"."conversations" ALTER COLUMN "ts" TYPE timestamptz USING "ts"::timestamptz'
    expect(codeAndHint('text')).toEqual(['TARGET_CHANGED', expect.stringContaining(repair)])
    expect(codeAndHint()).toEqual(['TARGET_CHANGED', expect.stringContaining('--refill')])
  })

  it('receives the columns that it lacks, and is not altered where a type differs', () => {
    const types = { workspace_id: 'text', conversation_id: 'text', agent_id: 'text', ts: 'timestamp with time zone' }
    expect(addedColumns(TARGET, TABLE, stateWith(types))).toEqual([
      'ALTER TABLE "convohouse"."conversations" ADD COLUMN "day" date',
    ])
    expect(() => addedColumns(TARGET, TABLE, stateWith({ ...types, ts: 'text' }))).toThrow(
      /Column ts of convohouse\.conversations has the type text, but timestamptz/,
    )
  })
})

describe('a connection to PostgreSQL', () => {
  it('has no password in its text, and quotes every value', () => {
    const text = connectionText({ connection: { ...TARGET.connection, user: `o'brien\\ x=1`, sslrootcert: '/ca.pem' } })
    expect(text).toContain(`user='o\\'brien\\\\ x=1'`)
    expect(text).toContain(`sslmode='require' sslrootcert='/ca.pem'`)
    expect(text).not.toMatch(/password|passfile/)
  })

  it.each([
    [
      'IO Error: Unable to connect to Postgres at "host=\'db\'": connection to server at "db", port 5432 failed: FATAL:  password authentication failed for user "loader"\n',
      'TARGET_UNUSABLE',
      'Cannot use db:5432/bi, schema convohouse: password authentication failed for user "loader"',
      /\/run\/secrets\/pg/,
    ],
    [
      'Invalid Error: Failed to copy data: ERROR:  duplicate key value violates unique constraint "t_pkey"\nDETAIL:  Key (user_email)=(ann@example.com) already exists.',
      'TARGET_UNUSABLE',
      'Cannot use db:5432/bi, schema convohouse: duplicate key value violates unique constraint "t_pkey"',
      /^Drop that constraint/,
    ],
    [
      'Invalid Error: Failed to execute query "BEGIN;\nSELECT \'hunter2\'": ERROR:  canceling statement due to lock timeout',
      'TARGET_LOCKED',
      'Cannot use db:5432/bi, schema convohouse: canceling statement due to lock timeout',
      /tries again/,
    ],
    [
      'something "quoted" with hunter2 in it',
      'TARGET_UNUSABLE',
      'Cannot use db:5432/bi, schema convohouse: something … with *** in it',
      /./,
    ],
  ] as const)('reports %j without SQL, rows and passwords', (text, code, message, hint) => {
    const error = postgresError(TARGET, { cause: new Error(text), password: 'hunter2' })
    expect([error.code, error.message]).toEqual([code, message])
    expect(error.hint).toMatch(hint)
  })

  it.each([
    ['null value in column "mine" of relation "leads" violates not-null constraint', /^Drop that constraint/],
    ['no way\nCONTEXT:  PL/pgSQL function audit() line 1 at RAISE', /^A trigger of yours/],
    ['COPY FROM not supported with row-level security', /DISABLE ROW LEVEL SECURITY/],
    ['relation "agents" already exists', /has that name/],
    ['cannot copy to view "conversations"', /^A view has the name/],
    ['cannot execute INSERT in a read-only transaction', /standby/],
    ['permission denied for schema convohouse', /^Grant it/],
    ['an error of a later version', /^So PostgreSQL answered/],
  ])("keeps PostgreSQL's words: %j, with a hint that fits", (said, hint) => {
    const cause = new Error(`Failed to execute query "INSERT INTO t": ERROR:  ${said}`)
    const error = postgresError(TARGET, { cause, password: null })
    expect(error.message).toBe(`Cannot use db:5432/bi, schema convohouse: ${said.split('\n')[0]}`)
    expect(error.hint).toMatch(hint)
  })
})
