// What `doctor` finds about the places of targets. A PostgreSQL server that answers: test/bi/postgres.bi.ts.
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type PlaceOptions, placeFindings, spaceFindings } from '../../../src/cli/doctor/target-places.ts'
import type { TargetConfig } from '../../../src/config/targets.ts'
import type { Config } from '../../../src/config.ts'
import { ENTRY, newTarget, SETTINGS } from '../../publish/published.ts'
import { newParquet } from '../../publish/published-parquet.ts'
import { temporaryFolder } from '../cli-process.ts'

const SUBJECT = { check: 'targets' }

const findingsOf = (home: string, target: TargetConfig, options: Partial<PlaceOptions> = {}) => {
  const config = { home, threads: 1, publish: SETTINGS, extensions: join(home, 'extensions') } as unknown as Config
  return placeFindings(SUBJECT, { config, target, offline: false, entry: ENTRY, ...options })
}

it('folders are tried where symbolic links lead', async () => {
  const home = await temporaryFolder()
  const [snapshot, parquet] = [newTarget(home), newParquet(home)]
  const wrong = async (target: TargetConfig) =>
    (await findingsOf(home, target)).filter(({ state }) => state === 'fail').map(({ code, found }) => [code, found])
  expect(await wrong(snapshot)).toEqual([])
  expect(await wrong(parquet)).toEqual([])
  await symlink('/proc/no/bi.duckdb', snapshot.path)
  await symlink('/proc', parquet.path)
  expect(await wrong(snapshot)).toEqual([['TARGET_UNUSABLE', expect.stringContaining('/proc')]])
  expect(await wrong(parquet)).toEqual([['TARGET_UNUSABLE', expect.stringContaining('/proc')]])
})

it('too little space is said with the folder whose file system it is', () => {
  const findings = (freeMb: number, publishedMb: number) =>
    spaceFindings(SUBJECT, 'bi', { folder: '/data', freeBytes: freeMb * 1e6, publishedBytes: publishedMb * 1e6 })
  expect(findings(2_000, 1_000)).toEqual([])
  expect(findings(900, 0)).toMatchObject([{ state: 'warn', found: 'bi: 900 MB free on the file system of /data' }])
  expect(findings(2_000, 3_000)).toMatchObject([{ state: 'warn', found: expect.stringContaining('a second file of') }])
  expect(findings(60, 0)).toMatchObject([{ state: 'fail', code: 'TARGET_UNUSABLE' }])
})

it('the extension of full-text search is loaded by a process of its own, and not with --offline', async () => {
  const home = await temporaryFolder()
  const target = newTarget(home, { search: 'simple' })
  const skipped = { state: 'skip', found: `${target.name}: extension fts not checked (--offline)` }
  expect(await findingsOf(home, target, { offline: true })).toMatchObject([skipped])
  const missing = {
    state: 'fail',
    code: 'EXTENSION_UNAVAILABLE',
    found: expect.stringContaining('fts.duckdb_extension'),
  }
  expect(await findingsOf(home, target)).toMatchObject([missing])
})

it('PostgreSQL is asked by a process of its own, and not with --offline', async () => {
  const home = await temporaryFolder()
  const connection = {
    host: 'db',
    port: 5432,
    database: 'bi',
    user: 'me',
    sslmode: 'require',
    sslrootcert: null,
  } as const
  const { pii, rows } = newTarget(home)
  const target = { name: 'bi', type: 'postgres', pii, rows, connection, passwordFile: null, schema: 'bi' } as const
  expect(await findingsOf(home, target, { offline: true })).toMatchObject([{ state: 'skip' }])
  const missing = {
    state: 'fail',
    code: 'EXTENSION_UNAVAILABLE',
    found: expect.stringMatching(/^bi: There is no extension/),
  }
  expect(await findingsOf(home, target)).toMatchObject([missing])
  await mkdir(join(home, 'extensions'))
  await writeFile(join(home, 'extensions', 'postgres_scanner.duckdb_extension'), 'no extension')
  expect(await findingsOf(home, target)).toMatchObject([{ code: 'EXTENSION_UNAVAILABLE' }])
})
