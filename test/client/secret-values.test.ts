import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  maySecretBeIn,
  withoutSecretsInMessage,
  withoutSecretValues,
} from '../../src/client/redaction/secret-values.ts'
import { rounds } from '../tier.ts'

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'

describe('a value that is unmistakably a secret', () => {
  it.each([
    ['sk-canary-1', '***'],
    ['say sk-proj-0123456789abcdef to it', 'say *** to it'],
    ['sk_live_0123456789abcdef', '***'],
    ['Bearer abc', 'Bearer ***'],
    ['curl -H "Authorization: Bearer abcdef123456"', 'curl -H "Authorization: Bearer ***"'],
    ['Basic dXNlcjpwYXNz', 'Basic ***'],
    [`it is ${JWT}.`, 'it is ***'],
    [`Bearer ${JWT}`, 'Bearer ***'],
    ['-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\n', '***\n'],
    ['-----BEGIN PRIVATE KEY-----\\nabc, cut off', '***'],
    ['ghp_0123456789abcdefghijABCDEFGHIJ', '***'],
    ['xoxb-0123456789-abcdef', '***'],
    ['https://user:pass@example.com/a?b=1', 'https://example.com/a?b=1'],
    ['https://user:p@ss@example.com', 'https://example.com'],
    ['postgres://u:p@db.example.com:5432/x', 'postgres://db.example.com:5432/x'],
    ['https://example.com/?api_key=x', 'https://example.com/'],
    ['https://example.com/a?x=1&token=t&y=2#part', 'https://example.com/a?x=1&y=2#part'],
    ['https://example.com/?token=t&y=2', 'https://example.com/?y=2'],
    ['https://example.com/cb#access_token=t&state=s', 'https://example.com/cb#state=s'],
    ['https://example.com/?X-Amz-Signature=abc&X-Amz-Credential=c&sig=d', 'https://example.com/'],
    ['https://example.com/{id}?token=t&to={{var:to}}', 'https://example.com/{id}?to={{var:to}}'],
    ['https://example.com/?to=https%3A%2F%2Fu%3Ap%40x.org%2F', 'https://example.com/?to=https%3A%2F%2Fx.org%2F'],
    ['see https://a:b@x.org and https://c:d@y.org!', 'see https://x.org and https://y.org!'],
    ['https://hooks.slack.com/services/T0/B0/xyz', 'https://hooks.slack.com/***'],
    ['https://discord.com/api/webhooks/1/abc', 'https://discord.com/api/webhooks/***'],
    ['https%3A%2F%2Fu%3Ap%40x.org%2F%3Ftoken%3Dt', 'https%3A%2F%2Fx.org%2F'],
    ['to https%3a%2f%2fx.org%2f%3fa%3d1%26token%3dt now', 'to https%3A%2F%2Fx.org%2F%3Fa%3D1 now'],
  ])('is removed: %s', (text, left) => {
    expect(withoutSecretValues(text)).toBe(left)
    expect(withoutSecretValues(left)).toBe(left)
  })

  it.each([
    ...[
      'sk-SK',
      'task-force-one-two-three',
      'desk_0123456789',
      'Basic assistance',
      'Bearer token',
      'the bearer of news',
    ],
    ...['https://example.com/@me?page=1&sort=asc#top', 'mailto:a@example.com', 'a?b', 'https://x.org/?token=', 'eyJ.x'],
    'https%3a%2f%2fx.org%2f%3fa%3d1',
    ...['https://x.org/{{id}}?token={{var:token}}&key={{key}}', 'https://x.org/?monkey=1&turkey=2'],
    ...['https://hooks.example.com/convohouse', 'Bearer {{var:abc}}', 'https://x.org/?hasToken=true&maxTokens=5'],
  ])('is not recognised in %s', text => expect(withoutSecretValues(text)).toBe(text))

  const piece = fc.oneof(
    fc.constantFrom(
      'sk-',
      'Bearer ',
      'https://',
      'u:p@',
      '?token=',
      '&key=',
      '#',
      'eyJ',
      '.',
      '-----BEGIN A-----',
      'Basic ',
    ),
    fc.constantFrom(
      'hooks.slack.com/',
      'xoxb-',
      'abc123456',
      '=',
      ' ',
      '%3A%2F%2F',
      '***',
      '&',
      ';',
      '{"',
      'dXNlcjpwYXNz',
    ),
    fc.string({ maxLength: 4 }),
  )
  const texts = fc.array(piece, { maxLength: 12 }).map(pieces => pieces.join(''))

  it('is suspected whenever it is found, and removed in one pass', () => {
    fc.assert(
      fc.property(texts, text => {
        const left = withoutSecretValues(text)
        if (left !== text) expect(maySecretBeIn(text)).toBe(true)
        expect(withoutSecretValues(left)).toBe(left)
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 500, deep: 20_000 }), seed: 14 },
    )
  })

  it.each([
    ...['-eyJ', 'sk-', 'https://', '?a=', 'Bearer ', '-----BEGIN A-----', 'a.', 'hooks.slack.com/', '&a', 'a:'],
  ])('is searched in linear time: %s', part => {
    const begun = performance.now()
    withoutSecretValues(part.repeat(200_000 / part.length))
    // The limit is a hundred times the usual duration; quadratic code takes minutes.
    expect(performance.now() - begun).toBeLessThan(20_000)
  })
})

describe('a message about an error', () => {
  it.each([
    ['Incorrect API key provided: sk-canary-1.', 'Incorrect API key provided: ***.'],
    ['api_key=canary is not valid', 'api_key=*** is not valid'],
    ['{"password":"canary"}', '{"password":"***"}'],
    ['API key: canary', 'API key: ***'],
    ['GET https://u:canary@example.com/?token=canary', 'GET https://example.com/'],
    ['token: Required', 'token: Required'],
    ['The key already exists: color', 'The key already exists: color'],
  ])('loses the secrets that it repeats: %s', (text, left) => {
    expect(withoutSecretsInMessage(text)).toBe(left)
  })
})
