// The data files of a lake as objects in S3: DuckDB writes, reads and removes them. An object whose storing the server has confirmed is durable.
import type { S3Place } from '../../config/s3.ts'
import { connectS3 } from '../s3/client.ts'
import { objectsIn } from '../s3/objects.ts'
import { httpfsCause, isOfSdk, s3Error } from '../s3/s3-error.ts'
import { openS3InDuckdb } from '../s3/secret.ts'
import type { LakeData } from './data-folder.ts'

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
