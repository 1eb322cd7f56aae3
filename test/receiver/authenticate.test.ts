// Which secrets authenticate a request, and which similar ones do not.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeAuthenticator } from '../../src/receiver/authenticate.ts'

const door = makeAuthenticator([
  { id: 'a', secrets: ['first-secret', 'its-next'] },
  { id: 'b', secrets: ['größe-😀-long-long-long-long'] },
])

describe('an authenticator', () => {
  it.each([
    ['first-secret', 'a'],
    ['its-next', 'a'],
    ['größe-😀-long-long-long-long', 'b'],
  ])('is opened by %s', (secret, id) => {
    expect(door(secret, null)?.id).toBe(id)
    expect(door(secret, id)?.id).toBe(id)
    expect(door(secret, 'elsewhere')).toBeNull()
  })

  it.each([
    ['what it begins with', 'first-secre'],
    ['what ends with it', 'xfirst-secret'],
    ['zeros behind it', 'its-next\0'],
    ['zeros as far as the longest', 'its-next'.padEnd(32, '\0')],
    ['more behind the longest', 'größe-😀-long-long-long-longx'],
    ['a long character behind the longest', 'größe-😀-long-long-long-long😀'],
    ['much behind the longest', 'größe-😀-long-long-long-long'.padEnd(100_000, 'x')],
    ['another case', 'First-secret'],
    ['nothing', ''],
    ['a number', 7],
    ['null', null],
    ['none', undefined],
    ['a list of it', ['first-secret']],
  ])('is not opened by %s', (_what, given) => {
    expect(door(given, null)).toBeNull()
  })

  it('of no workspace accepts nothing', () => {
    for (const given of ['', '\0', 'x', undefined]) expect(makeAuthenticator([])(given, null)).toBeNull()
  })

  it('accepts the texts that are its secrets, and no other', () => {
    const texts = fc.string({ unit: fc.constantFrom('a', '\0', 'ä', '😀'), minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(fc.uniqueArray(texts, { minLength: 1, maxLength: 4 }), texts, (secrets, given) => {
        const opened = makeAuthenticator(secrets.map((secret, at) => ({ id: `${at}`, secrets: [secret] })))(given, null)
        expect(opened?.id ?? null).toBe(secrets.includes(given) ? `${secrets.indexOf(given)}` : null)
      }),
    )
  })
})
