import fc from 'fast-check'
import { expect, it } from 'vitest'
import { canonicalJson } from '../../src/json/canonical.ts'
import { readCanonical } from '../../src/json/exact-json.ts'

const digits = (most: number) => fc.stringMatching(new RegExp(`^[1-9][0-9]{0,${most}}$`))

/** Numbers that doubles can and cannot represent, and texts that look like numbers. */
const number = fc.oneof(
  digits(24),
  fc.tuple(digits(20), digits(20)).map(([whole, fraction]) => `${whole}.${fraction}1`),
  fc.constantFrom(
    '0.1234567890123456789',
    '1e400',
    '-9007199254740993',
    '5e-324',
    '":12345678901234567890"',
    '"1e400"',
  ),
)

it('canonical JSON is written again as it was read, with any numbers and strings', () => {
  const canonical = fc
    .tuple(fc.jsonValue({ stringUnit: 'binary' }), fc.array(number))
    .map(([value, numbers]) => `{"a":[${numbers.join(',')}],"b":${canonicalJson(value)},"c":${numbers[0] ?? 0}}`)
  fc.assert(
    fc.property(canonical, text => {
      const { value, write } = readCanonical(text)
      expect(write(value)).toBe(text)
    }),
    { numRuns: 500 },
  )
})
