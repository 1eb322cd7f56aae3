import { posix } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { caselessPathSegment, hiveSegment, pathSegment } from '../../src/files/path-segment.ts'
import { oddIds } from './odd-ids.ts'

const MARK = /~[0-9a-f]{8}$/

/** Returns the id from which `pathSegment` or `caselessPathSegment` made this name; null if the id was truncated and hashed. */
function idOfPathSegment(name: string): string | null {
  const plain = name.replace(MARK, '')
  return plain.includes('~') ? null : decodeURIComponent(plain)
}

describe('an id as a folder', () => {
  it('is never shared by two ids', () => {
    fc.assert(
      fc.property(oddIds, oddIds, (a, b) => {
        fc.pre(a !== b)
        expect(pathSegment(a)).not.toBe(pathSegment(b))
      }),
      { numRuns: 1_000 },
    )
  })

  it('differs from others by more than case, for case-insensitive file systems', () => {
    const alike = fc
      .tuple(oddIds, fc.array(fc.boolean()))
      .map(([id, ups]) => [id, [...id].map((each, at) => (ups[at] ? each.toUpperCase() : each)).join('')] as const)
    const pairs = fc.oneof(fc.tuple(oddIds, oddIds), alike)
    fc.assert(
      fc.property(pairs, ([a, b]) => {
        fc.pre(a !== b)
        expect(caselessPathSegment(a).toLowerCase()).not.toBe(caselessPathSegment(b).toLowerCase())
        expect(caselessPathSegment(a)).toMatch(/^[A-Za-z0-9_%~-][A-Za-z0-9_.%~-]*$/)
        expect([null, a.toWellFormed()]).toContain(idOfPathSegment(caselessPathSegment(a)))
      }),
      { numRuns: 1_000 },
    )
    expect([caselessPathSegment('agent_a'), idOfPathSegment(caselessPathSegment('Agent_A'))]).toEqual([
      'agent_a',
      'Agent_A',
    ])
  })

  it('is one path segment, which never leads out of its parent', () => {
    fc.assert(
      fc.property(oddIds, id => {
        expect(pathSegment(id)).toMatch(/^[A-Za-z0-9_%~-][A-Za-z0-9_.%~-]*$/)
        expect(posix.dirname(posix.join('/root', pathSegment(id)))).toBe('/root')
        // Common file systems accept names of at most 255 bytes.
        expect(pathSegment(id).length).toBeLessThanOrEqual(255)
      }),
      { numRuns: 1_000 },
    )
  })

  it('of a partition decodes to the id, and is not what readers take for NULL', () => {
    fc.assert(
      fc.property(fc.oneof(oddIds, fc.constantFrom('null', 'Null', 'NULL')), id => {
        expect(decodeURIComponent(hiveSegment(id))).toBe(id.toWellFormed())
        expect(hiveSegment(id)).not.toMatch(/^null$|[/=]/i)
      }),
      { numRuns: 1_000 },
    )
  })

  it('can be decoded if it has an ordinary length', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }), id => {
        fc.pre(encodeURIComponent(id).length <= 100)
        expect(idOfPathSegment(pathSegment(id))).toBe(id)
      }),
    )
  })

  it('is the id itself if that is plain', () => {
    expect(pathSegment('6f1c9a2e-7d0b-4f7e-9a63-0d5c2a7b1e11')).toBe('6f1c9a2e-7d0b-4f7e-9a63-0d5c2a7b1e11')
  })

  it('may contain a lone surrogate', () => expect(pathSegment('a\ud800')).toBe(pathSegment('a\ufffd')))

  it('distinguishes two long ids with the same beginning', () => {
    expect(pathSegment(`${'x'.repeat(300)}1`)).not.toBe(pathSegment(`${'x'.repeat(300)}2`))
  })
})
