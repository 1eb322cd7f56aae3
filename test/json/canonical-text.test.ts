// The quick way to the canonical text comes to the same text as the long one.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { canonicalJson } from '../../src/json/canonical.ts'
import { canonicalText } from '../../src/json/canonical-text.ts'

/** An escape of what need not be escaped, as other writers of JSON have it. */
const escapedOtherwise = (json: string): string => json.replaceAll('/', '\\/')

const values = fc.oneof(
  fc.jsonValue({ stringUnit: 'binary' }),
  fc.jsonValue({ stringUnit: fc.constantFrom('a', '/', '"', '\\', '\n', 'ä', '\ud83d\ude00', '\ud800', '\u0000') }),
  fc.array(fc.string({ minLength: 1, maxLength: 2 }), { minLength: 30, maxLength: 90 }),
)

it('the text of what was parsed is the canonical one, whatever was escaped in what was sent', () => {
  fc.assert(
    fc.property(values, fc.boolean(), (value, otherwise) => {
      const sent = otherwise ? escapedOtherwise(JSON.stringify(value)) : JSON.stringify(value, null, 1)
      const parsed: unknown = JSON.parse(sent)
      expect(canonicalText(parsed, sent)).toBe(canonicalJson(parsed))
    }),
    { numRuns: 1_000 },
  )
})

it('is the canonical one beside keys of prototypes, empty things and strings of one length', () => {
  for (const sent of [
    '{"b":"x\\n","a":"xy","__proto__":{"z":[],"y":{}},"":-0}',
    '["\\"","a","\\\\"]',
    '"\\ud83d"',
    '{"10":1,"9":2,"a":{"01":4,"2":5,"-1":6}}',
    '[1e21,1.50]',
  ]) {
    const parsed: unknown = JSON.parse(sent)
    expect(canonicalText(parsed, sent)).toBe(canonicalJson(parsed))
  }
})
