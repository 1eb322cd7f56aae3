// Connects a target's process to S3 with AWS's SDK, which finds credentials, signs, retries requests and corrects the
// clock. Requests are retried for about ten seconds; then the publication fails, and the next one tries again.
//
// Errors are recognised by the name that a server gives them, else by their status; connection errors by Node's code.
// All servers use the same names for credentials, rights and buckets, but not for a lack of space.
import { readFileSync } from 'node:fs'
import { S3Client } from '@aws-sdk/client-s3'
import { quoteName, quoteText } from '../../catalog/layout.ts'
import { type S3Place, s3Text } from '../../config/s3.ts'
import { diskErrorText } from '../../core/disk.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'
import type { TargetDatabase } from '../target-database.ts'

export interface Credentials {
  accessKeyId: string
  secretAccessKey: string
  /** Set for the credentials of a role. */
  sessionToken: string | null
}

export interface S3Connection {
  place: S3Place
  client: S3Client
  region(): Promise<string>
  /** Renews the credentials if they are about to expire. @throws SECRET_MISSING */
  credentials(): Promise<Credentials>
  /** Removes the values of all used credentials from a text. */
  masked(text: string): string
}

/** With exponential backoff they take 13 seconds on average, which bridges a short outage. A probe does not wait. */
const MOST_ATTEMPTS = { publication: 10, probe: 3 }

function readable(file: string, what: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    throw new ConvohouseError('SECRET_MISSING', {
      what: `The file ${file}, which must contain ${what}, cannot be read: ${diskErrorText(cause)}.`,
      hint: 'Create it, with mode 0600, or correct its name in `s3` of the target: docs/publishing.md shows its content.',
      cause,
    })
  }
}

const noCredentials = (place: S3Place, cause: unknown): ConvohouseError =>
  new ConvohouseError('SECRET_MISSING', {
    what:
      place.credentialsFile === null
        ? `There are no credentials for ${s3Text(place)}: neither in the environment nor in ~/.aws, nor does this machine, container or service account have a role.`
        : `The file ${place.credentialsFile} has no credentials in its section [${place.profile}].`,
    hint: 'Name a file with `credentialsFile` in `s3` of the target, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: docs/publishing.md lists what is tried.',
    cause,
  })

/** Connects to S3 with the environment's credentials (`s3Environment`). Callers run `client.destroy()`. @throws SECRET_MISSING */
export function connectS3(place: S3Place, purpose: keyof typeof MOST_ATTEMPTS = 'publication'): S3Connection {
  const { endpoint, urlStyle, credentialsFile, caFile } = place
  if (credentialsFile !== null) readable(credentialsFile, 'the credentials for S3')
  const ca = caFile === null ? null : readable(caFile, 'certificates of authorities')
  const client = new S3Client({
    ...(endpoint !== null && { endpoint }),
    forcePathStyle: urlStyle === 'path',
    maxAttempts: MOST_ATTEMPTS[purpose],
    // Many servers do not support checksums in trailers; the signature already covers the content.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: 10 * SECOND,
      socketTimeout: 60 * SECOND,
      ...(ca !== null && { httpsAgent: { ca } }),
    },
  })
  const used = new Set<string>()
  return {
    place,
    client,
    region: () => client.config.region(),
    async credentials() {
      const found = await client.config.credentials().catch(cause => {
        throw noCredentials(place, cause)
      })
      for (const value of [found.secretAccessKey, found.sessionToken, found.accessKeyId]) if (value) used.add(value)
      const { accessKeyId, secretAccessKey, sessionToken } = found
      return { accessKeyId, secretAccessKey, sessionToken: sessionToken || null }
    },
    masked: text => [...used].reduce((masked, value) => masked.replaceAll(value, '***'), text),
  }
}

const SECRET = 'target_s3'

/** DuckDB sends a ten-thousandth of this per request and keeps it in memory. Its default takes 80 MB for each file. */
const MOST_OF_FILE = '200GB'

/** With growing pauses they take 17 seconds, which bridges a short outage. */
const RETRIES = 5

/**
 * Lets DuckDB read and write below the connection's bucket. Requires the extension `httpfs`. Each publication calls it, since
 * a role's credentials expire within hours. As parameters they appear in no SQL text or error; DuckDB redacts the secret.
 * @throws SECRET_MISSING
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

interface Known {
  /** Matches names of errors, statuses or codes of Node. */
  of: RegExp
  hint: (place: S3Place) => string
}

const endpointText = ({ endpoint }: S3Place): string => endpoint ?? 'AWS'

