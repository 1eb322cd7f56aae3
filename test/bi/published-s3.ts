// A target `parquet` in an S3 server, published from a workspace of the sandbox, and a role that may read it.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { type PublishedScene, publishedScene } from './published-scene.ts'
import { keysText, type S3Server, s3Server } from './s3-server.ts'

/** Where it is: the bucket is the one that the server's reader may read. */
export const LAKE = 'lake/convohouse'

export interface PublishedS3 {
  server: S3Server
  scene: PublishedScene
}

/** To be used in tests only: its server is started, and published to, before the first. */
export function publishedS3(): PublishedS3 {
  const published = {} as PublishedS3
  let folder: string
  let credentialsFile: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'convohouse-published-'))
    published.server = await s3Server()
    await published.server.start()
    await published.server.shell('s3.bucket.create -name lake')
    credentialsFile = join(folder, 'credentials')
    await writeFile(credentialsFile, keysText(published.server.admin), { mode: 0o600 })
  })

  afterAll(async () => {
    await published.server?.remove()
    await rm(folder, { recursive: true, force: true })
  })

  published.scene = publishedScene(() => {
    const s3 = { endpoint: published.server.endpoint, credentialsFile }
    return [{ name: 'lake', type: 'parquet', path: `s3://${LAKE}`, s3 }]
  })
  return published
}
