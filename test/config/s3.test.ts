// Targets in S3 in the configuration.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { s3Environment, targetEnvironment } from '../../src/config/s3-environment.ts'
import { placeOf } from '../../src/config/targets.ts'
import { readConfig } from '../../src/config.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'convohouse-s3-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const lake = (settings: object) => ({ name: 'lake', type: 'parquet', path: 's3://lake/prod', ...settings })

const ducklake = (settings: object) => ({ name: 'versions', type: 'ducklake', ...settings })

function read(...targets: object[]) {
  const path = join(folder, 'convohouse.yaml')
  const workspaces = [{ id: 'w', apiUrl: 'https://api.example.com', token: { env: 'TOKEN' } }]
  writeFileSync(path, JSON.stringify({ home: 'data', targets, workspaces }))
  return readConfig({ path, env: {} }).targets
}

describe('a target in S3', () => {
  it('has a bucket, a prefix, a server and credentials from a file, or AWS and its own ways', () => {
    const s3 = { endpoint: 'https://s3.example.com:8333/', credentialsFile: 's3.credentials', caFile: '/etc/ca.pem' }
    const targets = read(lake({ s3 }), lake({ name: 'aws', path: 's3://a.bucket', s3: { region: 'eu-central-1' } }))
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
    const same = [lake({ s3 }), lake({ name: 'b', s3: { endpoint: 'https://other.example.com' } })]
    expect(read(...same)).toHaveLength(2)
  })

  it('has the data of a lake', () => {
    const s3 = { endpoint: 'https://s3.example.com', credentialsFile: 'f' }
    const [target, other] = read(
      ducklake({ data: 's3://lake/prod/', s3 }),
      ducklake({ name: 'b', data: 's3://lake/prod', s3: {}, catalog: { type: 'sqlite', path: 'b' } }),
    )
    expect(target).toMatchObject({
      data: 's3://lake/prod',
      s3: { bucket: 'lake', prefix: 'prod/', endpoint: 'https://s3.example.com', credentialsFile: join(folder, 'f') },
      catalog: { type: 'sqlite' },
    })
    expect(other).toMatchObject({ data: 's3://lake/prod', s3: { endpoint: null } })
  })

  it.each([
    ['a path with a pattern', [lake({ path: 's3://lake/*' })], /targets\[0\]\.path .*s3:\/\/BUCKET\/PREFIX/],
    ['an empty part', [lake({ path: 's3://lake//x' })], /must be s3:/],
    ['no bucket', [lake({ path: 's3://' })], /must be s3:/],
    ['capitals', [lake({ path: 'S3://Lake' })], /must be s3:/],
    ['an address with a path', [lake({ s3: { endpoint: 'https://h/x' } })], /\.s3\.endpoint .*must be an address/],
    ['an address with a password', [lake({ s3: { endpoint: 'https://u:p@h' } })], /must be an address/],
    ['credentials in place of their file', [lake({ s3: { secretAccessKey: 'x' } })], /not a known setting/],
    ['a section of no file', [lake({ s3: { profile: 'p' } })], /\.s3\.profile .*is missing/],
    ['a server of a folder', [lake({ path: 'out', s3: {} })], /\.s3 .*begins with s3:/],
    [
      'a file of DuckDB in S3',
      [{ name: 'b', type: 'snapshot', path: 's3://lake/b.duckdb' }],
      /only a target `parquet`/,
    ],
    ['another kind of address', [lake({ path: 'gs://lake/prod' })], /must be a folder or s3:/],
    [
      'data of a lake with a pattern',
      [ducklake({ data: 's3://lake/*' })],
      /targets\[0\]\.data .*s3:\/\/BUCKET\/PREFIX/,
    ],
    ['a server of a folder of a lake', [ducklake({ data: 'out', s3: {} })], /\.s3 .*begins with s3:/],
    ['the prefix of a lake', [ducklake({ data: 's3://lake/prod/' }), lake({})], /lake has the path of another target/],
    ['one prefix twice', [lake({}), lake({ name: 'b', path: 's3://lake/prod/' })], /b has the path of another target/],
  ])('is refused with %s', (_, targets, why) => {
    expect(() => read(...targets)).toThrow(why)
  })
})

describe('the environment of the process that writes to S3', () => {
  const env = { AWS_ACCESS_KEY_ID: 'k', AWS_PROFILE: 'p', AWS_REGION: 'r', HOME: '/h', CONVOHOUSE_API_TOKEN: 't' }
  const placeOfTarget = (s3: object) => {
    const [target] = read(lake({ s3 }))
    return target!.type === 'parquet' ? target!.s3! : expect.fail()
  }

  it('has the variables of AWS, but no others', () => {
    const { CONVOHOUSE_API_TOKEN: _, ...passed } = env
    expect(s3Environment(placeOfTarget({}), env)).toMatchObject(passed)
    expect(s3Environment(placeOfTarget({}), env)).not.toHaveProperty('CONVOHOUSE_API_TOKEN')
  })

  it('has none for a target elsewhere', () => {
    const [inS3, lakeInS3, folderOfLake] = read(
      lake({}),
      ducklake({ data: 's3://lake/data' }),
      ducklake({ name: 'local', data: 'out' }),
    )
    for (const target of [inS3!, lakeInS3!]) expect(targetEnvironment(target, env)).toHaveProperty('AWS_ACCESS_KEY_ID')
    expect(targetEnvironment(folderOfLake!, env)).toEqual({})
  })

  it('has no credentials but the file, where one is configured', () => {
    const found = s3Environment(placeOfTarget({ credentialsFile: 'f', profile: 'x' }), env)
    expect(found).toMatchObject({ AWS_SHARED_CREDENTIALS_FILE: join(folder, 'f'), AWS_PROFILE: 'x', AWS_REGION: 'r' })
    expect(found).toMatchObject({ AWS_EC2_METADATA_DISABLED: 'true' })
    expect(found).not.toHaveProperty('AWS_ACCESS_KEY_ID')
  })
})
