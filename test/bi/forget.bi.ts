// After a person was forgotten, targets on servers have nothing of the person: tables, old versions of a lake and its statistics, and
// versions of objects in a bucket that keeps them.
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GetObjectCommand, ListObjectVersionsCommand, PutBucketVersioningCommand, S3Client } from '@aws-sdk/client-s3'
import { expect, it } from 'vitest'
import type { TargetConfig } from '../../src/config/targets.ts'
import { erasures, remember } from '../../src/landing/tombstones.ts'
import { publish } from '../../src/publish/publish.ts'
import { finishErasures } from '../../src/run/erasures.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { temporaryHome } from '../landing/temporary-home.ts'
import { ENTRY, SETTINGS } from '../publish/published.ts'
import { configOf, writeConfig } from '../scene.ts'
import { AGENT, landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { SMALL, workspaceIn } from '../warehouse/temporary-warehouse.ts'
import { whyLacking } from './lacking.ts'
import { filesWith, newLake } from './lake-scene.ts'
import { describeWithPostgres, postgresScene } from './postgres-scene.ts'
import { s3Scene } from './s3-scene.ts'
import { S3_SERVER, type S3Server } from './s3-server.ts'

const PERSON = 'vergissmeinnicht'

describeWithPostgres('a forgotten person', () => {
  const scene = postgresScene()
  const bucket = whyLacking(S3_SERVER) === null ? s3Scene() : null

  it('is in no table, version, statistic or object of any target', async () => {
    const home = await temporaryHome()
    const publishing = async (targets: readonly TargetConfig[], names: readonly string[]) => {
      const warehouse = await openWarehouse({ home, ...SMALL })
      const { landing, load } = workspaceIn({ home, warehouse, id: 'ws', timeZone: 'UTC' })
      const settings = { ...SETTINGS, extensions: scene.extensions }
      try {
        for (const [minute, userName] of names.entries()) {
          const gone = { ID: PERSON, userEmail: `jane@${PERSON}.example`, userName: PERSON, tags: [PERSON, userName] }
          const sentAtMs = SENT_AT_MS + minute * 60_000
          await load(await landConversations(landing, { records: [{ ID: 'a', userName }, gone], sentAtMs }))
          for (const target of targets) await publish({ warehouse, home, target, settings, entry: ENTRY })
        }
        if (names.length === 0)
          for (const target of targets) await publish({ warehouse, home, target, settings, entry: ENTRY })
      } finally {
        await warehouse.close()
      }
    }

    const table = scene.newTarget()
    const lake = newLake(scene)
    const objects = bucket?.newTarget()
    const targets = [table, lake, ...(objects ? [objects] : [])]
    const client = bucket && s3ClientOf(bucket.server)
    await client?.send(
      new PutBucketVersioningCommand({ Bucket: 'lake', VersioningConfiguration: { Status: 'Enabled' } }),
    )
    const tracesIn = async () => {
      const tables = ['conversations', 'conversation_tags', 'conversation_observations'].map(
        name => `SELECT 1 FROM ${table.schema}.${name} t WHERE strpos(t::text, '${PERSON}') > 0`,
      )
      const statistics = ['table', 'file'].map(
        of =>
          `SELECT 1 FROM ${lake.catalog.schema}.ducklake_${of}_column_stats s WHERE strpos(s::text, '${PERSON}') > 0`,
      )
      const found = [
        ['tables', (await scene.admin.rows(tables.join(' UNION ALL '))).length],
        ['statistics of the lake', (await scene.admin.rows(statistics.join(' UNION ALL '))).length],
        ['files of the lake', (await filesWith(lake.data, PERSON)).length],
        ['objects', client && objects ? await versionsWith(client, objects.s3.prefix, await temporaryHome()) : 0],
      ] as const
      return found.filter(([, count]) => count > 0).map(([place]) => place)
    }

    await publishing(targets, ['Ann', 'Amy'])
    expect(await tracesIn()).toEqual([
      ...['tables', 'statistics of the lake', 'files of the lake'],
      ...(objects ? ['objects'] : []),
    ])
    const people = { identifiers: [`email:jane@${PERSON}.example`], countries: [] }
    await remember(home, { ...people, conversations: [{ workspaceId: 'ws', agentId: AGENT, id: PERSON }] }, Date.now())
    const file = await writeConfig(await temporaryHome(), { url: 'http://127.0.0.1:1', home, workspaceId: 'ws' })
    await finishErasures(configOf(file))
    await publishing(targets, [])
    expect(await tracesIn()).toEqual([])
    const [receipt] = await erasures(home)
    expect(Object.keys(receipt!.targets).sort()).toEqual(targets.map(({ name }) => name).sort())
  })
})

const s3ClientOf = ({ endpoint, admin }: Pick<S3Server, 'endpoint' | 'admin'>) =>
  new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials: admin })

/** Counts the versions of objects that contain the person: downloads all of them into a folder. */
async function versionsWith(client: S3Client, prefix: string, folder: string): Promise<number> {
  const { Versions = [] } = await client.send(new ListObjectVersionsCommand({ Bucket: 'lake', Prefix: prefix }))
  expect(Versions.length).toBeGreaterThan(5)
  for (const { Key, VersionId } of Versions) {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: 'lake', Key, VersionId }))
    const place = await mkdtemp(join(folder, 'version-'))
    const name = Key!.endsWith('.parquet') ? 'data.parquet' : 'text.json'
    await writeFile(join(place, name), await Body!.transformToByteArray())
  }
  return (await filesWith(folder, PERSON)).length
}
