// Readers of a snapshot, in real processes over real files: what a caller's SQL sees, what bounds it, and how a new file replaces the old one.
import { readFileSync } from 'node:fs'
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SnapshotReaders, UserQuery } from '../../../src/serve/readers/snapshot-readers.ts'
import { folderOfFile } from '../../of-file.ts'
import { isDeep, rounds } from '../../tier.ts'
import { until } from '../../until.ts'
import { asOf, openReaders, writeSnapshot } from './snapshot-file.ts'

const folder = await folderOfFile()
const file = join(folder, 'snapshot.duckdb')
let readers: SnapshotReaders

beforeAll(async () => {
  await writeSnapshot(file, 1)
  readers = await openReaders(folder)
})

afterAll(() => readers.close())

async function ask(sql: string, more: Partial<UserQuery> = {}, of = readers) {
  const signal = new AbortController().signal
  const limits = { maxRows: 10, timeoutMs: 60_000, withContent: true, caller: null }
  const answer = await of.query({ ...{ sql, accept: 'application/json', ...limits, signal }, ...more })
  return { ...answer, text: await text(answer.body) }
}

/** The rows, or the code of the error. */
async function outcome(sql: string, more: Partial<UserQuery> = {}, of = readers): Promise<unknown> {
  const body = JSON.parse((await ask(sql, more, of)).text)
  return body.error?.code ?? body
}

/** The processes that this one has started. */
const children = (): string[] =>
  readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean)

describe('declared queries', () => {
  it('have numbers, texts of times, and the state of the data', async () => {
    const sql =
      'SELECT seq, ts, price, sum(seq) OVER () AS total, ts::DATE AS day, [seq] AS list FROM conversations LIMIT 1'
    expect(await readers.rows(sql)).toEqual({
      rows: [{ seq: 1, ts: asOf(1), price: 0, total: 1_000, day: '2026-11-01', list: [1] }],
      ...{ asOf: asOf(1), version: 'e.1.p1' },
    })
  })

  it('are asked once by concurrent callers, and again after a failure', async () => {
    const sql = 'SELECT random() AS n'
    const answers = await Promise.all([1, 2, 3].map(() => readers.rows(sql)))
    expect(new Set([...answers, await readers.rows(sql)].map(({ rows }) => JSON.stringify(rows))).size).toBe(1)
    for (const _ of [1, 2]) await expect(readers.rows('FROM nothing')).rejects.toMatchObject({ code: 'SQL_INVALID' })
  })

  it.runIf(isDeep)('are answered when a connection was idle for longer than a server of Node keeps one', async () => {
    await readers.rows('SELECT 1')
    await sleep(4_800)
    // This process does not notice meanwhile that a connection ends.
    for (const untilMs = performance.now() + 1_500; performance.now() < untilMs; );
    expect((await readers.rows('SELECT 2 AS n')).rows).toEqual([{ n: 2 }])
  })

  it('cannot read files or change settings, in a process without environment', async () => {
    await expect(readers.rows("FROM read_text('/etc/hostname')")).rejects.toMatchObject({ code: 'SQL_REFUSED' })
    await expect(readers.rows('SET threads = 8')).rejects.toMatchObject({ code: 'METRIC_INVALID' })
    await expect(readers.rows('CREATE TABLE t (a INT)')).rejects.toMatchObject({ code: 'METRIC_INVALID' })
    for (const child of children()) {
      const environment = readFileSync(`/proc/${child}/environ`, 'utf8').split('\0')
      expect(environment.map(line => line.split('=')[0]).sort()).toEqual(
        expect.arrayContaining(['', 'NODE_CHANNEL_FD', 'UV_THREADPOOL_SIZE']),
      )
      expect(environment.length).toBeLessThan(6)
    }
  })
})

