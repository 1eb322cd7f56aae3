// Tests a place in S3: that it can be listed, written, read and deleted, and whether the server knows conditional writes. Leaves nothing.
import { randomUUID } from 'node:crypto'
import { type S3Place, s3Text } from '../../config/s3.ts'
import { connectS3 } from './client.ts'
import { MANIFEST, parseManifest } from './manifest.ts'
import { type Objects, objectsIn } from './objects.ts'
import { isConflict, s3Error } from './s3-error.ts'

/** @returns the server, for people */
async function probing(place: S3Place, work: (objects: Objects, name: string) => Promise<void>): Promise<string> {
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

/**
 * Tests the place of a target `parquet`. @returns what was found, for people
 * @throws TARGET_UNUSABLE, SECRET_MISSING
 */
export async function probeS3(place: S3Place): Promise<string> {
  let isConditional = true
  const server = await probing(place, async (objects, name) => {
    const stored = await objects.get(MANIFEST)
    if (stored !== null) parseManifest(stored.text, s3Text(place))
    await objects.replace(name, 'probe', null)
    isConditional = await objects.replace(name, 'probe', null).then(
      () => false,
      cause => isConflict(cause) || Promise.reject(cause),
    )
    await objects.copy(name, `${name}-copy`)
  })
  return `${server}${isConditional ? '' : ', which ignores If-None-Match: let no two machines publish to it'}`
}

/** Tests the place of a lake's data. @returns the server, for people @throws TARGET_UNUSABLE, SECRET_MISSING */
export const probeData = (place: S3Place): Promise<string> =>
  probing(place, (objects, name) => objects.put(name, 'probe'))
