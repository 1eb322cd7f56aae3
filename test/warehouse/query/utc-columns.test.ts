import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { utcColumns } from '../../../src/warehouse/query/utc-columns.ts'

let instance: DuckDBInstance
let connection: DuckDBConnection

beforeAll(async () => {
  instance = await DuckDBInstance.create(':memory:')
  connection = await instance.connect()
  await connection.run(`
    CREATE TABLE c (id VARCHAR, ts TIMESTAMP, seen TIMESTAMP, n INTEGER, j JSON, day DATE);
    CREATE TABLE d (id VARCHAR, made TIMESTAMP);
    CREATE VIEW v AS SELECT id, ts AS began, ts AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo' AS there FROM c`)
})
afterAll(() => {
  connection.closeSync()
  instance.closeSync()
})

/** The names of the columns that are reported as UTC. */
async function utc(sql: string): Promise<string[]> {
  const stored = await utcColumns(connection, sql)
  const names = (await connection.prepare(sql)).columnCount
  const statement = await connection.prepare(sql)
  return Array.from({ length: names }, (_, at) => statement.columnName(at)).filter((_, at) => stored[at])
}

describe('a time that comes from a stored column', () => {
  it.each([
    ['FROM c', ['ts', 'seen']],
    ['SELECT n, seen, id, ts FROM c WHERE n > 1 ORDER BY id LIMIT 3 OFFSET 1', ['seen', 'ts']],
    ['SELECT began FROM v', ['began']],
    ['SELECT min(ts) AS a, max(seen) AS b, count(*) AS n, id, ts FROM c GROUP BY id, ts', ['a', 'b', 'ts']],
    ['SELECT arg_max(ts, seen) AS a, any_value(ts) AS b FROM c', ['a', 'b']],
    ['SELECT coalesce(ts, seen, NULL) AS a, CASE WHEN n > 1 THEN ts ELSE seen END AS b FROM c', ['a', 'b']],
    ['SELECT CASE WHEN n > 1 THEN ts END AS a FROM c', ['a']],
    ['SELECT n, max(ts) OVER (PARTITION BY id) AS a FROM c', ['a']],
    ['WITH x AS (SELECT ts AS a FROM c), y AS (FROM x) SELECT a FROM y', ['a']],
    ['WITH x AS MATERIALIZED (SELECT n, ts AS a FROM c) SELECT p.a, q.n FROM x p, x q', ['a']],
    ['SELECT c.id, made, ts FROM c LEFT JOIN d USING (id)', ['made', 'ts']],
    ['SELECT made, ts FROM c FULL JOIN d ON c.ts < d.made', ['made', 'ts']],
    ['SELECT ts FROM c WHERE id IN (SELECT id FROM d) AND EXISTS (SELECT 1 FROM d WHERE d.id = c.id)', ['ts']],
    ['SELECT n, (SELECT max(made) FROM d WHERE d.id = c.id) AS a, seen FROM c', ['a', 'seen']],
    ['SELECT ts FROM c UNION ALL SELECT made FROM d', ['ts']],
    ['SELECT DISTINCT ts FROM c EXCEPT SELECT made FROM d', ['ts']],
    ['SELECT DISTINCT ON (id) id, ts FROM c ORDER BY ts', ['ts']],
    ['SELECT unnest([1, 2]) AS u, ts FROM c', ['ts']],
    ['SELECT rowid, n, ts FROM c', ['ts']],
    ['SELECT * EXCLUDE (ts) FROM c', ['seen']],
    ['SELECT ts, l.x FROM c, LATERAL (SELECT c.n + 1 AS x) l', ['ts']],
    ["SELECT date_trunc('hour', ts) AS a, datetrunc('day', seen) AS b, count(*) AS n FROM c GROUP BY ALL", ['a', 'b']],
    [
      'SELECT time_bucket(INTERVAL 15 MINUTE, ts) AS a, time_bucket(INTERVAL 7 DAY, ts, INTERVAL 1 DAY) AS b FROM c',
      ['a', 'b'],
    ],
    ['SELECT greatest(ts, seen, NULL) AS a, least(ts, made) AS b FROM c JOIN d USING (id)', ['a', 'b']],
    ['FROM c SELECT ts QUALIFY row_number() OVER (PARTITION BY id ORDER BY ts) = 1', ['ts']],
  ])('is recognized: %s', async (sql, expected) => expect(await utc(sql)).toEqual(expected))
})

describe('a time that a query computes', () => {
  it.each([
    "SELECT ts AT TIME ZONE 'UTC' AT TIME ZONE 'America/Los_Angeles' AS t FROM c",
    'SELECT there AS t FROM v',
    'SELECT max(there) AS t FROM v',
    "WITH x AS (SELECT ts AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo' AS t FROM c) SELECT t FROM x",
    'SELECT ts - INTERVAL 8 HOUR AS t FROM c',
    "SELECT date_trunc('hour', there) AS t, time_bucket(INTERVAL 1 HOUR, there) AS u FROM v",
    'SELECT greatest(began, there) AS t FROM v',
    "SELECT date_trunc('hour', ts - INTERVAL 8 HOUR) AS t FROM c",
    "SELECT CASE WHEN n > 1 THEN ts ELSE timezone('Asia/Tokyo', timezone('UTC', ts)) END AS t FROM c",
    'SELECT coalesce(NULL, ts + INTERVAL 1 HOUR, ts) AS t FROM c',
    "SELECT TIMESTAMP '2026-01-01 00:00:00' AS t",
    'SELECT NULL::TIMESTAMP AS t FROM c',
    "SELECT ts AS t FROM c UNION ALL SELECT timezone('Asia/Tokyo', timezone('UTC', made)) FROM d",
    'SELECT made AS t FROM (SELECT there AS made, began FROM v)',
    "SELECT j->>'at' AS t FROM c",
    "SELECT CAST(j->>'at' AS TIMESTAMP) AS t FROM c",
    'SELECT CAST(day AS TIMESTAMP) AS t FROM c',
    "SELECT x AS t FROM generate_series(TIMESTAMP '2026-01-01', TIMESTAMP '2026-01-02', INTERVAL 1 HOUR) g(x)",
    'WITH RECURSIVE r AS (SELECT ts AS t, 1 AS k FROM c UNION ALL SELECT t + INTERVAL 1 HOUR, k + 1 FROM r WHERE k < 3) SELECT t FROM r',
    'SELECT unnest(list(ts)) AS t FROM c',
    'SELECT lead(there) OVER () AS t FROM v',
    'SELECT max(there) OVER () AS t, began IS NULL AS b FROM v',
    'PIVOT (SELECT id, n, there FROM v JOIN c USING (id)) ON n IN (1, 2) USING max(there)',
    "FROM (VALUES (TIMESTAMP '2026-01-01'))",
    "SELECT list_transform([ts], x -> x)[1] AS t, {'a': ts}.a AS u FROM c",
    'SHOW TABLES',
    'DESCRIBE c',
    'SUMMARIZE c',
  ])('is never treated as UTC: %s', async sql => {
    expect(await utc(sql)).toEqual([])
    // An unsupported construct must not end the transaction that the query will run in.
    await connection.run('BEGIN TRANSACTION READ ONLY')
    await utcColumns(connection, sql).finally(() => connection.run('SELECT 1'))
    await connection.run('ROLLBACK')
  })
})