describe('the SQL of a caller', () => {
  it.each([
    ['SELECT $1 AS a, $2::INT + 1 AS b, $1 AS c', ['x', '4'], [{ a: 'x', b: 5, c: 'x' }]],
    ['SELECT ? IS NULL AS a, ? AS b', [null, true], [{ a: true, b: true }]],
    ['SELECT seq FROM conversations WHERE ts >= $since::TIMESTAMPTZ LIMIT $n', { since: asOf(1), n: 1 }, [{ seq: 1 }]],
    ['SELECT count(*) AS n FROM conversations WHERE user_name = $1', ["'; DROP TABLE x"], [{ n: 0 }]],
    ['SELECT ?', undefined, 'SQL_INVALID'],
    ['SELECT ?', [], 'SQL_INVALID'],
    ['SELECT ?', [1, 2], 'SQL_INVALID'],
    ['SELECT $a', { b: 1 }, 'SQL_INVALID'],
    ['SELECT $a', { a: [1] }, 'FLAG_INVALID'],
    ['SELECT ?', [2 ** 60], 'FLAG_INVALID'],
  ])('binds values: %s with %j', async (sql, params, expected) => {
    expect(await outcome(sql, { params })).toEqual(expected)
  })

  it.each([
    ['application/x-ndjson', '{"n":0}\n{"n":1}\n'],
    ['text/csv', 'n\r\n0\r\n1\r\n'],
    ['application/vnd.apache.arrow.stream', expect.stringContaining('duckdb_type')],
    ['application/vnd.apache.parquet', expect.stringMatching(/^PAR1(.|\n|\r)*PAR1$/)],
  ])('is answered as %s, with the number of rows', async (accept, body) => {
    const answer = await ask('SELECT range AS n FROM range($1)', { accept, params: [2] })
    expect(answer).toMatchObject({ status: 200, text: body })
    expect(answer.headers).toMatchObject({ 'content-type': accept, 'convohouse-as-of': asOf(1) })
    expect(accept.endsWith('parquet') || answer.body.trailers).toMatchObject(
      accept.endsWith('parquet') ? {} : { 'convohouse-rows': '2', 'convohouse-truncated': 'false' },
    )
  })

  it('is cut at the bound of rows, and says so', async () => {
    const { body } = await ask('FROM conversations', { maxRows: 3 })
    expect(body.trailers).toMatchObject({ 'convohouse-rows': '3', 'convohouse-truncated': 'true' })
  })

  it.each([
    'FROM snapshot.conversations LIMIT 0',
    'FROM snapshot.marts.conversations_daily LIMIT 0',
    'FROM information_schema.tables LIMIT 0',
    'SELECT * FROM duckdb_columns() LIMIT 0',
  ])('may name what is in the file: %s', async sql => {
    expect(await outcome(sql)).toEqual([])
  })

  it.each([
    'FROM memory.main.conversations',
    'FROM memory.conversations',
    'FROM nowhere.conversations',
    'SELECT getenv(1)',
  ])('may not name anything else: %s', async sql => {
    expect(await outcome(sql)).toBe('SQL_REFUSED')
  })

  it('stops when its caller leaves', async () => {
    const endless = 'SELECT count(*) FROM range(10000000) a, range(100000) b WHERE a.range + b.range = 7'
    const leaving = Array.from({ length: 4 }, async () => {
      const caller = new AbortController()
      setTimeout(() => caller.abort(), 100)
      return outcome(endless, { signal: caller.signal })
    })
    expect(await Promise.all(leaving)).toEqual(Array(4).fill('INTERRUPTED'))
    expect(await outcome('SELECT 1 AS n')).toEqual([{ n: 1 }])
  })

  it('ends at its timeout', async () => {
    const sql = 'SELECT count(*) FROM range(10000000) a, range(100000) b WHERE a.range + b.range = 7'
    expect(await ask(sql, { timeoutMs: 100 })).toMatchObject({
      status: 504,
      text: expect.stringContaining('QUERY_TIMEOUT'),
    })
  })
})