const credentialsText = ({ credentialsFile, profile }: S3Place): string =>
  credentialsFile === null
    ? 'the environment, ~/.aws or the role'
    : `section [${profile}] of ${credentialsFile}, which the next publication reads again`

const KNOWN: readonly Known[] = [
  {
    of: /^(InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|ExpiredToken|InvalidClientTokenId|TokenRefreshRequired|UnrecognizedClient|401$)/,
    hint: place => `Correct the credentials in ${credentialsText(place)}.`,
  },
  {
    of: /^(AuthorizationHeaderMalformed|PermanentRedirect|TemporaryRedirect|IllegalLocationConstraint|30[127]$)/,
    hint: ({ region }) =>
      `Correct \`region\` in \`s3\` of the target, which ${region === null ? 'is not set' : `is ${region}`}: the bucket is in another one.`,
  },
  {
    of: /^NoSuchBucket$/,
    hint: ({ bucket }) => `Create the bucket ${bucket}, or correct its name in the target.`,
  },
  {
    of: /(Quota|StorageFull|InsufficientCapacity|InsufficientStorage|NoSpace|ServiceLimitExceeded|^507$)/,
    hint: () =>
      'Raise the quota of the bucket or free space in it. Published objects are as they were before; the next publication tries again.',
  },
  {
    of: /^(AccessDenied|AllAccessDisabled|AccountProblem|403$)/,
    hint: ({ bucket, prefix }) =>
      `Allow s3:ListBucket on ${bucket}, and s3:GetObject, s3:PutObject and s3:DeleteObject on ${bucket}/${prefix}*. Some servers also answer so when the bucket does not exist or is full.`,
  },
  {
    of: /^(NotImplemented|501$)/,
    hint: () =>
      'The server must know conditional writes (If-Match, If-None-Match), which keep an aborted publication from replacing a later one: update it.',
  },
  {
    of: /(CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|ERR_TLS|ERR_SSL|EPROTO)/,
    hint: place =>
      `\`endpoint\` is ${endpointText(place)}: name the authority of its certificate with \`caFile\`; without TLS it begins with http://.`,
  },
]

const AS_BEFORE = (place: S3Place): string =>
  `Check that ${endpointText(place)} can be reached and has space; \`convohouse doctor\` asks the server. Published objects are as they were before; the next publication tries again.`

/** The fields of an error of the SDK or of Node. */
interface S3Cause {
  name?: string
  code?: string
  message?: string
  $metadata?: { httpStatusCode?: number; attempts?: number }
}

const statusOf = (cause: unknown): number | null => (cause as S3Cause | null)?.$metadata?.httpStatusCode ?? null

/** True for an error of the SDK, even if no server has answered. */
export const isOfSdk = (cause: unknown): boolean => (cause as S3Cause | null)?.$metadata !== undefined

/** True if another process wrote the object first. */
export const isConflict = (cause: unknown): boolean => [409, 412].includes(statusOf(cause) ?? 0)

export const isMissing = (cause: unknown): boolean =>
  ['NoSuchKey', 'NotFound'].includes((cause as S3Cause | null)?.name ?? '')

function reasonOf({ name = '', code, message = '', $metadata = {} }: S3Cause): string {
  const said = message.split('\n')[0]!.trim()
  const { httpStatusCode: status, attempts = 1 } = $metadata
  const named = ['', 'Error', 'UnknownError'].includes(name) ? (code ?? '') : name
  const text = [named, said].filter(part => part !== '').join(': ')
  const facts = [...(status === undefined ? [] : [`HTTP ${status}`]), ...(attempts > 1 ? [`${attempts} attempts`] : [])]
  return `${text || 'no answer'}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}`
}

/** Returns the error of a place in S3, without the values of credentials. */
export function s3Error({ place, masked }: Pick<S3Connection, 'place' | 'masked'>, cause: unknown): ConvohouseError {
  if (cause instanceof ConvohouseError) return cause
  const { name, code, $metadata } = (cause ?? {}) as S3Cause
  const signs = [name, code, $metadata?.httpStatusCode].flatMap(sign => (sign === undefined ? [] : [String(sign)]))
  const known = KNOWN.find(({ of }) => signs.some(sign => of.test(sign)))
  return new ConvohouseError('TARGET_UNUSABLE', {
    what: masked(`Cannot use ${s3Text(place)}: ${reasonOf((cause ?? {}) as S3Cause)}`),
    hint: (known?.hint ?? AS_BEFORE)(place),
  })
}
