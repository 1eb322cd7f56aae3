// Tests a target's place in S3: that it can be listed, written, read and deleted, and whether the server knows conditional writes. Leaves nothing.
import { randomUUID } from 'node:crypto'
import { type S3Place, s3Text } from '../../config/s3.ts'
import { connectS3 } from './client.ts'
import { MANIFEST, parseManifest } from './manifest.ts'
import { objectsIn } from './objects.ts'
import { isConflict, s3Error } from './s3-error.ts'

/**
 * @returns what was found, for people
 * @throws TARGET_UNUSABLE, SECRET_MISSING
 */
export async function probeS3(place: S3Place): Promise<string> {
  const connection = connectS3(place, 'probe')
  const objects = objectsIn(connection)
  const name = `_probe-${randomUUID()}`
  try {
    await connection.credentials()
    const stored = await objects.get(MANIFEST)
    if (stored !== null) parseManifest(stored.text, s3Text(place))
    await objects.list()
    await objects.replace(name, 'probe', null)
    const isConditional = await objects.replace(name, 'probe', null).then(
      () => false,
      cause => isConflict(cause) || Promise.reject(cause),
    )
    await objects.get(name)
    await objects.copy(name, `${name}-copy`)
    await objects.remove([name, `${name}-copy`])
    const server = place.endpoint ?? `AWS, ${await connection.region()}`
    const writes = isConditional ? '' : ', which ignores If-None-Match: let no two machines publish to it'
    return `${server}${writes}`
  } catch (cause) {
    await objects.remove([name, `${name}-copy`]).catch(() => {})
    throw s3Error(connection, cause)
  } finally {
    connection.client.destroy()
  }
}
