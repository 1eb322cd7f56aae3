// The rules of the target `ducklake` that need no extension: the texts of errors.
import { describe, expect, it } from 'vitest'
import type { LakeTarget } from '../../src/config/targets/ducklake.ts'
import { lakeError } from '../../src/publish/targets/ducklake/lake.ts'
import { KEEP } from './published.ts'

const SERVER: LakeTarget = {
  ...{ name: 'lake', type: 'ducklake', pii: KEEP, rows: null, data: '/data/lake', s3: null },
  ...{ keepVersionsMs: 1, keepFilesMs: 1 },
  catalog: {
    ...{ schema: 'lake', passwordFile: '/run/secrets/pg' },
    connection: { host: 'db', port: 5432, database: 'bi', user: 'loader', sslmode: 'require', sslrootcert: null },
  },
}

describe('a lake', () => {
  it.each([
    [
      `IO Error: Failed to attach DuckLake MetaData "x" at path + "postgres:host='db' user='loader'"Unable to connect to Postgres at "host='db'": connection to server at "db", port 5432 failed: FATAL:  password authentication failed for user "loader"\n`,
      'TARGET_UNUSABLE',
      'Cannot use db:5432/bi, schema lake: password authentication failed for user "loader"',
      /run\/secrets\/pg/,
    ],
    [
      'TransactionContext Error: Failed to commit: Failed to commit DuckLake transaction.\nTransaction conflict - attempting to insert into table with index "1" - but another transaction has deleted from it',
      'TARGET_CHANGED',
      'db:5432/bi, schema lake was changed by something else during a publication, which was discarded.',
      /Nothing to do/,
    ],
    [
      'Invalid Configuration Error: DATA_PATH parameter "/data/lake/" does not match existing data path in the catalog "/old/".\nYou can override',
      'TARGET_UNUSABLE',
      'The lake of db:5432/bi, schema lake keeps its data elsewhere than in /data/lake.',
      /Set `data` as it was/,
    ],
    [
      `IO Error: Could not write file "/data/lake/main/t/x.parquet": No space left on device`,
      'TARGET_UNUSABLE',
      'Cannot use the lake db:5432/bi, schema lake: the disk is full (ENOSPC)',
      /Free disk space/,
    ],
    [
      `Parser Error: Failed to get data file list from DuckLake: error at or near "ann@example.com" or 'Ann'\nLINE 1: ...ann`,
      'TARGET_UNUSABLE',
      'Cannot use the lake db:5432/bi, schema lake: Parser Error: Failed to get data file list from DuckLake: error at or near … or …',
      /as it was before/,
    ],
  ] as const)('reports errors without paths, statements and values (%#)', (text, code, message, hint) => {
    const error = lakeError(SERVER, new Error(text))
    expect([error.code, error.message]).toEqual([code, message])
    expect(error.hint).toMatch(hint)
  })
})