describe('the SQL of a caller without access to personal data', () => {
  const blind = { withContent: false }

  it('sees the columns that hold none', async () => {
    expect(await outcome('SELECT * FROM conversations LIMIT 1', blind)).toEqual([
      { conversation_id: 'c0', seq: 1, ts: asOf(1), price: '0.00' },
    ])
    expect(await outcome('WITH m AS (FROM messages) SELECT m FROM m', blind)).toEqual([
      { m: { conversation_id: 'c1' } },
    ])
    expect(await outcome('FROM memory.marts.conversations_daily', blind)).toHaveLength(1)
    expect(await outcome('SELECT current_date IS NULL AS a, upper($1) AS b', { ...blind, params: ['x'] })).toEqual([
      { a: false, b: 'X' },
    ])
    const standard = `SELECT extract(year FROM ts), ts AT TIME ZONE 'UTC', trim(' x'), substring('x' FROM 1), position('a' IN 'b'),
      current_timestamp, 'a' SIMILAR TO 'b', date_part('day', ts), coalesce(seq, 1), 'x' ILIKE 'y',
      quantile_cont(seq, 0.5) OVER (), [x + 1 FOR x IN [1]], conversation_id.upper() FROM conversations LIMIT 0`
    expect(await outcome(standard, blind)).toEqual([])
    const parquet = await ask('FROM messages', { ...blind, accept: 'application/vnd.apache.parquet' })
    expect(parquet.text).toMatch(/conversation_id/)
    expect(parquet.text).not.toMatch(/secret/)
  })

  it.each([
    'SELECT user_name FROM conversations',
    'SELECT c.user_name FROM conversations c',
    'SELECT text FROM messages',
    'FROM snapshot.main.messages',
    'FROM snapshot.messages',
    'DESCRIBE snapshot.main.messages',
    'SUMMARIZE snapshot.main.messages',
    'SELECT (SELECT text FROM snapshot.main.messages)',
    'FROM _publication',
    'FROM duckdb_tables()',
    'FROM duckdb_columns',
    'FROM main.duckdb_columns',
    'FROM system.main.duckdb_tables',
    'FROM information_schema.columns',
    'FROM pg_catalog.pg_class',
    'FROM pg_class',
    'FROM sqlite_master',
    "FROM pragma_storage_info('snapshot.main.messages')",
    "FROM pragma_table_info('snapshot.main.messages')",
    "SELECT snapshot.main.word('x')",
    "SELECT snapshot.word('x')",
    "SELECT fts_main_messages.match_bm25('c1', 'secret')",
    "FROM query('FROM snapshot.main.messages')",
    "FROM query_table('snapshot.main.messages')",
  ])('sees nothing else: %s', async sql => {
    expect(await outcome(sql, blind)).toMatch(/^SQL_(INVALID|REFUSED)$/)
  })
})

