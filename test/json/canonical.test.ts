import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from '../../src/json/canonical.ts'

/** Returns the same value with its keys in another order, recursively. */
function shuffled(value: unknown, turn: number): unknown {
  if (Array.isArray(value)) return value.map(inner => shuffled(inner, turn))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]) => [key, shuffled(inner, turn)] as const)
  const at = entries.length === 0 ? 0 : turn % entries.length
  return Object.fromEntries([...entries.slice(at), ...entries.slice(0, at)])
}

const json = fc.jsonValue({ stringUnit: 'binary' })

describe('the canonical text', () => {
  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(json, fc.nat(9), (value, turn) => {
        expect(canonicalJson(shuffled(value, turn))).toBe(canonicalJson(value))
      }),
      { numRuns: 500 },
    )
  })

  it('is JSON of the same value, and differs for another value', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        expect(JSON.parse(canonicalJson(a))).toEqual(JSON.parse(JSON.stringify(a)))
        const isSame = JSON.stringify(shuffled(a, 0)) === JSON.stringify(shuffled(b, 0))
        if (canonicalJson(a) === canonicalJson(b))
          expect(JSON.parse(canonicalJson(b))).toEqual(JSON.parse(canonicalJson(a)))
        else expect(isSame).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  it('has sorted keys and no white space', () => {
    expect(canonicalJson({ b: [1, { d: null, c: 'x' }], a: true, B: 0 })).toBe(
      '{"B":0,"a":true,"b":[1,{"c":"x","d":null}]}',
    )
  })

  it('keeps keys that are named like prototypes', () => {
    const value = JSON.parse('{"z":1,"__proto__":{"polluted":true},"constructor":{"prototype":2}}')
    expect(canonicalJson(value)).toBe('{"__proto__":{"polluted":true},"constructor":{"prototype":2},"z":1}')
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it('has no lone surrogates', () => {
    expect(canonicalJson({ 'k\ud800': ['a\udc00b', '\ud83d\ude00', '\\ud800'] })).toBe(
      '{"k\ufffd":["a\ufffdb","\ud83d\ude00","\\\\ud800"]}',
    )
  })
})
