// Ids that are requested and not returned: the vendor reports only the number of scanned conversations.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { idsFitting, isReaskingIds, unansweredOf } from '../../../src/core/planning/window-ids.ts'
import { advance } from '../../../src/core/planning/window-progress.ts'
import { nextRequest } from '../../../src/core/planning/window-query.ts'
import { newProgress, openWindow, type PageFacts, type WindowProgress } from '../../../src/core/planning/windows.ts'

type Fate = 'exported' | 'gone' | 'not exportable'

function factsOf(progress: WindowProgress, asked: readonly string[], fates: ReadonlyMap<string, Fate>): PageFacts {
  const of = (fate: Fate) => asked.filter(id => fates.get(id) === fate)
  const returned = of('exported').length
  return {
    window: progress.window,
    generation: progress.generation,
    sequence: progress.sequence,
    limit: asked.length,
    atMs: 0,
    cursorIn: null,
    cursorOut: null,
    hasMore: false,
    returned,
    scanned: returned + of('not exportable').length,
    billed: returned,
    lastTsMs: null,
    missing: asked.filter(id => fates.get(id) !== 'exported'),
    askedBefore: progress.asked,
    ...(isReaskingIds(progress) && { again: true }),
  }
}

function readAll(fates: ReadonlyMap<string, Fate>, pageSize: number) {
  const ids = [...fates.keys()]
  const classified = new Map<string, Fate>()
  const asked: string[][] = []
  let progress = newProgress(
    openWindow({ agentId: 'a', kind: 'refresh', fromSec: null, toSec: 0, openedAtMs: 1_750_000_000_000, ids }),
  )
  while (!progress.done) {
    const next = nextRequest(progress, Math.min(pageSize, idsFitting(progress)))
    const facts = factsOf(progress, next.query.convoIds!, fates)
    asked.push(next.query.convoIds!)
    const { gone, notExportable } = unansweredOf(facts)
    for (const id of gone) classified.set(id, 'gone')
    for (const id of notExportable) classified.set(id, 'not exportable')
    progress = advance(next.progress, facts)
    expect(asked.length).toBeLessThan(200)
  }
  return { classified, asked }
}

describe('ids without an answer', () => {
  it.each([
    [
      { limit: 3, missing: ['x'], scanned: 3 },
      { gone: [], notExportable: ['x'], either: [] },
    ],
    [
      { limit: 3, missing: ['x'], scanned: 2 },
      { gone: [], notExportable: [], either: ['x'] },
    ],
    [
      { limit: 2, missing: ['x', 'y'], scanned: 0 },
      { gone: ['x', 'y'], notExportable: [], either: [] },
    ],
    [
      { limit: 3, missing: ['x'], scanned: 3, hasMore: true },
      { gone: [], notExportable: [], either: ['x'] },
    ],
    [
      { limit: 2, missing: ['x', 'y'], scanned: null, returned: 20 },
      { gone: [], notExportable: ['x', 'y'], either: [] },
    ],
    [
      { limit: 3, missing: ['x', 'y'], scanned: 2 },
      { gone: [], notExportable: [], either: ['x', 'y'] },
    ],
    [
      { limit: 3, missing: ['x', 'y'], scanned: 9 },
      { gone: [], notExportable: ['x', 'y'], either: [] },
    ],
    [
      { limit: 3, missing: ['x'], scanned: null },
      { gone: [], notExportable: [], either: [] },
    ],
    [
      { limit: 3, missing: ['x'], scanned: 0 },
      { gone: [], notExportable: [], either: [] },
    ],
  ])('of %j are %j', (facts, fates) => {
    const returned = facts.limit - facts.missing.length
    expect(unansweredOf({ returned, hasMore: false, ...facts })).toEqual(fates)
  })

  it('are never misclassified, and few requests classify a few of them', () => {
    const fates = fc.array(
      fc.constantFrom<Fate>('exported', 'exported', 'exported', 'exported', 'gone', 'not exportable'),
      { maxLength: 120 },
    )
    fc.assert(
      fc.property(fates, fc.integer({ min: 1, max: 60 }), (given, pageSize) => {
        const truth = new Map(given.map((fate, at) => [`c${at}`, fate]))
        const { classified, asked } = readAll(truth, pageSize)
        for (const [id, fate] of classified) expect(truth.get(id)).toBe(fate)
        // Ids that are exported are requested only once, because only they are billed.
        const all = asked.flat()
        for (const [id, fate] of truth) if (fate === 'exported') expect(all.filter(one => one === id)).toHaveLength(1)
        expect(asked.length).toBeLessThanOrEqual(Math.ceil(truth.size / pageSize) + 16)
      }),
      { seed: 8, numRuns: 300 },
    )
  })

  it('are all classified if one is gone and one is not exportable', () => {
    const truth = new Map<string, Fate>(Array.from({ length: 50 }, (_, at) => [`c${at}`, 'exported']))
    truth.set('c7', 'gone').set('c31', 'not exportable')
    const { classified, asked } = readAll(truth, 100)
    expect([...classified]).toEqual([
      ['c7', 'gone'],
      ['c31', 'not exportable'],
    ])
    expect(asked.map(ids => ids.length)).toEqual([50, 1, 1])
  })
})
