// A warehouse, an S3 server with the bucket `lake`, and targets in it, for one test file.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, describe } from 'vitest'
import type { S3Place } from '../../src/config/s3.ts'
import type { ParquetTarget } from '../../src/config/targets/parquet.ts'
import type { PublicationReport } from '../../src/core/publication-report.ts'
import type { PublishOptions } from '../../src/publish/publish.ts'
import { KEEP, publishTo, SETTINGS } from '../publish/published.ts'
import { type TemporaryWarehouse, temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { EXTENSIONS, extensionFolder } from './extensions.ts'
import { whyLacking } from './lacking.ts'
import { type Keys, keysText, S3_SERVER, type S3Server, s3Server } from './s3-server.ts'

export type S3Target = ParquetTarget & { s3: S3Place }

/** Reads and writes the bucket as its owner. */
export interface Bucket {
  /** Returns the names below the prefix of a target, sorted. */
  names(target: Pick<ParquetTarget, 's3'>): Promise<string[]>
  text(key: string): Promise<string>
  bytes(key: string): Promise<Uint8Array>
  put(key: string, content: string): Promise<void>
  remove(key: string): Promise<void>
}

export interface S3Scene {
  app: TemporaryWarehouse
  server: S3Server
  bucket: Bucket
  /** Returns a target with a prefix that no other test uses. */
  newTarget(settings?: Partial<ParquetTarget>, place?: Partial<S3Place>): S3Target
  /** Publishes and compares the target with the warehouse. */
  publish(target: ParquetTarget, options?: Partial<PublishOptions>): Promise<PublicationReport>
  /** Writes a credentials file. @returns its path */
  credentials(name: string, keys: Keys): Promise<string>
  /** Runs SQL with DuckDB's httpfs, as a reader, after the statements `before`. */
  query(sql: string, before?: readonly string[]): Promise<unknown[][]>
  /** Returns the SQL of a table by a glob over the names of its copies. */
  globbed(target: ParquetTarget, table: string): string
  /** Returns the SQL of a table by the manifest. */
  listed(target: ParquetTarget, table: string): Promise<string>
}

/** Describes tests that need an S3 server. */
export const describeWithS3 = describe.skipIf([S3_SERVER, EXTENSIONS].some(tool => whyLacking(tool) !== null))

let targets = 0

function bucketOf(client: S3Client): Bucket {
  const at = (key: string) => ({ Bucket: 'lake', Key: key })
  return {
    async names({ s3 }) {
      const found: string[] = []
      let token: string | undefined
      do {
        const page = await client.send(
          new ListObjectsV2Command({ Bucket: 'lake', Prefix: s3!.prefix, ContinuationToken: token }),
        )
        found.push(...(page.Contents ?? []).map(({ Key }) => Key!.slice(s3!.prefix.length)))
        token = page.NextContinuationToken
      } while (token !== undefined)
      return found.sort()
    },
    text: async key => (await client.send(new GetObjectCommand(at(key)))).Body!.transformToString(),
    bytes: async key => (await client.send(new GetObjectCommand(at(key)))).Body!.transformToByteArray(),
    async put(key, content) {
      await client.send(new PutObjectCommand({ ...at(key), Body: content }))
    },
    async remove(key) {
      await client.send(new DeleteObjectCommand(at(key)))
    },
  }
}

/** Call it only in a test file: the server starts before the first test. */
export function s3Scene(): S3Scene {
  const app = temporaryWarehouse()
  const scene = { app } as S3Scene
  let client: S3Client
  let extensions: string

  beforeAll(async () => {
    extensions = extensionFolder()
    scene.server = await s3Server()
    await scene.server.start()
    const { endpoint, admin } = scene.server
    client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials: admin })
    scene.bucket = bucketOf(client)
    await client.send(new CreateBucketCommand({ Bucket: 'lake' }))
    await scene.credentials('admin', admin)
  })

  afterAll(async () => {
    client.destroy()
    await scene.server.remove()
  })

  scene.credentials = async (name, keys) => {
    const file = join(app.home, `${name}.credentials`)
    await writeFile(file, keysText(keys), { mode: 0o600 })
    return file
  }
  scene.newTarget = (settings = {}, place = {}) => {
    const name = `s${++targets}`
    const s3: S3Place = {
      ...{ bucket: 'lake', prefix: `${name}/`, endpoint: scene.server.endpoint, region: null, urlStyle: 'path' },
      ...{ credentialsFile: join(app.home, 'admin.credentials'), profile: 'default', caFile: null, ...place },
    }
    const path = `s3://${s3.bucket}/${name}`
    return { name, type: 'parquet', path, s3, pii: KEEP, rows: null, partitionBy: ['month'], ...settings } as S3Target
  }
  scene.publish = (target, options = {}) =>
    publishTo(app, target, { settings: { ...SETTINGS, extensions }, verify: true, ...options })
  scene.query = async (sql, before = []) => {
    const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
    const connection = await instance.connect()
    const { port, reader } = scene.server
    try {
      for (const statement of [
        `SET TimeZone = 'UTC'`,
        `LOAD '${extensions}/httpfs.duckdb_extension'`,
        `CREATE SECRET (TYPE s3, KEY_ID '${reader.accessKeyId}', SECRET '${reader.secretAccessKey}',
          ENDPOINT '127.0.0.1:${port}', URL_STYLE 'path', USE_SSL false)`,
        ...before,
      ])
        await connection.run(statement)
      return (await connection.runAndReadAll(sql)).getRowsJson()
    } finally {
      connection.closeSync()
      instance.closeSync()
    }
  }
  scene.globbed = ({ path }, table) =>
    `read_parquet('${path}/${table.replace('.', '/')}/**/*.parquet', hive_partitioning = true)`
  scene.listed = async ({ path, s3 }, table) => {
    const { files } = JSON.parse(await scene.bucket.text(`${s3!.prefix}_manifest.json`))
    const own = files.filter((file: { table: string }) => file.table === table)
    const urls = own.map((file: { path: string }) => `'${path}/${file.path}'`)
    return `read_parquet([${urls.join(', ')}], hive_partitioning = true)`
  }
  return scene
}
