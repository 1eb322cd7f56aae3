import { posix } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { idOfSegment, pagePath, parsePageName, segment, streamFolder } from '../../src/landing/names.ts'
import { placeOf } from './page-heads.ts'

/** Ids as a vendor may make them, and as one who means harm would. */
const ids = fc.oneof(
  fc.uuid(),
  fc.string({ maxLength: 300 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.constantFrom(
    '',
    '.',
    '..',
    '../x',
    '../../etc/passwd',
    '/',
    '\\',
    '.hidden',
    'a/b',
    'a\0b',
    '%2E',
    '~',
    'x'.repeat(300),
  ),
)

describe('an id as a folder', () => {
  it('is never shared by two ids', () => {
    fc.assert(
      fc.property(ids, ids, (a, b) => {
        fc.pre(a !== b)
        expect(segment(a)).not.toBe(segment(b))
      }),
      { numRuns: 1_000 },
    )
  })

  it('is one segment of a path, that never leads out of its parent', () => {
    fc.assert(
      fc.property(ids, id => {
        expect(segment(id)).toMatch(/^[A-Za-z0-9_%~-][A-Za-z0-9_.%~-]*$/)
        expect(posix.dirname(posix.join('/root', segment(id)))).toBe('/root')
        // The longest name that common file systems take.
        expect(segment(id).length).toBeLessThanOrEqual(255)
      }),
      { numRuns: 1_000 },
    )
  })

  it('can be read back, where it is of an ordinary length', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }), id => {
        fc.pre(encodeURIComponent(id).length <= 100)
        expect(idOfSegment(segment(id))).toBe(id)
      }),
    )
  })

  it('is the id itself, where that is plain', () => {
    expect(segment('6f1c9a2e-7d0b-4f7e-9a63-0d5c2a7b1e11')).toBe('6f1c9a2e-7d0b-4f7e-9a63-0d5c2a7b1e11')
  })

  it('takes a lone surrogate', () => expect(segment('a\ud800')).toBe(segment('a\ufffd')))

  it('tells two long ids apart that begin alike', () => {
    expect(segment(`${'x'.repeat(300)}1`)).not.toBe(segment(`${'x'.repeat(300)}2`))
  })
})

describe('the path of a page', () => {
  it('tells the story of the page', () => {
    const place = placeOf({ window: '20261120T204946123Z-tail-start-1732000000', sequence: 7 })
    expect(pagePath('ws_demo', place)).toBe(
      'ws_demo/conversations/agent-1/2026-11/20261120T204946123Z-tail-start-1732000000.g01.p000007.json.gz',
    )
    expect(pagePath('ws_demo', placeOf({ stream: 'agents', agentId: null, window: '20261120T204946123Z-all' }))).toBe(
      'ws_demo/agents/2026-11/20261120T204946123Z-all.g01.p000001.json.gz',
    )
  })

  it('never leaves the folder of its workspace and stream', () => {
    fc.assert(
      fc.property(ids, ids, (workspaceId, agentId) => {
        const path = pagePath(workspaceId, placeOf({ agentId }))
        expect(path.split('/')).toHaveLength(5)
        expect(path.startsWith(`${streamFolder(workspaceId, 'conversations', agentId)}/`)).toBe(true)
      }),
    )
  })

  it('gives back its window, generation and sequence', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 2_000_000 }), (generation, sequence) => {
        const place = placeOf({ generation, sequence })
        const name = posix.basename(pagePath('ws', place))
        expect(parsePageName(name)).toEqual({ window: place.window, generation, sequence })
      }),
    )
  })

  it.each(['.tmp-12-abc', 'notes.txt', 'x.g01.json.gz', 'x.g01.p000001.json', '.g01.p000001.json.gz'])(
    'is not what %s is',
    name => expect(parsePageName(name)).toBeNull(),
  )
})
