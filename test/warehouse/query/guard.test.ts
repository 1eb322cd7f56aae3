import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ConvohouseError } from '../../../src/core/errors.ts'
import { guard, prepareGuarded } from '../../../src/warehouse/query/guard/guard.ts'
import { trimStatement } from '../../../src/warehouse/query/guard/sql-text.ts'
import { folderOfFile } from '../../of-file.ts'

const folder = await folderOfFile()
const secret = join(folder, 'secret.csv')
let instance: DuckDBInstance
let connection: DuckDBConnection

beforeAll(async () => {
  await writeFile(secret, 'word\nopensesame\n')
  instance = await DuckDBInstance.create(join(folder, 'warehouse.duckdb'))
  connection = await instance.connect()
  await connection.run('CREATE TABLE conversations (id VARCHAR, turns INTEGER, tags VARCHAR[], extra JSON)')
  await connection.run("INSERT INTO conversations VALUES ('a', 1, ['x', 'y'], '{\"k\": 1}')")
  await connection.run('CREATE VIEW busy AS SELECT * FROM conversations WHERE turns > 0')
})

afterAll(() => {
  connection.closeSync()
  instance.closeSync()
})

const admit = async (sql: string) => prepareGuarded(connection, await guard(connection, sql))
const read = async (sql: string) => (await (await admit(sql)).runAndReadAll()).getRowsJson()

