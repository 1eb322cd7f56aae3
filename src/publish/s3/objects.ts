// The objects below a target's prefix in S3, and a probe of it. Names are relative to the prefix. Errors are those of the SDK.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import {
  CopyObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandOutput,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import type { S3Place } from '../../config/s3.ts'
import { connectS3, isMissing, type S3Connection, s3Error } from './client.ts'

export interface StoredObject {
  name: string
  /** ETag without quotes, since not all servers send them in all answers. */
  etag: string
  /** Time of the last change, by the server's clock. */
  modifiedMs: number
  bytes: number
}

export interface Objects {
  /** Returns null if there is no object of that name. */
  get(name: string): Promise<{ text: string; etag: string } | null>
  /** Stores a text if the object still has this ETag, or if there is none yet (null). @returns its ETag */
  replace(name: string, text: string, etag: string | null): Promise<string>
  /** Stores a text, overwriting any object. @returns true if the bucket keeps versions of objects, or has kept some */
  put(name: string, text: string): Promise<boolean>
  /** Stores a file in one request. */
  upload(name: string, file: string): Promise<void>
  /** Copies an object within the server. @returns the ETag of the copy */
  copy(from: string, to: string): Promise<string>
  /** Ignores objects that do not exist. */
  remove(names: readonly string[]): Promise<void>
  list(): Promise<StoredObject[]>
  /** Removes all versions of objects except the current ones, and the marks of removed objects. */
  removeVersions(): Promise<void>
  /** True if an object has this prefix. */
  hasAny(beginning: string): Promise<boolean>
}

const REMOVED_AT_ONCE = 1_000

const plain = (etag: string | undefined): string => (etag ?? '').replaceAll('"', '')

export function objectsIn({ client, place: { bucket, prefix } }: Pick<S3Connection, 'client' | 'place'>): Objects {
  const at = (name: string) => ({ Bucket: bucket, Key: `${prefix}${name}` })
  const jsonAt = (name: string, text: string) => ({
    ...at(name),
    Body: Buffer.from(text),
    ContentType: 'application/json',
    CacheControl: 'no-cache',
  })
  async function removeAll(all: readonly { Key: string; VersionId?: string }[]): Promise<void> {
    for (let first = 0; first < all.length; first += REMOVED_AT_ONCE) {
      const some = all.slice(first, first + REMOVED_AT_ONCE)
      const { Errors: [error] = [] } = await client.send(
        new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: some, Quiet: true } }),
      )
      if (error) throw Object.assign(new Error(`${error.Message} (${error.Key})`), { name: error.Code })
    }
  }
  return {
    async get(name) {
      try {
        const { Body, ETag } = await client.send(new GetObjectCommand(at(name)))
        return { text: await Body!.transformToString(), etag: plain(ETag) }
      } catch (cause) {
        if (isMissing(cause)) return null
        throw cause
      }
    },
    async replace(name, text, etag) {
      const condition = etag === null ? { IfNoneMatch: '*' } : { IfMatch: `"${etag}"` }
      const { ETag } = await client.send(new PutObjectCommand({ ...jsonAt(name, text), ...condition }))
      return plain(ETag)
    },
    async put(name, text) {
      const { VersionId } = await client.send(new PutObjectCommand(jsonAt(name, text)))
      return VersionId !== undefined
    },
    async upload(name, file) {
      // Sent from memory, since the SDK cannot retry a request whose stream has been read.
      const Body = await readFile(file)
      await client.send(new PutObjectCommand({ ...at(name), Body, ContentType: 'application/vnd.apache.parquet' }))
    },
    async copy(from, to) {
      const source = [bucket, ...`${prefix}${from}`.split('/')].map(encodeURIComponent).join('/')
      const { CopyObjectResult } = await client.send(new CopyObjectCommand({ ...at(to), CopySource: source }))
      return plain(CopyObjectResult?.ETag)
    },
    remove: names => removeAll(names.map(name => ({ Key: at(name).Key }))),
    async removeVersions() {
      let marker: { KeyMarker?: string | undefined; VersionIdMarker?: string | undefined } | null = {}
      while (marker !== null) {
        const page: ListObjectVersionsCommandOutput = await client.send(
          new ListObjectVersionsCommand({ Bucket: bucket, Prefix: prefix, ...marker }),
        )
        const old = [...(page.Versions ?? []).filter(({ IsLatest }) => !IsLatest), ...(page.DeleteMarkers ?? [])]
        await removeAll(old.map(({ Key, VersionId }) => ({ Key: Key!, VersionId: VersionId! })))
        marker = page.IsTruncated ? { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker } : null
      }
    },
    async hasAny(beginning) {
      const { KeyCount } = await client.send(
        new ListObjectsV2Command({ Bucket: bucket, Prefix: `${prefix}${beginning}`, MaxKeys: 1 }),
      )
      return KeyCount !== 0
    },
    async list() {
      const found: StoredObject[] = []
      let token: string | undefined
      do {
        const page = await client.send(
          new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: token }),
        )
        for (const { Key, ETag, LastModified, Size } of page.Contents ?? []) {
          const facts = { etag: plain(ETag), modifiedMs: LastModified!.getTime(), bytes: Size! }
          found.push({ name: Key!.slice(prefix.length), ...facts })
        }
        token = page.IsTruncated ? page.NextContinuationToken : undefined
      } while (token !== undefined)
      return found
    },
  }
}

/** Tests listing, writing, reading and deleting. `work` stores the named object. @returns the server @throws TARGET_UNUSABLE, SECRET_MISSING */
export async function probing(
  place: S3Place,
  work: (objects: Objects, name: string) => Promise<void>,
): Promise<string> {
  const connection = connectS3(place, 'probe')
  const objects = objectsIn(connection)
  const name = `_probe-${randomUUID()}`
  try {
    await connection.credentials()
    await objects.list()
    await work(objects, name)
    await objects.get(name)
    await objects.remove([name, `${name}-copy`])
    return place.endpoint ?? `AWS, ${await connection.region()}`
  } catch (cause) {
    await objects.remove([name, `${name}-copy`]).catch(() => {})
    throw s3Error(connection, cause)
  } finally {
    connection.client.destroy()
  }
}
