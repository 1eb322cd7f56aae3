// The target `ducklake` with its data in S3: its objects, its credentials, and wrong settings.
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { placeFindings } from '../../src/cli/doctor/targets.ts'
import type { S3Place } from '../../src/config/s3.ts'
import type { LakeTarget } from '../../src/config/targets/ducklake.ts'
import type { Config } from '../../src/config.ts'
import { maintain } from '../../src/publish/targets/ducklake/maintenance.ts'
import { eraseRecords } from '../../src/warehouse/maintenance/erase-records.ts'
import { patchedTarget } from '../publish/patched-target.ts'
import { ENTRY, SETTINGS } from '../publish/published.ts'
import { AGENT, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import type { Workspace } from '../warehouse/temporary-warehouse.ts'
import { whyLacking } from './lacking.ts'
import { lakeWriter } from './lake-packages.ts'
import { filesWith, newLake, publishLake, readingLake } from './lake-scene.ts'
import { describeWithPostgres, failureOf, load, postgresScene } from './postgres-scene.ts'
import { s3Scene } from './s3-scene.ts'
import { S3_SERVER } from './s3-server.ts'

const scene = postgresScene()
const s3 = s3Scene()
const { app } = scene

/** Returns a lake with a separate schema and prefix. */
function newTarget(place: Partial<S3Place> = {}): LakeTarget & { s3: S3Place } {
  const { path, s3: data } = s3.newTarget({}, place)
  return { ...newLake(scene), data: path, s3: data }
}

/** Returns the secret of a reader: its keys may list and read. */
const secretOf = (): string => {
  const { port, reader } = s3.server
  return `CREATE SECRET (TYPE s3, KEY_ID '${reader.accessKeyId}', SECRET '${reader.secretAccessKey}',
    ENDPOINT '127.0.0.1:${port}', URL_STYLE 'path', USE_SSL false)`
}

const reading = () => ({ password: scene.server.password, secret: secretOf() })

const namesIn = (target: LakeTarget, { id }: Workspace) =>
  readingLake(target, reading(), async rows =>
    (await rows(`SELECT user_name FROM conversations WHERE workspace_id = '${id}' ORDER BY 1`)).flat(),
  )

/** Returns the objects below the prefix that contain the text, or have values that do. */
async function objectsWith(target: LakeTarget, text: string): Promise<string[]> {
  const folder = await mkdtemp(join(app.home, 'objects-'))
  for (const [at, name] of (await s3.bucket.names(target)).entries())
    await writeFile(join(folder, `${at}.parquet`), await s3.bucket.bytes(`${target.s3!.prefix}${name}`))
  return filesWith(folder, text)
}

/** Returns the text of a failure with its hint; it must not contain a secret. */
async function failureText(target: LakeTarget): Promise<string> {
  const { code, message, hint } = await failureOf(publishLake(app, target))
  const text = `${code} ${message} ${hint}`
  for (const secret of [scene.server.password, s3.server.admin.secretAccessKey, s3.server.reader.secretAccessKey])
    expect(text).not.toContain(secret)
  return text
}

const describeWithBoth = whyLacking(S3_SERVER) === null ? describeWithPostgres : describeWithPostgres.skip

describeWithBoth('a lake with its data in S3', () => {
  it('is compacted, and removes only objects of no version and leftovers of killed publications', async () => {
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(s3.app.home, 'admin.credentials'))
    vi.stubEnv('AWS_REGION', 'us-east-1')
    try {
      const target = { ...newTarget(), keepVersionsMs: 0, keepFilesMs: 0 }
      const at = target.s3
      const writer = await lakeWriter(app.home, target)
      await writer.publish([{ id: 1, name: 'first' }], { refill: true, erases: false })
      for (const name of ['second', 'third']) await writer.publish([{ id: 1, name }])
      const orphan = 'ducklake-01a20c2f-871b-70f7-9fc4-172adcd94eb6.parquet'
      const others = [`mine/${orphan}`, 'mine.parquet']
      for (const name of [`main/people/${orphan}`, ...others]) await s3.bucket.put(`${at!.prefix}${name}`, 'x')
      for (let round = 0; round < 2; round++)
        expect(await maintain(writer.database, target, { mostFiles: 1 })).toBeNull()
      const names = await s3.bucket.names(target)
      expect(names).toEqual(expect.arrayContaining(others))
      expect(names.filter(name => name.includes(orphan))).toEqual(others.slice(0, 1))
      for (const name of others) await s3.bucket.remove(`${at!.prefix}${name}`)
      expect(await objectsWith(target, 'first')).toEqual([])
      const rows = await readingLake(target, reading(), rows => rows('SELECT name FROM people'))
      expect(rows).toEqual([['third']])
      expect(names.filter(name => name.startsWith('main/people/'))).toHaveLength(1)
    } finally {
      vi.unstubAllEnvs()
    }
  })

  it('has no object with a value of an erased record', async () => {
    const [place, target] = [app.workspace(), newTarget()]
    await load(place, [{ ID: 'e', userName: 'vergissmeinnicht' }, { ID: 'a' }])
    await publishLake(app, target)
    expect(await objectsWith(target, 'vergissmeinnicht')).not.toEqual([])
    const records = [{ table: 'conversations', key: [AGENT, 'e'] }]
    await eraseRecords(app.warehouse.writer, { workspaceId: place.id, records, nowMs: SENT_AT_MS })
    expect(await publishLake(app, target, { verify: true })).toMatchObject({ reason: 'erased records' })
    expect(await objectsWith(target, 'vergissmeinnicht')).toEqual([])
  })

  it('never shows its credentials: neither in the catalog nor in what DuckDB lists of databases and secrets', async () => {
    const target = newTarget()
    const state = join(app.home, 'state')
    const entry = await patchedTarget(
      app.home,
      'spy',
      `if (!step.startsWith('COMMIT')) return
      const rows = async table => (await connection.runAndReadAll('FROM ' + table)).getRowsJson()
      const ofProcess = ['environ', 'cmdline'].map(name => readFileSync('/proc/self/' + name, 'latin1'))
      writeFileSync(${JSON.stringify(state)}, JSON.stringify([await rows('duckdb_databases()'), await rows('duckdb_secrets()'), ofProcess]))`,
    )
    await publishLake(app, target, { entry })
    const found = await readFile(state, 'latin1')
    expect(found).toContain('secret=redacted')
    const { accessKeyId, secretAccessKey } = s3.server.admin
    const metadata = JSON.stringify(await scene.admin.rows(`SELECT key, value FROM ${target.name}.ducklake_metadata`))
    expect(metadata).toContain(target.data)
    expect(metadata).not.toContain(accessKeyId)
    for (const text of [found, metadata]) expect(text).not.toContain(secretAccessKey)
  })

  it('reports wrong settings with a hint, and readers keep the earlier version', async () => {
    const place = app.workspace()
    const target = newTarget()
    await load(place, [{ ID: 'a', userName: 'Ann' }])
    await publishLake(app, target)
    await load(place, [{ ID: 'a', userName: 'Amy' }], 1)
    const refused = (at: Partial<S3Place>) => failureText({ ...target, s3: { ...target.s3, ...at } })
    const wrong = await s3.credentials('wrong', { ...s3.server.admin, secretAccessKey: 'wrong-secret-key' })
    expect(await refused({ credentialsFile: wrong })).toMatch(
      /^TARGET_UNUSABLE Cannot use s3:\/\/lake\/\w+: HTTP Error: .*403.*`convohouse doctor` asks the server/,
    )
    const mayRead = await s3.credentials('reader', s3.server.reader)
    expect(await refused({ credentialsFile: mayRead })).toMatch(
      /^TARGET_UNUSABLE Cannot use s3:\/\/lake\/\w+: HTTP Error: .*403.*`convohouse doctor` asks the server/,
    )
    expect(await failureText(newTarget({ endpoint: 'http://127.0.0.1:1' }))).toMatch(
      /ECONNREFUSED.*Check that http:\/\/127\.0\.0\.1:1 can be reached/,
    )
    expect(await failureText({ ...newTarget(), data: target.data, s3: target.s3 })).toMatch(
      /^TARGET_UNUSABLE s3:.*\/main has the data of another lake/,
    )
    expect(await namesIn(target, place)).toEqual(['Ann'])
    expect(await publishLake(app, target)).toMatchObject({ kind: 'delta' })
    expect(await namesIn(target, place)).toEqual(['Amy'])
  })

  it('is tested by doctor', async () => {
    const { home } = app
    const config = { home, threads: 1, publish: SETTINGS, extensions: scene.extensions } as unknown as Config
    const findings = (target: LakeTarget) => placeFindings({ config, target, offline: false, entry: ENTRY })
    const target = newTarget()
    expect(await findings(target)).toMatchObject([
      {
        state: 'ok',
        found: expect.stringContaining(`can be written (the first publication creates `),
      },
    ])
    expect(await s3.bucket.names(target)).toEqual([])
    const credentialsFile = await s3.credentials('reader', s3.server.reader)
    expect(await findings({ ...target, s3: { ...target.s3, credentialsFile } })).toMatchObject([
      { code: 'TARGET_UNUSABLE', found: expect.stringContaining('AccessDenied') },
    ])
  })
})