describe('the guard', () => {
  it.each([
    'SELECT id, turns FROM conversations',
    'SELECT 1;;  -- done',
    '/* a /* nested */ comment */ FROM conversations',
    'WITH c AS (FROM busy) SELECT count(*) FROM c',
    'WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) FROM n',
    'VALUES (1), (2)',
    'TABLE conversations',
    'FROM main.conversations',
    'FROM warehouse.main.busy',
    'FROM warehouse.conversations',
    'SELECT table_name FROM information_schema.tables',
    'DESCRIBE conversations',
    'SUMMARIZE conversations',
    'SHOW TABLES',
    'SHOW ALL TABLES',
    'SELECT tag FROM conversations, unnest(tags) AS u(tag)',
    "SELECT extra->>'k', [t for t in tags if t <> 'x'], {'a': 1}.a FROM conversations",
    'SELECT key FROM conversations, json_each(extra)',
    'SELECT sum(turns) OVER (PARTITION BY id ORDER BY turns) FROM conversations',
    "PIVOT conversations ON id IN ('a') USING sum(turns)",
    'UNPIVOT (SELECT turns FROM conversations) ON turns',
    "SELECT date_trunc('day', now()), extract(year FROM now()), 'read_text(1)', \"id\" FROM conversations",
    '(SELECT 1) UNION ALL (SELECT 2) ORDER BY 1',
    "SELECT json_extract(extra, '$.a[*].b'), extra->'$..a', extra->>key FROM conversations, json_each(extra)",
    `SELECT from_json(extra, '{"a": ["INT"], "b": {"c": "VARCHAR"}}') FROM conversations`,
    "SELECT list_aggregate([1, 2], 'sum'), list_transform([1], lambda x: x + 1)",
  ])('admits %s', async sql => {
    await expect(read(sql)).resolves.not.toHaveLength(0)
  })

  it.each([
    "COPY conversations TO '/tmp/out.csv'",
    "COPY conversations FROM '/tmp/out.csv'",
    "ATTACH '/tmp/other.duckdb' AS other",
    'PRAGMA database_list',
    'SET threads = 1',
    'LOAD httpfs',
    'CHECKPOINT',
    'BEGIN',
    'DELETE FROM conversations',
    'INSERT INTO conversations VALUES (1)',
    'CREATE TEMP TABLE t AS SELECT 1',
    'PREPARE p AS SELECT 1',
    "EXPORT DATABASE '/tmp/x'",
    'EXPLAIN SELECT 1',
    "/* x */ EXPLAIN -- y\n ANALYZE COPY (SELECT 1) TO '/tmp/out.csv'",
  ])('refuses the statement %s', async sql => {
    await expect(admit(sql)).rejects.toMatchObject({ code: 'SQL_REFUSED' })
  })

  it.each([
    'PIVOT conversations ON id',
    'from (pivot conversations on id using count(*))',
    'WITH p AS (PIVOT_WIDER conversations ON id USING sum(turns)) FROM p',
  ])('says how to write a PIVOT that names no values: %s', async sql => {
    await expect(admit(sql)).rejects.toMatchObject({
      code: 'SQL_REFUSED',
      message: expect.stringMatching(/^PIVOT does not name the values/),
      hint: expect.stringMatching(/ON channel IN \(.+\) .+ count\(\*\) FILTER \(/),
    })
    // The queries that the hint suggests work.
    const named = "PIVOT conversations ON id IN ('a', 'b') USING count(*) GROUP BY turns"
    expect(await read(named)).toEqual([[1, '1', '0']])
    expect(await read("SELECT count(*) FILTER (id = 'a') AS a FROM conversations")).toEqual([['1']])
  })

  it('does not mistake a text or a name for a PIVOT', async () => {
    const refused = admit('CREATE TABLE t AS SELECT \'PIVOT\' AS "PIVOT"')
    await expect(refused).rejects.toThrow('CREATE is not allowed in queries')
  })

  it.each([
    'SELECT 1; SELECT 2',
    'SELECT 1; DROP TABLE conversations',
    "SELECT 1; COPY conversations TO '/tmp/out.csv'; --",
    "SELECT 1) TO '/tmp/out.csv'; COPY (SELECT 1",
  ])('refuses more than one statement: %s', async sql => {
    await expect(admit(sql)).rejects.toThrow()
  })

  const readers = (file: string) => [
    `SELECT * FROM '${file}'`,
    `FROM "${file}"`,
    `FROM "${file.slice(0, -4)}".csv`,
    `FROM "${file.slice(0, -4)}"."CSV"`,
    `FROM read_csv('${file}')`,
    `FROM READ_CSV_auto('${file}')`,
    `FROM main.read_text('${file}')`,
    `FROM system.main."Read_Text"('${file}')`,
    `FROM read_blob('${file}')`,
    `FROM read_json_objects(['${file}'])`,
    `FROM sniff_csv('${file}')`,
    `FROM glob('${file}')`,
    `FROM query('FROM "${file}"')`,
    `FROM query_table('${file}')`,
    `FROM query_table(['${file}'])`,
    `FROM histogram('${file}', 'word')`,
    `FROM histogram_values('${file}', 'word')`,
    `FROM json_execute_serialized_sql(json_serialize_sql('FROM "${file}"'))`,
    `SELECT json_serialize_plan('FROM "${file}"')`,
    `FROM sql_auto_complete('FROM ''${folder}/')`,
    `WITH c AS MATERIALIZED (FROM '${file}') FROM c`,
    `SELECT (SELECT word FROM '${file}')`,
    `SELECT 1 WHERE EXISTS (FROM '${file}')`,
    `SELECT 1 IN (SELECT 1 FROM '${file}')`,
    `FROM conversations, LATERAL (SELECT id, word FROM '${file}')`,
    `FROM conversations, LATERAL read_text('${file}')`,
    `FROM (VALUES ((SELECT word FROM '${file}')))`,
    `SELECT 1 ORDER BY (SELECT word FROM '${file}')`,
    `SELECT 1 LIMIT (SELECT count(*) FROM '${file}')`,
    `SELECT max(turns) OVER (ORDER BY (SELECT word FROM '${file}')) FROM conversations`,
    `SELECT count(*) FILTER (EXISTS (FROM '${file}')) FROM conversations`,
    `SELECT [w for w in (SELECT list(word) FROM '${file}')]`,
    `SELECT list_transform([1], lambda x: (SELECT word FROM '${file}'))`,
    `SELECT 1 UNION SELECT word FROM '${file}'`,
    `SELECT 1 QUALIFY (SELECT true FROM '${file}')`,
    `SELECT turns FROM conversations GROUP BY ALL HAVING (SELECT true FROM '${file}')`,
    `FROM range((SELECT count(*) FROM '${file}'))`,
    `FROM conversations c JOIN '${file}' f ON c.id = f.word`,
    `FROM conversations POSITIONAL JOIN '${file}'`,
    `FROM (PIVOT '${file}' ON word IN ('opensesame') USING count(*))`,
    `FROM (PIVOT conversations ON id IN (SELECT word FROM '${file}') USING count(*))`,
    `UNPIVOT '${file}' ON word`,
    `DESCRIBE '${file}'`,
    `SUMMARIZE '${file}'`,
    `SHOW '${file}'`,
    `FROM (DESCRIBE '${file}')`,
    // The CTE has the file's name, but is out of scope where the name is used.
    `SELECT (WITH "${file}" AS (SELECT 1) SELECT 1), * FROM "${file}"`,
    `FROM conversations AT (VERSION => (SELECT word FROM '${file}'))`,
    `FROM conversations TABLESAMPLE reservoir(1) JOIN read_text('${file}') ON true`,
  ]

  it('opens no file under any name', async () => {
    for (const sql of readers(secret)) {
      const outcome = await admit(sql).then(
        () => 'let through',
        (error: ConvohouseError) => error.code,
      )
      expect({ sql, outcome }).toEqual({ sql, outcome: 'SQL_REFUSED' })
    }
  })

  it('treats a qualified name of no known table as a file in the working folder', async () => {
    await expect(admit('FROM main.csv')).rejects.toMatchObject({ code: 'SQL_REFUSED' })
    await expect(admit('FROM conversations.csv')).rejects.toMatchObject({ code: 'SQL_REFUSED' })
  })

  it.each([
    'SELECT getenv(1)',
    'SELECT system.main."GetEnv"(\'HOME\')',
    "SELECT ('HOME').getenv()",
    "SELECT current_setting('secret_directory')",
    "SELECT write_log('x')",
    "SELECT nextval('s')",
    'FROM checkpoint()',
    "FROM enable_logging('QueryLog')",
    'FROM duckdb_secrets()',
    "FROM which_secret('s3://x', 's3')",
    'FROM duckdb_settings()',
    'FROM duckdb_logs',
    'FROM duckdb_databases',
    'FROM pragma_database_list',
    'FROM duckdb_extensions()',
    'FROM duckdb_variables()',
    "SELECT json_structure(repeat('[', 100000) || repeat(']', 100000))",
    'SELECT json_group_structure(extra) FROM conversations',
    "SELECT list_aggregate([extra], 'json_group_structure') FROM conversations",
    "SELECT list_aggregate([extra], 'json_group' || '_structure') FROM conversations",
    "SELECT json_extract(extra, '$' || repeat('[*]', 100000)) FROM conversations",
    "SELECT extra->('$' || repeat('[*]', 100000)) FROM conversations",
    "SELECT extra->>('$' || repeat('[*]', 100000)) FROM conversations",
    "SELECT extra.json_extract('$' || repeat('[*]', 100000)) FROM conversations",
    "SELECT json_extract(extra, ['$' || repeat('[*]', 100000)]) FROM conversations",
    `SELECT extra->'$${'[*]'.repeat(101)}' FROM conversations`,
    `SELECT json_transform(extra, repeat('{"a":', 100000) || '"INT"' || repeat('}', 100000)) FROM conversations`,
    `SELECT from_json(extra, '${'['.repeat(101)}"INT"${']'.repeat(101)}') FROM conversations`,
    'SELECT __internal_decompress_string(1)',
    "SELECT json_contains(extra, '1') FROM conversations",
    'SELECT json_merge_patch(extra, extra) FROM conversations',
    "SELECT 'x'::VARIANT",
    "SELECT (repeat('[', 400000) || repeat(']', 400000))::JSON::VARIANT",
    'SELECT TRY_CAST([extra] AS VARIANT[]) FROM conversations',
    `SELECT a${'.a'.repeat(101)} FROM conversations`,
    'FROM pg_catalog.pg_settings',
    'FROM arrow_scan(1, 2, 3)',
    "FROM 's3://bucket/x.parquet'",
    "FROM 'https://example.com/x.csv'",
    "FROM parquet_scan('x')",
  ])('refuses %s', async sql => {
    await expect(admit(sql)).rejects.toMatchObject({ code: 'SQL_REFUSED' })
  })

  it('names the refused function, and gives a hint', async () => {
    await expect(admit("FROM read_text('/etc/passwd')")).rejects.toMatchObject({
      code: 'SQL_REFUSED',
      message: expect.stringContaining('read_text()'),
      hint: expect.stringContaining('SHOW TABLES'),
    })
    await expect(admit('FROM main.conversatons')).rejects.toMatchObject({
      hint: expect.stringMatching(/^Did you mean main.conversations\?/),
    })
    await expect(admit('DROP TABLE conversations')).rejects.toThrow('DROP is not allowed in queries')
  })

  it('shows where the syntax is wrong', async () => {
    await expect(admit('SELECT 1 FORM conversations WHERE')).rejects.toMatchObject({
      code: 'SQL_INVALID',
      message: expect.stringMatching(/syntax error.*\n+LINE 1:.*\n +\^/),
    })
  })

  it('shows an unknown column or table with suggestions', async () => {
    await expect(admit('SELECT turn FROM conversations')).rejects.toMatchObject({
      code: 'SQL_INVALID',
      message: expect.stringMatching(/Candidate bindings: "turns".*\n+LINE 1:.*\n +\^/s),
    })
    await expect(admit('FROM conversation')).rejects.toThrow('Did you mean "conversations"')
  })

  it('rejects empty SQL and parameters without values', async () => {
    await expect(admit(' -- nothing\n')).rejects.toMatchObject({ code: 'SQL_INVALID' })
    await expect(admit('SELECT $1')).rejects.toMatchObject({ code: 'SQL_INVALID' })
    await expect(admit('SELECT ?')).rejects.toMatchObject({ code: 'SQL_INVALID' })
  })

  it.each(['1e400', '-1e400', "'Infinity'", `'NaN, -Infinity \\" Infinity'`, '[1e400, -1e999]'])(
    'admits the constant %s, and still refuses the rest of its statement',
    async constant => {
      await expect(read(`SELECT ${constant} AS v, 'a "Infinity" \\' AS t`)).resolves.toHaveLength(1)
      const refused = { code: 'SQL_REFUSED' }
      await expect(admit(`SELECT ${constant}, t FROM read_text('/etc/passwd') r(t)`)).rejects.toMatchObject(refused)
      await expect(admit(`SELECT ${constant} FROM "Infinity.csv"`)).rejects.toMatchObject(refused)
    },
  )

  it('reads an IN list of 150,000 elements', async () => {
    const numbers = Array.from({ length: 150_000 }, (_, at) => at).join(',')
    await expect(guard(connection, `SELECT id FROM conversations WHERE turns IN (${numbers})`)).resolves.toBeDefined()
    const fewer = numbers.slice(0, 10_000)
    await expect(admit(`SELECT 1 IN (${fewer}0) FROM read_text('x')`)).rejects.toMatchObject({ code: 'SQL_REFUSED' })
  })

  it('reveals nothing about other open files of the process, nor its secrets', async () => {
    const other = join(folder, 'private.duckdb')
    await connection.run(`ATTACH '${other}' AS private`)
    await connection.run('CREATE TABLE private.notes AS SELECT 42 AS answer')
    await connection
      .run(`CREATE SECRET canary (TYPE http, BEARER_TOKEN 'canary-8841', SCOPE 'https://canary.example')`)
      .catch(() => {})
    try {
      await expect(admit('FROM private.notes')).rejects.toMatchObject({ code: 'SQL_REFUSED' })
      await expect(admit('FROM private.main.notes')).rejects.toMatchObject({ code: 'SQL_REFUSED' })
      const functions = await connection.runAndReadAll(
        `SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'table'`,
      )
      const views = await connection.runAndReadAll('SELECT DISTINCT view_name FROM duckdb_views() WHERE internal')
      const sources = [
        ...functions.getRows().flatMap(([name]) => [`${name}()`, `${name}('conversations')`, `${name}(1)`]),
        ...views.getRows().map(([name]) => String(name)),
      ]
      let shown = 0
      for (const source of sources) {
        const sql = `FROM ${source} LIMIT 1000`
        const rows = await read(sql).catch(() => null)
        if (rows === null) continue
        shown += 1
        expect({ sql, leaks: /guard-|canary/.test(JSON.stringify(rows)) }).toEqual({ sql, leaks: false })
      }
      expect(shown).toBeGreaterThan(20)
    } finally {
      await connection.run('DETACH private')
    }
  })

  it('refuses a NUL, at which the parser would stop', async () => {
    await expect(admit("SELECT 1\0; FROM read_text('x')")).rejects.toMatchObject({ code: 'SQL_REFUSED' })
  })
})

describe('the end of a statement', () => {
  it.each([
    ["SELECT ';' ; -- ;", "SELECT ';'"],
    ['SELECT $$;$$;', 'SELECT $$;$$'],
    ['SELECT $a$;$$;$a$;', 'SELECT $a$;$$;$a$'],
    ["SELECT e'\\';';", "SELECT e'\\';'"],
    ['SELECT 1 AS ";";', 'SELECT 1 AS ";"'],
    [' ; /* ; */ SELECT 1', 'SELECT 1'],
  ])('is found in %s', (sql, trimmed) => {
    expect(trimStatement(sql)).toBe(trimmed)
  })

  it('is found after any quoted text', () => {
    fc.assert(
      fc.property(fc.string(), text => {
        const quoted = `SELECT '${text.replaceAll("'", "''")}'`
        expect(trimStatement(`${quoted} ; -- ${text.replace(/[\r\n]/g, ' ')}`)).toBe(quoted)
      }),
    )
  })
})
