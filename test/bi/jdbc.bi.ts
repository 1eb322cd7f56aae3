// The pages about DBeaver and Metabase: a snapshot through DuckDB's JDBC driver, with the properties of the pages. The programs themselves are
// not run.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { JDBC, startJdbc } from './jdbc.ts'
import { publishedScene } from './published-scene.ts'

const page = (name: string): string => readFileSync(join(import.meta.dirname, '../../docs/bi', name), 'utf8')

const scene = publishedScene([{ name: 'dashboards', type: 'snapshot' }])
let snapshot: string

beforeAll(() => {
  snapshot = join(scene.home, 'published', 'dashboards.duckdb')
})

/** The two ways of the page of DBeaver: a property of the driver, or an address. */
function opened(by: 'property' | 'address') {
  const text = page('dbeaver.md')
  const [, name, value] = /`(duckdb\.\w+)` = `(\w+)`/.exec(text)!
  const [address] = /jdbc:duckdb:[^`]+/.exec(text)!
  if (by === 'address') return startJdbc('lake', address.replace('/srv/convohouse', scene.home))
  return startJdbc('duckdb', `jdbc:duckdb:${snapshot}`, { [name!]: value! })
}

it.each(['property', 'address'] as const)(
  'DBeaver finds schemas, tables, columns and descriptions, and can change nothing (read-only by %s)',
  async by => {
    // The page says with which versions it was tried.
    for (const [, version] of JDBC.about.matchAll(/:([\d.]+)[,;]/g)) expect(page('dbeaver.md')).toContain(version)
    const ask = opened(by)
    const { rows: tables } = await ask('tables marts')
    expect(tables.length).toBeGreaterThan(15)
    for (const [name, type, about] of tables) {
      expect(type, name!).toMatch(/^(BASE )?TABLE$/)
      expect(about, name!).toMatch(/\w+ \w+/)
    }
    const { rows: columns } = await ask('columns marts fct_csat')
    const found = Object.fromEntries(columns.map(([name, type]) => [name, type]))
    expect(found).toMatchObject({
      day: 'DATE',
      submitted_at: 'TIMESTAMP WITH TIME ZONE',
      csat_score: 'DOUBLE',
      is_counted: 'BOOLEAN',
    })
    for (const [name, , about] of columns) expect(about, name!).toMatch(/\w/)
    await expect(ask('sql CREATE TABLE mine (i INTEGER)')).rejects.toThrow('read-only')
  },
)

it('Metabase gets the rows of its page with the properties of its driver, and a newer state when it is restarted', async () => {
  // As the driver passes them for a database file with a read-only connection.
  const ask = startJdbc('lake', `jdbc:duckdb:${snapshot}`, {
    'duckdb.read_only': 'true',
    ...{ custom_user_agent: 'metabase', temp_directory: `${snapshot}.tmp`, jdbc_stream_results: 'true' },
    ...{ TimeZone: 'UTC', old_implicit_casting: 'true' },
  })
  const [query] = [...page('metabase.md').matchAll(/```sql\n([^`]+)```/g)].map(([, sql]) => sql!).slice(-1)
  const { types, rows } = await ask(`sql ${query}`)
  expect(types).toEqual({ day: 'DATE', channel: 'VARCHAR', conversations: 'HUGEINT', resolved: 'HUGEINT' })
  const [[all]] = (await ask('sql SELECT count(*) FROM marts.fct_conversations WHERE is_counted')).rows as [[string]]
  expect(rows.reduce((sum, [, , conversations]) => sum + Number(conversations), 0)).toBe(Number(all))
  expect(Number(all)).toBeGreaterThan(400)

  const asOf = async () => (await ask('sql SELECT as_of FROM _publication')).rows[0]![0]
  const first = await asOf()
  await scene.command('publish', '--refill')
  await ask('connect')
  expect(await asOf()).toBe(first)
  await ask('close')
  expect(Date.parse((await asOf())!)).toBeGreaterThan(Date.parse(first!))
})
