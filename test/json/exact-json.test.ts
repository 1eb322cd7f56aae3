import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ExactNumber, MAX_DEPTH, readExactly, TooDeep, writeExactly } from '../../src/json/exact-json.ts'

const again = (text: string): string => writeExactly(readExactly(text).value)

const spaced = (value: unknown): fc.Arbitrary<string> =>
  fc.constantFrom(undefined, 1, '\t', '\n ').map(space => JSON.stringify(value, null, space))

describe('JSON that is read exactly', () => {
  it('equals the result of JSON.parse, and is written back equal', () => {
    fc.assert(
      fc.property(
        fc.jsonValue().chain(value => fc.tuple(fc.constant(value), spaced(value))),
        ([value, text]) => {
          const read = readExactly(text)
          const written = writeExactly(read.value)
          expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(value).replaceAll(/\\ud[89a-f]../g, '\uFFFD')))
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it.each(['12345678901234567890', '1.50', '1e3', '-0', '1E+2', '0.1234567890123456789', '1e400', '9007199254740993'])(
    'keeps %s as written',
    text => {
      expect(readExactly(text).value).toEqual(new ExactNumber(text))
      expect(again(`{"a":[${text},{"b":${text}}]}`)).toBe(`{"a":[${text},{"b":${text}}]}`)
    },
  )

  it.each(['0', '-7', '1.5', '9007199254740991', '1e-7', '0.1'])('represents %s as a number', text => {
    expect(readExactly(text).value).toBe(Number(text))
  })

  it('keeps the last of two equal keys, and reports where', () => {
    const read = readExactly('{"a":1,"b":[{"c":1,"c":2}],"a":{"__proto__":3}}')
    expect(writeExactly(read.value)).toBe('{"a":{"__proto__":3},"b":[{"c":2}]}')
    expect(read.faults).toEqual([
      { path: ['b', '[]', 'c'], fault: 'duplicate key' },
      { path: ['a'], fault: 'duplicate key' },
    ])
  })

  it('replaces half of a surrogate pair, and reports where', () => {
    const read = readExactly(String.raw`{"a":"x\ud800","b":["\udfff"],"c":"\\ud800 \ud83d\ude80"}`)
    expect(read.value).toEqual(Object.assign(Object.create(null), { a: 'x\uFFFD', b: ['\uFFFD'], c: '\\ud800 🚀' }))
    expect(read.faults.map(({ path }) => path)).toEqual([['a'], ['b', '[]']])
    const inKey = readExactly(String.raw`{"ID":"c","\ud800":1}`)
    expect(inKey.faults.map(({ path }) => path)).toEqual([['']])
  })

  it('is read up to the depth limit, and refused beyond it however deep', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    expect(again(nested(MAX_DEPTH))).toBe(nested(MAX_DEPTH))
    expect(() => readExactly(nested(MAX_DEPTH + 1))).toThrow(TooDeep)
    expect(() => readExactly(nested(1_000_000))).toThrow(TooDeep)
  })

  it.each(['', '{', '{"canary', '{"canary":', '[1,', '{"a" 1}', 'canary', '1 2', '{"a":canary}', '"canary'])(
    'is refused for %j without quoting it',
    text => {
      let message = 'nothing was thrown'
      try {
        readExactly(text)
      } catch (error) {
        message = (error as Error).message
      }
      expect(message).toMatch(/^(no |a |neither )/)
      expect(message).not.toContain('canary')
    },
  )
})
