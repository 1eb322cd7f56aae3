// Places in S3, for targets of publications: the bucket, the server, and the source of credentials: a file, or the
// environment of the process that writes there.
import { resolve } from 'node:path'
import { z } from 'zod'
import type { Environment } from './kept-secret.ts'
import { FOR_SHELL, filePath, isForShell } from './values.ts'

/** Matches `s3://bucket/prefix`, without characters that readers treat as a pattern. */
const S3_PATH = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[A-Za-z0-9._=-]+)*\/?$/

export const isS3Path = (path: string): boolean => /^s3:\/\//i.test(path)

const s3Path = z.string().regex(S3_PATH, 'must be s3://BUCKET/PREFIX, of letters, digits and . - _ =')

const isEndpoint = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { protocol, pathname, search, username } = new URL(text)
  return ['http:', 'https:'].includes(protocol) && pathname === '/' && search === '' && username === ''
}

/** Settings beside the path. Credentials are in a file of AWS's format; without one they come from the environment or a role. */
export const s3Settings = z
  .strictObject({
    endpoint: z.string().refine(isEndpoint, 'must be an address such as https://s3.example.com').optional(),
    region: z.string().min(1).optional(),
    urlStyle: z.enum(['path', 'vhost']).optional(),
    credentialsFile: filePath.optional(),
    profile: z.string().min(1).optional(),
    caFile: filePath.optional(),
  })
  .refine(({ profile, credentialsFile }) => profile === undefined || credentialsFile !== undefined, {
    path: ['profile'],
    error: 'is a section of `credentialsFile`, which is missing; without the file, AWS_PROFILE names it',
  })

export type S3Place = ReturnType<typeof s3Place>

/** A folder, or a place in S3. */
export const folderOrS3 = z
  .string()
  .min(1)
  .superRefine((path, context) => {
    const isUrl = /^[a-z0-9]+:\/\//i.test(path)
    const ofUrl = isS3Path(path)
      ? s3Path.safeParse(path).error?.issues[0]?.message
      : 'must be a folder or s3://BUCKET/PREFIX'
    const message = isUrl ? ofUrl : isForShell(path) ? FOR_SHELL : undefined
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })

/** True if the settings fit the path: settings of a server require a path in S3. */
export const isOfS3 = (path: string | undefined, s3: object | undefined): boolean =>
  s3 === undefined || (path !== undefined && isS3Path(path))

/** Resolves paths relative to the folder of the configuration file. */
function s3Place(path: string, given: z.infer<typeof s3Settings>, folder: string) {
  const [bucket = '', ...rest] = path.slice('s3://'.length).split('/').filter(Boolean)
  const file = (name: string | undefined) => (name === undefined ? null : resolve(folder, name))
  return {
    bucket,
    /** Prefix that ends with a slash, or is empty. */
    prefix: rest.map(part => `${part}/`).join(''),
    /** Such as `https://s3.example.com`, without a trailing slash; null for AWS. */
    endpoint: given.endpoint === undefined ? null : new URL(given.endpoint).origin,
    /** Null for AWS_REGION, else `us-east-1`. */
    region: given.region ?? null,
    urlStyle: given.urlStyle ?? (given.endpoint === undefined ? 'vhost' : 'path'),
    /** Absolute path, in AWS's format; null for the environment (AWS_…), `~/.aws`, or the role of machine or account. */
    credentialsFile: file(given.credentialsFile),
    /** Section of the file. */
    profile: given.profile ?? 'default',
    /** Absolute path of a PEM file with the authorities of the server's certificate; null for the well-known ones. */
    caFile: file(given.caFile),
  }
}

/** Returns `s3://bucket/prefix`. */
export const s3Text = ({ bucket, prefix }: Pick<S3Place, 'bucket' | 'prefix'>): string =>
  `s3://${bucket}/${prefix}`.replace(/\/$/, '')

/** Returns the place that a target writes, different for each server: `/folder`, `https://s3.example.com s3://bucket/prefix`. */
export const s3Address = (path: string, s3: S3Place | null): string =>
  s3 === null ? path : `${s3.endpoint ?? 'AWS'} ${path}`

/** Returns where a path leads to: an absolute folder, or `s3://bucket/prefix`. `local` is the place without a path. */
export function placeAt(
  { path, s3 }: { path?: string | undefined; s3?: z.infer<typeof s3Settings> | undefined },
  { folder, local }: { folder: string; local: string },
): { path: string; s3: S3Place | null } {
  if (path === undefined) return { path: local, s3: null }
  if (!isS3Path(path)) return { path: resolve(folder, path), s3: null }
  const place = s3Place(path, s3 ?? {}, folder)
  return { path: s3Text(place), s3: place }
}

/** Variables for `credential_process` and `~/.aws`, and for certificates of the machine. */
const OF_THE_MACHINE = ['HOME', 'PATH', 'NODE_EXTRA_CA_CERTS']

/** Servers other than AWS accept any region. */
const DEFAULT_REGION = 'us-east-1'

const ALWAYS = {
  // Only the configuration names the server, because DuckDB would not find another one.
  AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true',
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
}

/**
 * Returns AWS's variables. With a credentials file, nothing else supplies credentials: a missing section must not fall
 * back to the machine's role. Otherwise passes on AWS's own variables.
 */
export function s3Environment({ credentialsFile, profile, region }: S3Place, env: Environment): Record<string, string> {
  const passed = (names: readonly string[]) =>
    Object.fromEntries(names.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]])))
  // AWS's library fails without HOME and without an entry in /etc/passwd, even if it is given a file.
  const machine = { HOME: '/nonexistent', ...passed(OF_THE_MACHINE) }
  const always = { ...ALWAYS, AWS_REGION: region ?? (env.AWS_REGION || env.AWS_DEFAULT_REGION || DEFAULT_REGION) }
  if (credentialsFile === null)
    return { ...machine, ...passed(Object.keys(env).filter(name => name.startsWith('AWS_'))), ...always }
  return {
    ...machine,
    ...always,
    AWS_SHARED_CREDENTIALS_FILE: credentialsFile,
    AWS_CONFIG_FILE: credentialsFile,
    AWS_PROFILE: profile,
    AWS_EC2_METADATA_DISABLED: 'true',
  }
}

/** Returns the environment of a target's process: empty, so that it contains no secrets, except the variables for S3. */
export const targetEnvironment = (target: object, env: Environment): Record<string, string> =>
  's3' in target && target.s3 !== null ? s3Environment(target.s3 as S3Place, env) : {}
