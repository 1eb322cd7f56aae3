import { describe, expect, it } from 'vitest'
import { exportAll, exportable, exportPage, firstAgent, idsOf, open, START_MS } from '../caller.ts'

describe('paging', () => {
  it.each(['asc', 'desc'] as const)('returns each exportable conversation of each agent once, %s', async sort => {
    const sandbox = await open({ conversations: 200 })
    for (const agentId of sandbox.world.agentIds()) {
      const ids = idsOf(await exportAll(sandbox, agentId, { sort, limit: 7 }))
      expect(ids.toSorted()).toEqual(
        exportable(sandbox, agentId)
          .map(({ id }) => id)
          .toSorted(),
      )
    }
  })

  it.each(['asc', 'desc'] as const)('returns 150 conversations with one ts, and those without ts, %s', async sort => {
    const sandbox = await open({ conversations: 1_000, agents: 1, burstEvery: 500, burstSize: 150 })
    const agentId = firstAgent(sandbox)
    const truth = exportable(sandbox, agentId)
    const times = truth.map(({ document }) => document.ts)
    const counts = new Map<unknown, number>()
    for (const ts of times) counts.set(ts, (counts.get(ts) ?? 0) + 1)
    expect(Math.max(...counts.values())).toBeGreaterThan(130)
    expect(times).toContain(undefined)

    const pages = await exportAll(sandbox, agentId, { sort, limit: 100 })
    expect(idsOf(pages).toSorted()).toEqual(truth.map(({ id }) => id).toSorted())
    const stamps = pages.flatMap(page => page.data.map(record => record.ts ?? 0))
    const ascending = stamps.toSorted((a, b) => a - b)
    expect(stamps).toEqual(sort === 'asc' ? ascending : ascending.reverse())
  })

  it('returns the newest conversations first, 20 per page, by default', async () => {
    const sandbox = await open()
    const page = await exportPage(sandbox, firstAgent(sandbox))
    expect(page).toMatchObject({ success: true, mode: 'paginated', limit: 20, scannedConvoCount: 20, hasMore: true })
    expect(page.query).toEqual({ sort: 'desc', fromTs: null, toTs: null })
    const newest = exportable(sandbox, firstAgent(sandbox)).map(({ document }) => Number(document.ts ?? 0))
    expect(page.data[0]!.ts).toBe(Math.max(...newest))
  })

  it('returns the fields of section 4.12 in order, at top level', async () => {
    const sandbox = await open()
    expect(Object.keys(await exportPage(sandbox, firstAgent(sandbox)))).toEqual(
      'success message data usage rateLimit hasMore nextCursor limit mode scannedConvoCount source query'.split(' '),
    )
  })

  it('scans conversations that it skips, so that a page can be empty without being the last', async () => {
    const sandbox = await open({ conversations: 150, agents: 1 })
    const agentId = firstAgent(sandbox)
    const pages = await exportAll(sandbox, agentId, { sort: 'asc', limit: 1 })
    expect(pages.some(page => page.data.length === 0 && page.hasMore && page.scannedConvoCount === 1)).toBe(true)
    expect(pages.reduce((sum, page) => sum + page.scannedConvoCount, 0)).toBe(sandbox.world.count(agentId, START_MS))
  })

  it('ends without a cursor, also if the range is empty', async () => {
    const sandbox = await open()
    const page = await exportPage(sandbox, firstAgent(sandbox), { fromTs: 9_999_999_999_999 })
    expect(page).toMatchObject({ data: [], hasMore: false, nextCursor: null, scannedConvoCount: 0 })
    expect(page.usage.billableUsedThisRequest).toBe(0)
  })

  it('returns the same pages as another sandbox with the same seed', async () => {
    const [one, other] = [await open({ seed: 42 }), await open({ seed: 42, cacheBytes: 0 })]
    const bytes = [one, other].map(sandbox => exportAll(sandbox, firstAgent(sandbox), { limit: 50 }))
    expect(JSON.stringify(await bytes[0])).toBe(JSON.stringify(await bytes[1]))
  })
})

describe('a limit', () => {
  it.each(['0', '101', '-1', '1.5', 'many', ''])('of %j is refused with an issue', async limit => {
    const sandbox = await open()
    const attempt = exportPage(sandbox, firstAgent(sandbox), { limit })
    await expect(attempt).rejects.toThrow(/^400 .*BAD_REQUEST.*limit must be a whole number from 1 to 100/)
  })

  it('of 100 is accepted', async () => {
    const sandbox = await open()
    expect((await exportPage(sandbox, firstAgent(sandbox), { limit: 100 })).scannedConvoCount).toBe(100)
  })
})
