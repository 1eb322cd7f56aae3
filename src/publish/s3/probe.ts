// Tests a place in S3: lists, writes, reads and deletes there, and leaves nothing.
import { randomUUID } from 'node:crypto'
import type { S3Place } from '../../config/s3.ts'
import { connectS3 } from './client.ts'
import { type Objects, objectsIn } from './objects.ts'
import { s3Error } from './s3-error.ts'

/** Runs `work`, which stores an object of that name. @returns the server, for people @throws TARGET_UNUSABLE, SECRET_MISSING */
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
