import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { emailIdentifiers, phoneIdentifiers, userIdentifiers } from '../../src/core/identifiers.ts'

const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength })

const spelled = (text: string): fc.Arbitrary<string> =>
  fc
    .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
    .map(upper => [...text].map((letter, index) => (upper[index] ? letter.toUpperCase() : letter)).join(''))

const addresses = fc
  .tuple(fc.stringMatching(/^[a-z]{2}[a-z0-9._+-]{2,12}[a-z]x$/), fc.stringMatching(/^[a-z]{2,8}\.(org|de)$/))
  .filter(([local]) => !local.startsWith('no'))
  .map(([local, domain]) => `${local}@${domain}`)

describe('an email address', () => {
  it('has one identifier in every spelling', () => {
    const cases = addresses.chain(address => fc.tuple(fc.constant(address), spelled(address)))
    fc.assert(
      fc.property(cases, ([address, other]) => {
        for (const text of [other, ` ${other}\n`, `Jane Doe <${other}>`, `<${other}>`, `mailto:${other}`])
          expect(emailIdentifiers(text)).toEqual([`email:${address}`])
      }),
    )
  })

  it('differs from every other', () => {
    fc.assert(
      fc.property(fc.tuple(addresses, addresses), ([one, other]) => {
        fc.pre(one !== other)
        expect(emailIdentifiers(one)).not.toEqual(emailIdentifiers(other))
      }),
    )
  })
})

describe('a telephone number', () => {
  const numbers = fc
    .tuple(fc.constantFrom('49', '1', '44', '351'), fc.constantFrom('1', '2', '7'), digits(8, 9))
    .map(([code, first, rest]) => ({ code, national: `${first}${rest}` }))
    .filter(({ national }) => new Set(national).size > 2)
  const separators = fc.constantFrom('', ' ', '-', '.', '/', '\u00a0')

  it('has one identifier in every spelling with a calling code', () => {
    fc.assert(
      fc.property(numbers, separators, fc.nat(7), ({ code, national }, separator, at) => {
        const parts = [national.slice(0, at), national.slice(at)].join(separator)
        for (const text of [
          `+${code}${separator}${parts}`,
          `00${code} ${parts}`,
          `tel:+${code}${parts}`,
          `whatsapp:+${code}${parts}`,
        ])
          expect(phoneIdentifiers(text, [])).toEqual([`phone:+${code}${national}`])
        expect(phoneIdentifiers(`${code}${national}`, [])).toContain(`phone:+${code}${national}`)
      }),
    )
  })

  it('without a calling code is one of each country that is named, and of none otherwise', () => {
    for (const text of ['0170 1234567', '(0170) 123 45 67', '0170/1234567']) {
      expect(phoneIdentifiers(text, [])).toEqual([])
      expect(phoneIdentifiers(text, ['DE'])).toEqual(['phone:+491701234567'])
    }
    expect(phoneIdentifiers('+49 (0) 170 1234567', [])).toEqual(['phone:+491701234567'])
    expect(phoneIdentifiers('020 7946 0958', ['GB', 'DE'])).toEqual(['phone:+442079460958', 'phone:+492079460958'])
    expect(phoneIdentifiers('+49 170 1234567', ['US'])).toEqual(['phone:+491701234567'])
    expect(phoneIdentifiers(491701234567, [])).toEqual(['phone:+491701234567'])
  })

  it('differs from every other', () => {
    fc.assert(
      fc.property(fc.tuple(numbers, numbers), ([one, other]) => {
        const [a, b] = [one, other].map(({ code, national }) => `+${code}${national}`)
        fc.pre(a !== b)
        expect(phoneIdentifiers(a, [])).not.toEqual(phoneIdentifiers(b, []))
      }),
    )
  })
})

describe('a user id', () => {
  it('keeps its spelling, and is an address or a number, too, if it looks like one', () => {
    expect(userIdentifiers(' u-17 ', [])).toEqual(['user:u-17'])
    expect(userIdentifiers('U-17', [])).not.toEqual(userIdentifiers('u-17', []))
    expect(userIdentifiers('Jane@Example.org', [])).toEqual(['user:Jane@Example.org', 'email:jane@example.org'])
    expect(userIdentifiers('0170 1234567', ['DE'])).toEqual(['user:0170 1234567', 'phone:+491701234567'])
  })
})

it('placeholders, incomplete values and other types identify nobody', () => {
  const nobody = [
    '',
    ' ',
    '-',
    'N/A',
    'null',
    'undefined',
    'Unknown',
    'anonymous',
    'guest',
    'customer',
    '0',
    '000',
    'xxxx',
  ]
  for (const value of [...nobody, null, undefined, true, {}, ['jane@example.org']]) {
    const all = [emailIdentifiers(value), phoneIdentifiers(value, ['DE']), userIdentifiers(value, ['DE'])]
    expect(all.flat(), JSON.stringify(value)).toEqual([])
  }
  // Many people have an address of one letter.
  expect(emailIdentifiers('j@example.org')).toEqual(['email:j@example.org'])
  for (const value of [
    'jane',
    'xxx@example.org',
    '@example.org',
    'jane@',
    'test@example.org',
    'no-reply@example.org',
    'a b@example.org',
  ])
    expect(emailIdentifiers(value), value).toEqual([])
  for (const value of ['110', '+49', '+00000000', '0000000000', 'call 112', '12345678901234567890'])
    expect(phoneIdentifiers(value, ['DE']), value).toEqual([])
})