describe('SQL that passes a limit', () => {
  /** Queries that DuckDB does not bound, or not soon. */
  const BOMBS = [
    'SELECT len(range(600000000))',
    "SELECT length(repeat('x', 2000000000))",
    'SELECT list(list(x)) FROM (SELECT range(3000000) AS x FROM range(1000)) GROUP BY ALL',
    "SELECT repeat('x', 10000000) || a.range AS t FROM range(1000) a ORDER BY t DESC",
    "SELECT a.range, repeat('x', 200) || a.range AS t FROM range(20000000) a ORDER BY hash(a.range), t",
    'SELECT count(*) FROM range(50000000) a JOIN range(50000000) b ON a.range % 1000 = b.range % 1000 GROUP BY a.range, b.range',
  ]

  /** Runs declared queries until `work` ends, each a new one. @returns the time of each, in ms */
  async function declaredDuring(work: Promise<unknown>): Promise<number[]> {
    const times: number[] = []
    let isOver = false
    void work.finally(() => {
      isOver = true
    })
    do {
      const begunMs = performance.now()
      const { rows } = await readers.rows(`SELECT count(*) AS n, ${performance.now()} AS at FROM conversations`)
      expect(rows).toMatchObject([{ n: 1_000 }])
      times.push(performance.now() - begunMs)
      await new Promise(resolve => setTimeout(resolve, 10))
    } while (!isOver)
    return times
  }

  it.each(isDeep ? BOMBS : BOMBS.slice(0, 1))('ends its process and no other: %s', async sql => {
    const before = children()
    // The first one must reach the bound of memory before its timeout, at a low priority.
    const bomb = outcome(sql, { timeoutMs: sql === BOMBS[0] ? 30_000 : 3_000 })
    await declaredDuring(bomb)
    expect(await bomb).toMatch(/^(QUERY_(MEMORY|TIMEOUT)|SQL_INVALID)$/)
    // After its timeout a query may still run, and end the process with what is asked next.
    await until(async () => Array.isArray(await outcome('SELECT 1 AS n')), { everyMs: 10 })
    if (sql !== BOMBS[0] || !isDeep) return
    expect(await bomb).toBe('QUERY_MEMORY')
    const kept = children().filter(child => before.includes(child))
    expect([before.length, kept.length]).toEqual([2, 1])
  })

  it.runIf(isDeep)('ends its process when DuckDB cannot interrupt it', async () => {
    const before = children()
    const sql = "SELECT levenshtein(repeat('ab', 60000), repeat('ba', 60000))"
    expect(await outcome(sql, { timeoutMs: 100 })).toBe('QUERY_TIMEOUT')
    await until(() => before.some(child => !children().includes(child)))
    expect(await outcome('SELECT 1 AS n')).toEqual([{ n: 1 }])
  })

  it.runIf(isDeep)('spills a bounded amount, and leaves no file', async () => {
    const columns = [1, 2, 3, 4].map(n => `hash(range + ${n}) AS c${n}`).join(', ')
    const sql = `WITH t AS MATERIALIZED (SELECT ${columns} FROM range(20000000))
      SELECT max(c1), max(c2), max(c3), max(c4) FROM t WHERE (SELECT max(c1) FROM t) > 0`
    expect((await ask(sql)).text).toMatch(/max_temp_directory_size/)
    const files = async () =>
      (await readdir(join(folder, 'serve'), { recursive: true })).filter(name => /\.tmp$/.test(name))
    await until(async () => (await files()).length === 0)
  })

  it.runIf(isDeep)('leaves declared queries fast, and a new process answers within 2 s', async () => {
    const p95 = (times: number[]) => times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)]!
    const idle = p95(await declaredDuring(new Promise(resolve => setTimeout(resolve, 3_000))))
    const times: number[] = []
    const restarts: number[] = []
    for (const sql of BOMBS) {
      const bombs = Promise.all([1, 2, 3].map(() => outcome(sql, { timeoutMs: 3_000 })))
      times.push(...(await declaredDuring(bombs)))
      const begunMs = performance.now()
      await until(async () => Array.isArray(await outcome('SELECT 1 AS n')), { everyMs: 10 })
      restarts.push(performance.now() - begunMs)
    }
    process.stdout.write(
      `declared p95 ms: idle ${idle.toFixed(1)}, beside bombs ${p95(times).toFixed(1)}; ready again after ms: ${restarts.map(Math.round)}\n`,
    )
    expect(p95(times)).toBeLessThan(5 * idle + 20)
    expect(Math.max(...restarts)).toBeLessThan(2_000)
  })
})

describe('a process that is killed', () => {
  it('is replaced, and requests wait for the next', async () => {
    for (const child of children()) process.kill(Number(child), 'SIGKILL')
    // A request may reach the process before its end is noticed.
    await until(() => readers.rows('SELECT 1 AS killed').then(Boolean, () => false), { everyMs: 10 })
    await until(async () => Array.isArray(await outcome('SELECT 1 AS n')), { everyMs: 10 })
  })
})

