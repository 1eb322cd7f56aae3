// S3 in DuckDB, which only the process of a target has: the extension `httpfs` with a secret. The values of credentials are parameters of the
// statement, and so in no SQL text and no error; the secret is in memory only, and DuckDB shows it redacted.
import { quoteName, quoteText } from '../../catalog/layout.ts'
import type { TargetDatabase } from '../target-database.ts'
import type { S3Connection } from './client.ts'

const SECRET = 'target_s3'

/**
 * As many megabytes of a file are kept in memory while it is written, and sent together: a hundredth of a percent of this. By default they are
 * 80 MB for each file.
 */
const MOST_OF_FILE = '200GB'

/** With growing pauses, 17 seconds: a short outage is waited for. */
const RETRIES = 5

/**
 * Lets DuckDB read and write below the connection's bucket. Requires the extension `httpfs`. Credentials of a role last for minutes to hours: to
 * be called for each publication. @throws SECRET_MISSING
 */
export async function openS3InDuckdb(
  database: TargetDatabase,
  { place, region, credentials }: Pick<S3Connection, 'place' | 'region' | 'credentials'>,
): Promise<void> {
  const { accessKeyId, secretAccessKey, sessionToken } = await credentials()
  await database.run(`SET http_retries = ${RETRIES}; SET s3_uploader_max_filesize = '${MOST_OF_FILE}'`)
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
