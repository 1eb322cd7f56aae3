import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keyEntries } from '../../src/catalog/resources/audit-log.ts'
import { VendorError } from '../../src/client/faults.ts'
import { type LogPage, readLog, SECOND_CUT, STUCK } from '../../src/client/log-pages.ts'

interface Entry {
  ts: number
  field: string
}

interface Vendor {
  /** Entries, newest first. */
  log: readonly Entry[]
  /** Maximum page size: larger limits are refused or ignored. */
  most: number
  refuses: boolean
  isInclusive: boolean
  /** True if the last page has a cursor: the second of its last entry. */
  endsWithCursor: boolean
}

const refusal = () => new VendorError('API_BAD_REQUEST', { what: 'The limit is too large.', hint: 'Ask for less.' })

/** Returns a vendor's answers according to section 4.5. */
function answers({ log, most, refuses, isInclusive, endsWithCursor }: Vendor, requests: number[]) {
  return async ({ cursor = Number.POSITIVE_INFINITY, limit }: { cursor?: number; limit: number }): Promise<LogPage> => {
    requests.push(cursor)
    if (requests.length > 400) throw new Error('pages without end')
    if (limit > most && refuses) throw refusal()
    const older = log.filter(({ ts }) => (isInclusive ? ts <= cursor : ts < cursor))
    const entries = older.slice(0, Math.min(limit, most))
    const { entries: keyed } = keyEntries({ entries }) as { entries: { _key: string }[] }
    const isEnd = older.length <= Math.min(limit, most) && !endsWithCursor
    return {
      ids: keyed.map(({ _key }) => _key),
      times: entries.map(({ ts }) => ts),
      nextCursor: isEnd ? null : (entries.at(-1)?.ts ?? (Number.isFinite(cursor) ? cursor : 0)),
    }
  }
}

const keysOf = (log: readonly Entry[]): string[] =>
  (keyEntries({ entries: log }) as { entries: { _key: string }[] }).entries.map(({ _key }) => _key)

const readAll = async (vendor: Vendor, limit: number, untilSec: number | null = null) => {
  const requests: number[] = []
  const { pages, gap } = await readLog({ ask: answers(vendor, requests), read: page => page, limit, untilSec })
  return { keys: new Set(pages.flatMap(({ answer: { ids } }) => ids)), gap, requests }
}

const vendors = fc.record({
  log: fc
    .array(fc.record({ ts: fc.integer({ min: 1, max: 12 }), field: fc.constantFrom('title', 'theme') }), {
      maxLength: 40,
    })
    .map(log => log.sort((a, b) => b.ts - a.ts)),
  most: fc.integer({ min: 2, max: 9 }),
  refuses: fc.boolean(),
  isInclusive: fc.boolean(),
  endsWithCursor: fc.boolean(),
})

describe('a log that pages by seconds', () => {
  it('is read to its end under every reading of its cursor; identical entries stay several; a cut second is reported', async () => {
    await fc.assert(
      fc.asyncProperty(vendors, async vendor => {
        const { keys, gap } = await readAll(vendor, Math.min(vendor.most, 5))
        const all = keysOf(vendor.log)
        expect(new Set(all).size).toBe(all.length)
        const missing = vendor.log.filter((_, place) => !keys.has(all[place]!))
        expect([...keys].filter(key => !all.includes(key))).toEqual([])
        if (missing.length > 0) expect(gap).toBe(SECOND_CUT)
        // Only seconds with more entries than fit into a page can be incomplete.
        for (const { ts } of missing)
          expect(vendor.log.filter(other => other.ts === ts).length).toBeGreaterThanOrEqual(Math.min(vendor.most, 5))
      }),
      { numRuns: 2000 },
    )
  })

  it.each([true, false])(
    'ends if the vendor always sends the same cursor; pages honour the cursor: %s',
    async isHonoured => {
      const log = Array.from({ length: 60 }, (_, place) => ({ ts: 100 - Math.floor(place / 3), field: String(place) }))
      const requests: number[] = []
      const vendor = { log, most: 10, refuses: false, isInclusive: true, endsWithCursor: true }
      const answer = answers(vendor, requests)
      const { pages, gap } = await readLog({
        ask: async request => ({
          ...(await answer({ ...request, ...(!isHonoured && { cursor: 200 }) })),
          nextCursor: 95,
        }),
        read: page => page,
        limit: 10,
        untilSec: null,
      })
      expect(requests.length).toBeLessThan(6)
      expect(pages.length).toBeGreaterThan(0)
      expect(gap).toBe(isHonoured ? STUCK : SECOND_CUT)
    },
  )

  it('is read until a known second only, which is read as a whole', async () => {
    await fc.assert(
      fc.asyncProperty(vendors, fc.integer({ min: 1, max: 12 }), async (vendor, untilSec) => {
        const roomy = { ...vendor, most: 200 }
        const { keys } = await readAll(roomy, 45, untilSec)
        const all = keysOf(vendor.log)
        const unread = vendor.log.filter(({ ts }, place) => ts >= untilSec && !keys.has(all[place]!))
        expect(unread).toEqual([])
      }),
      { numRuns: 100 },
    )
  })

  it('takes one request if the newest page reaches the known second, and a larger page for a crowded second', async () => {
    const quiet = Array.from({ length: 300 }, (_, place) => ({ ts: 1_000 - place, field: 'title' }))
    const vendor = { log: quiet, most: 200, refuses: true, isInclusive: true, endsWithCursor: true }
    expect((await readAll(vendor, 200, 990)).requests).toHaveLength(1)
    const crowded = Array.from({ length: 700 }, (_, place) => ({ ts: place < 650 ? 77 : 76, field: `f${place}` }))
    const larger = await readAll({ ...vendor, log: crowded, most: 5_000, endsWithCursor: false }, 200)
    expect([larger.keys.size, larger.gap]).toEqual([700, undefined])
    const cut = await readAll({ ...vendor, log: crowded }, 200)
    expect([cut.keys.size, cut.gap]).toEqual([250, SECOND_CUT])
  })
})