describe('a snapshot that is replaced', () => {
  it('is read from the next request on, and never two states in one answer', async () => {
    const place = join(folder, 'renamed')
    await mkdir(place)
    const path = join(place, 'snapshot.duckdb')
    await writeSnapshot(path, 1)
    const of = await openReaders(place)
    const seen = new Set<string>()
    const sql = 'SELECT seq FROM conversations UNION ALL SELECT seq FROM marts.conversations_daily'
    const accepts = ['application/json', 'application/x-ndjson', ...(isDeep ? ['application/vnd.apache.parquet'] : [])]
    let isOver = false
    const expectOne = (found: unknown[], time: string) => {
      const states = [...new Set(found)]
      expect(states).toHaveLength(1)
      expect(time).toBe(asOf(Number(states[0])))
      seen.add(String(states[0]))
    }
    const load = [
      async (count: number) => {
        const { rows, asOf: time } = await of.rows<{ seq: number }>(`${sql} -- ${count}`)
        expectOne(
          rows.map(({ seq }) => seq),
          time,
        )
      },
      async (count: number) =>
        of.reading(async (rows, state) => {
          const first = await rows<{ seq: number }>(`${sql} -- ${count} a`)
          const second = await rows<{ seq: number }>(`${sql} -- ${count} b`)
          expectOne(
            [...first.rows, ...second.rows].map(({ seq }) => seq),
            state.asOf,
          )
        }),
      async (count: number) => {
        const accept = accepts[count % accepts.length]!
        const answer = await ask(sql, { accept, maxRows: 10_000, withContent: count % 3 > 0 }, of)
        expect(answer.status).toBe(200)
        if (!accept.includes('json')) return
        const lines = answer.text.match(/(?<="seq":)\d+/g)!
        expect(lines).toHaveLength(1_001)
        expectOne(lines, answer.headers['convohouse-as-of']!)
      },
    ].map(async work => {
      let count = 0
      while (!isOver) await work(count++)
      // On a busy machine all of the others may have begun before the first rename was noticed.
      await work(count)
    })
    const last = 1 + rounds('RENAMES', { usual: 4, deep: 1_000 })
    const renames = (async () => {
      for (let seq = 2; seq <= last; seq++) await writeSnapshot(path, seq)
      await until(() => of.state().asOf === asOf(last), { everyMs: 20 })
    })().finally(() => {
      isOver = true
    })
    await Promise.all([renames, ...load])
    expect(seen.size).toBeGreaterThan(1)
    // The processes of older states have ended.
    await until(async () => (await readdir(join(place, 'serve'))).length === 2)
    await of.close()
    expect(await readdir(join(place, 'serve'))).toEqual([])
  })

  it('stays open for an answer that began before', async () => {
    const place = join(folder, 'download')
    await mkdir(place)
    const path = join(place, 'snapshot.duckdb')
    await writeSnapshot(path, 1, { rows: 100_000 })
    const of = await openReaders(place)
    const signal = new AbortController().signal
    const asked = { sql: 'SELECT seq, user_name FROM conversations', accept: 'application/x-ndjson', maxRows: 1e9 }
    const { body } = await of.query({ ...asked, timeoutMs: 60_000, withContent: true, caller: null, signal })
    await writeSnapshot(path, 2)
    await until(
      async () => ((await outcome('SELECT min(seq) AS n FROM conversations', {}, of)) as { n: number }[])[0]!.n === 2,
    )
    expect((await text(body)).match(/"seq":1/g)).toHaveLength(100_000)
    await of.close()
  })

  it('by a damaged file is read further, and the next good file is read', async () => {
    const place = join(folder, 'damaged')
    await mkdir(place)
    const path = join(place, 'snapshot.duckdb')
    await writeSnapshot(path, 1)
    const problems: unknown[] = []
    const of = await openReaders(place, { onProblem: error => problems.push(error) })
    await writeFile(`${path}.bad`, 'no database')
    await rename(`${path}.bad`, path)
    await until(() => problems.length > 0)
    expect(problems[0]).toMatchObject({ code: 'TARGET_UNUSABLE' })
    expect(await of.rows('SELECT max(seq) AS n FROM conversations')).toMatchObject({ rows: [{ n: 1 }] })
    await writeSnapshot(path, 3)
    await until(() => of.state().version === 'e.3.p3')
    await of.close()
  })

  it('that is missing is refused', async () => {
    const files = join(folder, 'empty', 'serve')
    // Of a process that has ended, and of one that runs.
    for (const pid of [2 ** 22 + 1, process.ppid])
      await mkdir(join(files, `${pid}-adhoc-x`, 'spill'), { recursive: true })
    await expect(openReaders(join(folder, 'empty'))).rejects.toMatchObject({ code: 'TARGET_UNUSABLE' })
    expect(await readdir(files)).toEqual([`${process.ppid}-adhoc-x`])
  })
})
