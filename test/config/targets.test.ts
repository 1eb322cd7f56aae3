// Targets in the configuration: their defaults, and that nothing unknown is accepted.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import type { ConvohouseError } from '../../src/core/errors.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'convohouse-targets-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const WORKSPACE = { id: 'w', apiUrl: 'https://api.example.com', token: { env: 'TOKEN' } }

function read(settings: object) {
  const path = join(folder, 'convohouse.yaml')
  writeFileSync(path, JSON.stringify({ home: 'data', ...settings, workspaces: [WORKSPACE] }))
  return readConfig({ path, env: {} })
}

function refusal(settings: object): ConvohouseError {
  try {
    read(settings)
  } catch (error) {
    return error as ConvohouseError
  }
  throw new Error('it was accepted')
}

const one = (settings: object) => ({ targets: [{ name: 'bi', type: 'snapshot', ...settings }] })

const postgres = (settings: object) => ({
  targets: [{ name: 'bi', type: 'postgres', host: 'h', database: 'd', user: 'u', ...settings }],
})

const lake = (settings: object) => ({ targets: [{ name: 'lake', type: 'ducklake', ...settings }] })

describe('targets of publications', () => {
  it('have a full-text index in a language, if they keep what was said', () => {
    const search = { search: true, pii: { content: 'keep' } }
    expect(read(one(search)).targets[0]).toMatchObject({ search: 'simple' })
    expect(read(postgres({ ...search, searchLanguage: 'german' })).targets[0]).toMatchObject({ search: 'german' })
    expect(read(one({})).targets[0]).not.toHaveProperty('search')
    expect(refusal(one({ search: true })).message).toMatch(
      /targets\[0\]\.search \(line 1\) needs the texts of messages: set pii: \{ content: keep \}/,
    )
    expect(refusal(one({ ...search, searchLanguage: 'klingon' })).message).toContain('must be one of simple, arabic')
    for (const settings of [one, postgres])
      expect(refusal(settings({ searchLanguage: 'german' })).message).toMatch(
        /targets\[0\]\.searchLanguage \(line 1\) is the language of a full-text index, which .*: set search: true/,
      )
  })

  it('are compressed where the configuration says so', () => {
    expect(read(one({ compress: true })).targets[0]).toMatchObject({ compress: true })
    expect(read(one({ compress: false })).targets[0]).not.toHaveProperty('compress')
  })

  it('may lie beside the data folder, and in its folder for targets', () => {
    const paths = ['./data/published/a/b.duckdb', './data-of-others/b.duckdb', './published/b.duckdb']
    for (const path of paths) expect(read(one({ path })).targets[0]).toMatchObject({ path: join(folder, path) })
    // The data folder may be that of the configuration.
    expect(read({ home: '.', ...one({ path: './published/b.duckdb' }) }).targets).toHaveLength(1)
  })

  it('are none by default', () => {
    expect(read({})).toMatchObject({ targets: [], publish: { everyMs: 900_000, memoryLimit: '512MB' } })
  })

  it('hash what identifies a person, drop what was said, and lie in the data folder, unless they say otherwise', () => {
    const rows = { agents: ['a'] }
    const { targets } = read({
      targets: [
        { name: 'bi', type: 'snapshot' },
        { name: 'lake', type: 'parquet' },
        { name: 'months', type: 'parquet', path: 'out', partitionBy: ['agent', 'month'] },
        { name: 'all', type: 'snapshot', path: 'out/all.duckdb', pii: { identity: 'keep', content: 'keep' }, rows },
      ],
    })
    expect(targets).toEqual([
      {
        name: 'bi',
        type: 'snapshot',
        path: join(folder, 'data/published/bi.duckdb'),
        pii: { identity: 'hash', staff: 'hash', device: 'hash', content: 'drop' },
        rows: null,
      },
      expect.objectContaining({ path: join(folder, 'data/published/lake'), partitionBy: ['month'] }),
      expect.objectContaining({ path: join(folder, 'out'), partitionBy: ['agent', 'month'] }),
      {
        name: 'all',
        type: 'snapshot',
        path: join(folder, 'out/all.duckdb'),
        pii: { identity: 'keep', staff: 'hash', device: 'hash', content: 'keep' },
        rows: { agents: ['a'], organizations: [] },
      },
    ])
  })

  it('in PostgreSQL demand TLS unless the server is on the same machine, and name the file of the password', () => {
    const place = { host: 'db.example.com', database: 'bi', user: 'loader' }
    const { targets, extensions } = read({
      extensions: 'ext',
      targets: [
        { name: 'bi', type: 'postgres', ...place, passwordFile: 'pg.secret' },
        { name: 'here', type: 'postgres', ...place, host: 'localhost', port: 5433, schema: 'clients' },
      ],
    })
    expect(extensions).toBe(join(folder, 'ext'))
    expect(targets).toMatchObject([
      {
        type: 'postgres',
        connection: { ...place, port: 5432, sslmode: 'require', sslrootcert: null },
        passwordFile: join(folder, 'pg.secret'),
        schema: 'convohouse',
      },
      { connection: { host: 'localhost', port: 5433, sslmode: 'prefer' }, passwordFile: null, schema: 'clients' },
    ])
  })

  it('in a lake have a catalog in SQLite unless they name another one, and say for how long versions and files stay', () => {
    const server = { host: 'db.example.com', database: 'lake', user: 'loader', passwordFile: 'pg.secret' }
    const { targets, home } = read({
      targets: [
        { name: 'lake', type: 'ducklake' },
        {
          name: 'one',
          type: 'ducklake',
          catalog: { type: 'duckdb', path: 'c.ducklake' },
          data: 'd',
          keepVersions: '7d',
        },
        { name: 'far', type: 'ducklake', catalog: { type: 'postgres', ...server }, keepFiles: '10m' },
      ],
    })
    expect(targets).toMatchObject([
      {
        catalog: { type: 'sqlite', path: join(home, 'published', 'lake.sqlite') },
        ...{ data: join(home, 'published', 'lake'), keepVersionsMs: 2 * 86_400_000, keepFilesMs: 3_600_000 },
      },
      {
        catalog: { type: 'duckdb', path: join(folder, 'c.ducklake') },
        ...{ data: join(folder, 'd'), keepVersionsMs: 7 * 86_400_000 },
      },
      {
        catalog: {
          ...{ type: 'postgres', schema: 'convohouse_lake', passwordFile: join(folder, 'pg.secret') },
          connection: { host: 'db.example.com', port: 5432, sslmode: 'require' },
        },
        keepFilesMs: 600_000,
      },
    ])
  })

  it.each([
    ['a catalog elsewhere', lake({ catalog: { type: 'mysql' } }), /catalog\.type .*one of postgres, sqlite, duckdb/],
    ['a password in place of its file', lake({ catalog: { type: 'sqlite', password: 'x' } }), /not a known setting/],
    ['data that is no folder', lake({ data: 'gs://bucket/lake' }), /\.data .*must be a folder/],
    ['versions that nobody can read', lake({ keepVersions: '1m' }), /keepVersions .*1h at least/],
    [
      'a catalog that another target has',
      {
        targets: ['a', 'b'].map(name => lake({ name, catalog: { type: 'sqlite', path: 'c' }, data: name }).targets[0]!),
      },
      /different paths and schemas/,
    ],
    [
      'the folder of another target',
      { targets: [...lake({ data: 'd' }).targets, { name: 'x', type: 'parquet', path: './D' }] },
      /target x has the path of another target/,
    ],
  ])('in a lake are refused with %s', (_, settings, why) => {
    const error = refusal(settings)
    expect([error.code, error.message]).toEqual(['CONFIG_INVALID', expect.stringMatching(why)])
  })

  it.each([
    ['an unknown type', one({ type: 'excel' }), /targets\[0\]\.type .*must be one of snapshot/],
    ['an unknown setting', one({ colour: 'red' }), /targets\[0\]\.colour .*not a known setting/],
    ['an unknown class of personal data', one({ pii: { name: 'keep' } }), /targets\[0\]\.pii\.name .*not a known/],
    ['an unknown action', one({ pii: { identity: 'encrypt' } }), /pii\.identity .*one of keep, hash, drop/],
    ['an unknown partition', { targets: [{ name: 'l', type: 'parquet', partitionBy: ['day'] }] }, /partitionBy/],
    [
      'partitions in another order',
      { targets: [{ name: 'l', type: 'parquet', partitionBy: ['month', 'agent'] }] },
      /partitionBy .*must be \[month\] or \[agent, month\]/,
    ],
    ['partitions of a file', one({ partitionBy: ['month'] }), /partitionBy .*not a known setting/],
    ['hashed content', one({ pii: { content: 'hash' } }), /pii\.content .*one of keep, drop/],
    ['an unknown row filter', one({ rows: { teams: ['t'] } }), /targets\[0\]\.rows\.teams .*not a known setting/],
    ['a row filter that selects nothing', one({ rows: {} }), /targets\[0\]\.rows .*agents or organizations/],
    ['an empty list of agents', one({ rows: { agents: [] } }), /rows\.agents .*at least one id/],
    ['a password in place of its file', postgres({ password: 'x' }), /targets\[0\]\.password .*not a known setting/],
    ['no server', { targets: [{ name: 'bi', type: 'postgres', database: 'b', user: 'u' }] }, /\.host .*is missing/],
    ['a schema of the system', postgres({ schema: 'pg_catalog' }), /\.schema .*must be a name/],
    ['a schema with a quote', postgres({ schema: 'a"b' }), /\.schema .*must be a name/],
    ['an unknown TLS mode', postgres({ sslmode: 'on' }), /\.sslmode .*one of disable, prefer/],
    ['a verified server without certificates', postgres({ sslmode: 'verify-full' }), /\.sslrootcert .*is missing/],
    [
      'two targets that share a schema',
      { targets: [...postgres({ schema: 'a' }).targets, ...postgres({ name: 'x', schema: 'a_marts' }).targets] },
      /different paths and schemas/,
    ],
    [
      'two targets that share a file, one by default and one by an address',
      {
        targets: [...one({ name: 'a' }).targets, ...one({ name: 'b', path: './data/x/../published/A.duckdb' }).targets],
      },
      /target b has the path of another target/,
    ],
    [
      'a file in the data folder',
      one({ path: './data/bi.duckdb' }),
      /target bi has the path .*data\/bi\.duckdb, among/,
    ],
    [
      'the data folder',
      { targets: [{ name: 'l', type: 'parquet', path: 'data' }] },
      /target l has the path .*data, among/,
    ],
    ['the folder of all targets', lake({ data: './x/../data/published' }), /target lake .*published, among/],
    [
      'a catalog in the data folder',
      lake({ catalog: { type: 'sqlite', path: 'data/spool/l.sqlite' } }),
      /l\.sqlite, among/,
    ],
    ['a path that DuckDB cannot use', one({ path: './a?b/c.duckdb' }), /target bi is .*question mark/],
    ['a name that is a path', one({ name: '../bi' }), /targets\[0\]\.name .*short name/],
    ['two targets of one name', { targets: [...one({}).targets, ...one({ name: 'BI' }).targets] }, /different names/],
    ['an interval below a minute', { publish: { every: '5s' } }, /publish\.every .*1m at least/],
  ])('are refused with %s', (_, settings, why) => {
    const error = refusal(settings)
    expect(error.code).toBe('CONFIG_INVALID')
    expect(error.message).toMatch(why)
  })
})
