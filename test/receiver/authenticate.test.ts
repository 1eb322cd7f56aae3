import { describe, expect, it } from 'vitest'
import { makeAuthenticator } from '../../src/receiver/authenticate.ts'

const authenticate = makeAuthenticator([
  { id: 'a', secrets: ['first-secret', 'its-next'] },
  { id: 'b', secrets: ['größe-😀-long-long-long-long'] },
])

describe('an authenticator', () => {
  it.each([
    ['first-secret', 'a'],
    ['its-next', 'a'],
    ['größe-😀-long-long-long-long', 'b'],
  ])('accepts %s', (secret, id) => {
    expect(authenticate(secret, null)?.id).toBe(id)
    expect(authenticate(secret, id)?.id).toBe(id)
    expect(authenticate(secret, 'elsewhere')).toBeNull()
  })

  it.each([
    ['the beginning of a secret', 'first-secre'],
    ['a text that ends with a secret', 'xfirst-secret'],
    ['a secret and a NUL', 'its-next\0'],
    ['a secret padded with NULs to the longest', 'its-next'.padEnd(32, '\0')],
    ['the longest secret and a character', 'größe-😀-long-long-long-longx'],
    ['the longest secret and a long character', 'größe-😀-long-long-long-long😀'],
    ['the longest secret and much more', 'größe-😀-long-long-long-long'.padEnd(100_000, 'x')],
    ['a secret in another case', 'First-secret'],
    ['an empty text', ''],
    ['a number', 7],
    ['null', null],
    ['undefined', undefined],
    ['a list of a secret', ['first-secret']],
  ])('rejects %s', (_what, given) => {
    expect(authenticate(given, null)).toBeNull()
  })

  it('without workspaces accepts nothing', () => {
    for (const given of ['', '\0', 'x', undefined]) expect(makeAuthenticator([])(given, null)).toBeNull()
  })
})
