// The environment of the process that writes to S3, from which the SDK takes credentials. Other processes of targets have none.
import type { Environment } from './kept-secret.ts'
import type { S3Place } from './s3.ts'
import type { TargetConfig } from './targets.ts'

/** Variables for `credential_process` and `~/.aws`, and for certificates of the machine. */
const OF_THE_MACHINE = ['HOME', 'PATH', 'NODE_EXTRA_CA_CERTS']

/** Servers other than AWS accept any region. */
const DEFAULT_REGION = 'us-east-1'

const ALWAYS = {
  // The server is that of the configuration alone: DuckDB would not find another one.
  AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true',
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
}

/**
 * Asks only the file for credentials, if there is one: a missing section must not end in the role of the machine. Otherwise passes on AWS's own
 * variables.
 */
export function s3Environment({ credentialsFile, profile, region }: S3Place, env: Environment): Record<string, string> {
  const passed = (names: readonly string[]) =>
    Object.fromEntries(names.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]])))
  const always = { ...ALWAYS, AWS_REGION: region ?? (env.AWS_REGION || env.AWS_DEFAULT_REGION || DEFAULT_REGION) }
  if (credentialsFile === null)
    return { ...passed([...OF_THE_MACHINE, ...Object.keys(env).filter(name => name.startsWith('AWS_'))]), ...always }
  return {
    ...passed(OF_THE_MACHINE),
    ...always,
    AWS_SHARED_CREDENTIALS_FILE: credentialsFile,
    AWS_CONFIG_FILE: credentialsFile,
    AWS_PROFILE: profile,
    AWS_EC2_METADATA_DISABLED: 'true',
  }
}

/** The environment of a target's process: none, and so none of the secrets in it, except for those of S3. */
export function targetEnvironment(target: TargetConfig, env: Environment): Record<string, string> {
  const place = 's3' in target ? target.s3 : null
  return place === null ? {} : s3Environment(place, env)
}
