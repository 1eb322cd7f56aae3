// The data files of a lake as objects in S3, which DuckDB writes, reads and removes. An object is durable once the server has confirmed it.
import type { S3Place } from '../../../config/s3.ts'
import { connectS3, openS3InDuckdb } from '../../s3/client.ts'
import { objectsIn } from '../../s3/objects.ts'
import { probing } from '../../s3/probe.ts'
import { httpfsCause, isOfSdk, s3Error } from '../../s3/s3-error.ts'
import type { LakeData } from './lake-data.ts'

/** @throws SECRET_MISSING if a file cannot be read */
export function dataObjects(place: S3Place): LakeData {
  const connection = connectS3(place)
  const objects = objectsIn(connection)
  return {
    prepare: database => openS3InDuckdb(database, connection),
    has: folder => objects.hasAny(`${folder}/`),
    sync: async () => {},
    remove: names => objects.remove(names),
    errorOf(cause) {
      const found = isOfSdk(cause) ? cause : httpfsCause(cause)
      return found === null ? null : s3Error(connection, found)
    },
    close: () => connection.client.destroy(),
  }
}

/** Tests the place of a lake's data. @returns the server, for people @throws TARGET_UNUSABLE, SECRET_MISSING */
export const probeObjects = (place: S3Place): Promise<string> =>
  probing(place, (objects, name) => objects.put(name, 'probe'))
