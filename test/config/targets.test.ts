// Targets in the configuration, also in S3: their defaults, and that nothing unknown is accepted.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { s3Environment, targetEnvironment } from '../../src/config/s3.ts'
import { placeOf } from '../../src/config/targets.ts'
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

const CATALOG = { host: 'db.example.com', database: 'lake', user: 'loader', passwordFile: 'pg.secret' }

const lake = (settings: object) => ({ targets: [{ name: 'lake', type: 'ducklake', catalog: CATALOG, ...settings }] })

describe('targets of publications', () => {
  it('have a full-text index in a language, if they keep what was said', () => {
    const search = { search: true, pii: { content: 'keep' } }
    expect(read(one(search)).targets[0]).toMatchObject({ search: 'simple' })
    expect(read(postgres({ ...search, searchLanguage: 'german' })).targets[0]).toMatchObject({ search: 'german' })
    expect(read(one({})).targets[0]).not.toHaveProperty('search')
    expect(read(one({ compress: true })).targets[0]).toMatchObject({ compress: true })
    expect(refusal(one({ search: true })).message).toMatch(
      /targets\[0\]\.search \(line 1\) needs the texts of messages: set pii: \{ content: keep \}/,
    )
    expect(refusal(one({ ...search, searchLanguage: 'klingon' })).message).toContain('must be one of simple, arabic')
    for (const settings of [one, postgres])
      expect(refusal(settings({ searchLanguage: 'german' })).message).toMatch(
        /targets\[0\]\.searchLanguage \(line 1\) is the language of a full-text index, which .*: set search: true/,
      )
  })

  it('may be beside the data folder, and in its folder for targets', () => {
    const paths = ['./data/published/a/b.duckdb', './data-of-others/b.duckdb', './published/b.duckdb']
    for (const path of paths) expect(read(one({ path })).targets[0]).toMatchObject({ path: join(folder, path) })
    // The data folder may be that of the configuration.
    expect(read({ home: '.', ...one({ path: './published/b.duckdb' }) }).targets).toHaveLength(1)
  })

  it('are none by default', () => {
    expect(read({})).toMatchObject({ targets: [], publish: { everyMs: 900_000, memoryLimit: '512MB' } })
  })

  it('hash what identifies a person, drop what was said, and are in the data folder by default', () => {
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
        pii: { identity: 'hash', staff: 'hash', device: 'hash', content: 'drop', label: 'keep' },
        rows: null,
      },
      expect.objectContaining({ path: join(folder, 'data/published/lake'), partitionBy: ['month'] }),
      expect.objectContaining({ path: join(folder, 'out'), partitionBy: ['agent', 'month'] }),
      {
        name: 'all',
        type: 'snapshot',
        path: join(folder, 'out/all.duckdb'),
        pii: { identity: 'keep', staff: 'hash', device: 'hash', content: 'keep', label: 'keep' },
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

  it('in a lake have a catalog in PostgreSQL, and say for how long versions and files stay', () => {
    const { targets, home } = read({
      targets: [
        ...lake({}).targets,
        ...lake({ name: 'one', catalog: { ...CATALOG, schema: 'one' }, data: 'd', keepVersions: '7d' }).targets,
      ],
    })
    expect(targets).toMatchObject([
      {
        catalog: {
          ...{ schema: 'convohouse_lake', passwordFile: join(folder, 'pg.secret') },
          connection: { host: 'db.example.com', port: 5432, sslmode: 'require' },
        },
        ...{ data: join(home, 'published', 'lake'), keepVersionsMs: 2 * 86_400_000, keepFilesMs: 3_600_000 },
      },
      { catalog: { schema: 'one' }, data: join(folder, 'd'), keepVersionsMs: 7 * 86_400_000 },
    ])
  })

  it.each([
    ['no catalog', { targets: [{ name: 'lake', type: 'ducklake' }] }, /catalog .*is missing|schema of a PostgreSQL/],
    ['data that is no folder', lake({ data: 'gs://bucket/lake' }), /\.data .*must be a folder/],
    [
      'a catalog that another target has',
      {
        targets: ['a', 'b'].map(name => lake({ name, data: name }).targets[0]!),
      },
      /target b has the path or the schema of another target/,
    ],
    [
      'the folder of another target',
      { targets: [...lake({ data: 'd' }).targets, { name: 'x', type: 'parquet', path: './D' }] },
      /target x has the path or the schema of another target/,
    ],
  ])('in a lake are refused with %s', (_, settings, why) => {
    const error = refusal(settings)
    expect([error.code, error.message]).toEqual(['CONFIG_INVALID', expect.stringMatching(why)])
  })

  it.each([
    ['an unknown setting', one({ colour: 'red' }), /targets\[0\]\.colour .*not a known setting/],
    ['hashed content', one({ pii: { content: 'hash' } }), /pii\.content .*one of keep, drop/],
    ['a row filter that selects nothing', one({ rows: {} }), /targets\[0\]\.rows .*agents or organizations/],
    ['an empty list of agents', one({ rows: { agents: [] } }), /rows\.agents .*at least one id/],
    ['a password in place of its file', postgres({ password: 'x' }), /targets\[0\]\.password .*not a known setting/],
    ['a schema with a quote', postgres({ schema: 'a"b' }), /\.schema .*must be a name/],
    ['a verified server without certificates', postgres({ sslmode: 'verify-full' }), /\.sslrootcert .*is missing/],
    [
      'two targets that share a schema',
      { targets: [...postgres({ schema: 'a' }).targets, ...postgres({ name: 'x', schema: 'a_marts' }).targets] },
      /target x has the path or the schema of another target/,
    ],
    [
      'two targets that share a file, one by default and one by an address',
      {
        targets: [...one({ name: 'a' }).targets, ...one({ name: 'b', path: './data/x/../published/A.duckdb' }).targets],
      },
      /target b has the path or the schema of another target/,
    ],
    [
      'a file in the data folder',
      one({ path: './data/bi.duckdb' }),
      /target bi has the path .*data\/bi\.duckdb, among/,
    ],
    ['the folder of all targets', lake({ data: './x/../data/published' }), /target lake .*published, among/],
    ['a path that DuckDB cannot use', one({ path: './a?b/c.duckdb' }), /target bi is .*question mark/],
    ['a name that is a path', one({ name: '../bi' }), /targets\[0\]\.name .*short name/],
    ['two targets of one name', { targets: [...one({}).targets, ...one({ name: 'BI' }).targets] }, /different names/],
  ])('are refused with %s', (_, settings, why) => {
    const error = refusal(settings)
    expect(error.code).toBe('CONFIG_INVALID')
    expect(error.message).toMatch(why)
  })
})

const inS3 = (settings: object) => ({ name: 'lake', type: 'parquet', path: 's3://lake/prod', ...settings })

const ducklake = (settings: object) => ({ name: 'versions', type: 'ducklake', catalog: CATALOG, ...settings })

/** A schema for another catalog on the same server. */
const OTHER = { ...CATALOG, schema: 'other' }

const targetsOf = (...targets: object[]) => read({ targets }).targets

describe('a target in S3', () => {
  it('has a bucket, a prefix, a server and credentials from a file, or AWS and its default credentials', () => {
    const s3 = { endpoint: 'https://s3.example.com:8333/', credentialsFile: 's3.credentials', caFile: '/etc/ca.pem' }
    const targets = targetsOf(
      inS3({ s3 }),
      inS3({ name: 'aws', path: 's3://a.bucket', s3: { region: 'eu-central-1' } }),
    )
    expect(targets).toMatchObject([
      {
        path: 's3://lake/prod',
        s3: {
          ...{ bucket: 'lake', prefix: 'prod/', endpoint: 'https://s3.example.com:8333', region: null },
          ...{ urlStyle: 'path', credentialsFile: join(folder, 's3.credentials'), profile: 'default' },
          caFile: '/etc/ca.pem',
        },
      },
      {
        path: 's3://a.bucket',
        s3: { bucket: 'a.bucket', prefix: '', endpoint: null, region: 'eu-central-1', urlStyle: 'vhost' },
      },
    ])
    expect(targets.map(placeOf)).toEqual(['s3://lake/prod', 's3://a.bucket'])
    const same = [inS3({ s3 }), inS3({ name: 'b', s3: { endpoint: 'https://other.example.com' } })]
    expect(targetsOf(...same)).toHaveLength(2)
  })

  it('has the data of a lake', () => {
    const s3 = { endpoint: 'https://s3.example.com', credentialsFile: 'f' }
    const [target, other] = targetsOf(
      ducklake({ data: 's3://lake/prod/', s3 }),
      ducklake({ name: 'b', data: 's3://lake/prod', s3: {}, catalog: OTHER }),
    )
    expect(target).toMatchObject({
      data: 's3://lake/prod',
      s3: { bucket: 'lake', prefix: 'prod/', endpoint: 'https://s3.example.com', credentialsFile: join(folder, 'f') },
    })
    expect(other).toMatchObject({ data: 's3://lake/prod', s3: { endpoint: null } })
  })

  it.each([
    ['a path with a pattern', [inS3({ path: 's3://lake/*' })], /targets\[0\]\.path .*s3:\/\/BUCKET\/PREFIX/],
    ['an address with a path', [inS3({ s3: { endpoint: 'https://h/x' } })], /\.s3\.endpoint .*must be an address/],
    ['an address with a password', [inS3({ s3: { endpoint: 'https://u:p@h' } })], /must be an address/],
    ['credentials in place of their file', [inS3({ s3: { secretAccessKey: 'x' } })], /not a known setting/],
    ['a section of no file', [inS3({ s3: { profile: 'p' } })], /\.s3\.profile .*is missing/],
    ['a server of a folder', [inS3({ path: 'out', s3: {} })], /\.s3 .*begins with s3:/],
    [
      'the prefix of a lake',
      [ducklake({ data: 's3://lake/prod/' }), inS3({})],
      /lake has the path or the schema of another target/,
    ],
    [
      'one prefix twice',
      [inS3({}), inS3({ name: 'b', path: 's3://lake/prod/' })],
      /b has the path or the schema of another target/,
    ],
  ])('is refused with %s', (_, targets, why) => {
    expect(() => targetsOf(...targets)).toThrow(why)
  })
})

describe('the environment of the process that writes to S3', () => {
  const env = { AWS_ACCESS_KEY_ID: 'k', AWS_PROFILE: 'p', AWS_REGION: 'r', HOME: '/h', CONVOHOUSE_API_TOKEN: 't' }
  const placeOfTarget = (s3: object) => {
    const [target] = targetsOf(inS3({ s3 }))
    return target!.type === 'parquet' ? target!.s3! : expect.fail()
  }

  it('has the variables of AWS, but no others', () => {
    const { CONVOHOUSE_API_TOKEN: _, ...passed } = env
    expect(s3Environment(placeOfTarget({}), env)).toMatchObject(passed)
    expect(s3Environment(placeOfTarget({}), env)).not.toHaveProperty('CONVOHOUSE_API_TOKEN')
  })

  it('has none for a target elsewhere', () => {
    const [first, lakeInS3, folderOfLake] = targetsOf(
      inS3({}),
      ducklake({ data: 's3://lake/data' }),
      ducklake({ name: 'local', data: 'out', catalog: OTHER }),
    )
    for (const target of [first!, lakeInS3!]) expect(targetEnvironment(target, env)).toHaveProperty('AWS_ACCESS_KEY_ID')
    expect(targetEnvironment(folderOfLake!, env)).toEqual({})
  })

  it('has only the credentials file, if one is configured', () => {
    const found = s3Environment(placeOfTarget({ credentialsFile: 'f', profile: 'x' }), env)
    expect(found).toMatchObject({ AWS_SHARED_CREDENTIALS_FILE: join(folder, 'f'), AWS_PROFILE: 'x', AWS_REGION: 'r' })
    expect(found).toMatchObject({ AWS_EC2_METADATA_DISABLED: 'true' })
    expect(found).not.toHaveProperty('AWS_ACCESS_KEY_ID')
  })

  it('has a home folder even in a process without one, for which the library of AWS would read no file', () => {
    const { HOME: _, ...homeless } = env
    for (const s3 of [{}, { credentialsFile: 'f' }])
      expect(s3Environment(placeOfTarget(s3), homeless)).toMatchObject({ HOME: '/nonexistent', AWS_REGION: 'r' })
  })
})
