// Errors of S3 as ours, known by the name that a server gives them, else by their status, and those of the connection by Node's code. Names for
// credentials, rights and buckets are the same with all servers; those for a lack of space are not.
import { type S3Place, s3Text } from '../../config/s3.ts'
import { ConvohouseError } from '../../core/errors.ts'
import type { S3Connection } from './client.ts'

interface Known {
  /** Names of errors, statuses or codes of Node. */
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

export const statusOf = (cause: unknown): number | null => (cause as S3Cause | null)?.$metadata?.httpStatusCode ?? null

/** True for an error of the SDK, also if no server has answered. */
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

/** The error of a place in S3. Values of credentials are removed from its text. */
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
