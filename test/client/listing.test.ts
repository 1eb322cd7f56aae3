import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ListedPage } from '../../src/client/envelopes.ts'
import { readListing } from '../../src/client/listing.ts'

/** A correct vendor that marks the last page in one of the ways that the document allows. */
interface Vendor {
  agents: number
  starred: number
  pageSize: number
  reportsTotal: boolean
  reportsMore: 'never' | 'always' | 'only if there is'
}

const vendors = fc.record<Vendor>({
  agents: fc.integer({ min: 0, max: 60 }),
  starred: fc.integer({ min: 0, max: 60 }),
  pageSize: fc.integer({ min: 1, max: 25 }),
  reportsTotal: fc.boolean(),
  reportsMore: fc.constantFrom('never', 'always', 'only if there is'),
})

const idOf = (at: number) => `a${at}`

function pageOf({ agents, starred, pageSize, reportsTotal, reportsMore }: Vendor, number: number): ListedPage {
  const all = Array.from({ length: agents }, (_, at) => idOf(at))
  const isMore = number * pageSize < agents
  return {
    ids: all.slice((number - 1) * pageSize, number * pageSize),
    besides: all.slice(Math.max(0, agents - starred)),
    unidentified: 0,
    total: reportsTotal ? agents : null,
    hasMore: reportsMore === 'always' || (reportsMore === 'only if there is' && isMore) ? isMore : null,
  }
}

const read = (pages: (number: number) => ListedPage, isPaged = true) => {
  const asked: number[] = []
  const listing = readListing({
    ask: async number => {
      asked.push(number)
      return pages(number)
    },
    read: page => page,
    isPaged: () => isPaged,
  })
  return listing.then(({ pages: answers, cutOff }) => ({
    ids: new Set(answers.flatMap(({ answer }) => [...answer.ids, ...answer.besides])),
    cutOff,
    asked,
  }))
}

describe('a listing', () => {
  it('is complete and known to be, however the vendor marks its end', async () => {
    await fc.assert(
      fc.asyncProperty(vendors, async vendor => {
        const { ids, cutOff, asked } = await read(number => pageOf(vendor, number))
        expect(ids.size).toBe(vendor.agents)
        expect(cutOff).toBeNull()
        expect(asked.length).toBeLessThanOrEqual(Math.ceil(vendor.agents / vendor.pageSize) + 2)
      }),
      { seed: 14, numRuns: 500 },
    )
  })

  it('is known to be complete only if it is, for a vendor that returns only its first page', async () => {
    await fc.assert(
      fc.asyncProperty(vendors, fc.boolean(), async (vendor, refuses) => {
        const first = pageOf(vendor, 1)
        const { ids, cutOff, asked } = await read(() => first, !refuses)
        expect(cutOff !== null || ids.size === vendor.agents).toBe(true)
        expect(asked.length).toBeLessThanOrEqual(3)
      }),
      { seed: 14, numRuns: 500 },
    )
  })

  it('of a vendor that returns new entries forever is given up and reported as cut off', async () => {
    const { asked, cutOff } = await read(number => ({
      ids: [idOf(number)],
      besides: [],
      unidentified: 0,
      total: null,
      hasMore: true,
    }))
    expect([asked.length, cutOff?.issue]).toEqual([1_000, 'the vendor returns page after page without end'])
  })
})
