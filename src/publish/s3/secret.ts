// S3 in DuckDB, which only the process of a target has: the extension `httpfs` with a secret. The values of credentials are parameters of the
// statement, and so in no SQL text and no error; the secret is in memory only, and DuckDB shows it redacted.
import { quoteName, quoteText } from '../../catalog/layout.ts'
import { loadExtension } from '../extension.ts'
import type { TargetDatabase } from '../target-database.ts'
import type { ExtensionPlaces } from '../target-port.ts'
import type { S3Connection } from './client.ts'

const SECRET = 'target_s3'

/**
 * Lets DuckDB read and write below the connection's bucket. Credentials of a role last for minutes to hours: to be called for each publication.
 * @throws SECRET_MISSING, EXTENSION_UNAVAILABLE
 */
export async function openS3InDuckdb(
  database: TargetDatabase,
  { place, region, credentials }: Pick<S3Connection, 'place' | 'region' | 'credentials'>,
  extensions: ExtensionPlaces,
): Promise<void> {
  const { accessKeyId, secretAccessKey, sessionToken } = await credentials()
  await loadExtension(database, 'httpfs', extensions)
  await database.run('SET allow_persistent_secrets = false')
  if (place.caFile !== null) await database.run(`SET ca_cert_file = ${quoteText(place.caFile)}`)
  const endpoint = place.endpoint === null ? null : new URL(place.endpoint)
  const options = [
    'KEY_ID $accessKeyId, SECRET $secretAccessKey',
    ...(sessionToken === null ? [] : ['SESSION_TOKEN $sessionToken']),
    ...(endpoint === null ? [] : [`ENDPOINT ${quoteText(endpoint.host)}, USE_SSL ${endpoint.protocol === 'https:'}`]),
    `REGION ${quoteText(await region())}, URL_STYLE ${quoteText(place.urlStyle)}, SCOPE ${quoteText(`s3://${place.bucket}/`)}`,
  ]
  await database.run(`CREATE OR REPLACE SECRET ${quoteName(SECRET)} (TYPE s3, ${options.join(', ')})`, {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== null && { sessionToken }),
  })
}
