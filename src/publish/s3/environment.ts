// The environment of the process that writes to S3, from which the SDK takes credentials. Other processes of targets have none.
import type { S3Place } from '../../config/s3.ts'

/** For `credential_process` and `~/.aws`, and certificates of the machine. */
const OF_THE_MACHINE = ['HOME', 'PATH', 'NODE_EXTRA_CA_CERTS']

const ALWAYS = {
  // The server is that of the configuration alone: DuckDB would not find another one.
  AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true',
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
}

/**
 * With a file, nothing but the file is asked for credentials: a missing section must not end in the role of the machine. Without one, AWS's own
 * variables are passed on.
 */
export function s3Environment(
  { credentialsFile, profile }: S3Place,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const passed = (names: readonly string[]) =>
    Object.fromEntries(names.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]])))
  if (credentialsFile === null)
    return { ...passed([...OF_THE_MACHINE, ...Object.keys(env).filter(name => name.startsWith('AWS_'))]), ...ALWAYS }
  return {
    ...passed([...OF_THE_MACHINE, 'AWS_REGION', 'AWS_DEFAULT_REGION']),
    ...ALWAYS,
    AWS_SHARED_CREDENTIALS_FILE: credentialsFile,
    AWS_CONFIG_FILE: credentialsFile,
    AWS_PROFILE: profile,
    AWS_EC2_METADATA_DISABLED: 'true',
  }
}
