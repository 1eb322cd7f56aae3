// What DuckDB says of errors of S3, as ours: texts are those of DuckDB 1.5.5 with SeaweedFS.
import { expect, it } from 'vitest'
import type { S3Place } from '../../../src/config/s3.ts'
import { httpfsCause, s3Error } from '../../../src/publish/s3/s3-error.ts'

const PLACE: S3Place = {
  ...{ bucket: 'lake', prefix: 'p/', endpoint: 'http://h:1', region: null, urlStyle: 'path' },
  ...{ credentialsFile: '/f', profile: 'default', caFile: null },
}

const FILE = 'p/main/t/ducklake-01a20c82-d53f-7c82-b509-68160cc90ad7.parquet'

it.each([
  [
    `HTTP Error: Unable to connect to URL s3://lake/${FILE}: Forbidden (HTTP code 403)\n\nSignatureDoesNotMatch: The request signature we calculated does not match the signature you provided. Check your key and signing method.`,
    'SignatureDoesNotMatch: The request signature we calculated does not match the signature you provided. Check your key and signing method. (HTTP 403)',
    /Correct the credentials in section \[default\] of \/f/,
  ],
  [
    `HTTP Error: HTTP GET error reading 'http://h:1/lake/${FILE}' in region 'us-east-1' (HTTP 403 Forbidden)\n\nInvalidAccessKeyId: The access key ID you provided does not exist in our records.\n\nAuthentication Failure - this is usually caused by invalid or missing credentials.`,
    'InvalidAccessKeyId: The access key ID you provided does not exist in our records. (HTTP 403)',
    /Correct the credentials/,
  ],
  [
    `HTTP Error: Unable to connect to URL s3://nobucket/${FILE}: Not Found (HTTP code 404)\n\nNoSuchBucket: The specified bucket does not exist`,
    'NoSuchBucket: The specified bucket does not exist (HTTP 404)',
    /Create the bucket lake/,
  ],
  [
    `IO Error: Failed to remove files: <Code>AccessDenied</Code><Message>Access Denied.</Message><Key>${FILE}</Key>`,
    'AccessDenied: Access Denied.',
    /s3:DeleteObject on lake\/p\//,
  ],
  [
    `IO Error: Could not connect to server error for HTTP PUT to 'http://h:1/lake/${FILE}'`,
    'Could not connect to server',
    /Check that http:\/\/h:1 can be reached/,
  ],
  [
    `IO Error: SSL peer certificate or SSH remote key was not OK error for HTTP GET to 'https://h:1/lake/${FILE}'`,
    'ERR_TLS: SSL peer certificate or SSH remote key was not OK',
    /name the authority of its certificate with `caFile`/,
  ],
])('an error of httpfs is that of the server: %#', (text, reason, hint) => {
  const error = s3Error({ place: PLACE, masked: one => one }, httpfsCause(new Error(text)))
  expect([error.code, error.message]).toEqual(['TARGET_UNUSABLE', `Cannot use s3://lake/p: ${reason}`])
  expect(error.hint).toMatch(hint)
})

it('other errors are not of S3', () => {
  for (const text of [
    'IO Error: Could not write file "/a": No space left',
    'FATAL:  password authentication failed',
    '',
  ])
    expect(httpfsCause(new Error(text))).toBeNull()
})
