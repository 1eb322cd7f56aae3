import { describe, expect, it } from 'vitest'
import { until } from '../../until.ts'
import { call, exportAll, exportable, exportPage, firstAgent, idsOf, type open, START_MS } from '../caller.ts'
import { ask, openWith, served, statuses, statusOf } from './fault-caller.ts'

const usageOf = async (sandbox: Awaited<ReturnType<typeof open>>) =>
  (await exportPage(sandbox, firstAgent(sandbox))).usage

describe('a refused request', () => {
  it.each([
    ['429', 429, 'TOO_MANY_REQUESTS'],
    ['503', 503, 'SERVICE_UNAVAILABLE'],
    ['500', 500, 'INTERNAL_SERVER_ERROR'],
  ] as const)('with the fault %s has its status and code, and bills nothing', async (fault, status, code) => {
    const sandbox = await openWith({ script: [{ fault, at: 1 }] })
    const response = await ask(sandbox)
    expect([response.status, response.headers.get('retry-after')]).toEqual([status, null])
    expect(await response.json()).toMatchObject({ code })
    expect((await served(sandbox))[0]).toMatchObject({ status, returned: 0, billed: 0, faults: [fault] })
    const usage = await usageOf(sandbox)
    expect(usage.billableUsedThisPeriod).toBe(usage.billableUsedThisRequest)
  })

  it('with the fault 429-retry-after has the Retry-After of its parameter', async () => {
    const sandbox = await openWith({ script: [{ fault: '429-retry-after', param: 90_000 }] })
    expect((await ask(sandbox)).headers.get('retry-after')).toBe('90')
  })

  it('counts against the rate limit only if it reached the export', async () => {
    const faults = ['429', '503', 'dropped-before', '500'] as const
    const sandbox = await openWith({ script: faults.map((fault, place) => ({ fault, at: place + 1 })) })
    expect(await statuses(sandbox, 4)).toEqual([429, 503, 0, 500])
    expect((await exportPage(sandbox, firstAgent(sandbox))).rateLimit.remainingHour).toBe(1_498)
  })

  it('with the fault expired-cursor has a cursor, which is valid again without the fault', async () => {
    const sandbox = await openWith({ rates: { 'expired-cursor': 1 } })
    const { nextCursor } = await exportPage(sandbox, firstAgent(sandbox))
    const response = await ask(sandbox, { cursor: nextCursor! })
    expect([response.status, await response.json()]).toEqual([
      400,
      { message: 'Invalid cursor', code: 'BAD_REQUEST', issues: [{ message: 'cursor has expired' }] },
    ])
    sandbox.faults.set({})
    expect((await ask(sandbox, { cursor: nextCursor! })).status).toBe(200)
  })
})

describe('an answer with a deep envelope', () => {
  it('has the same page beside the nested field', async () => {
    const sandbox = await openWith({ script: [{ fault: 'deep-envelope', param: 9, at: 1 }] })
    const text = await (await ask(sandbox)).text()
    expect(text.startsWith(`{"futureDepth":${'{"a":'.repeat(9)}1${'}'.repeat(9)},"success":true`)).toBe(true)
    const { data } = JSON.parse(text) as { data: unknown[] }
    expect(data).toEqual((await exportPage(sandbox, firstAgent(sandbox))).data)
  })
})

describe('a lost answer', () => {
  it.each(['cut-body', 'cut-json', 'html', 'dropped-after'] as const)('by the fault %s is billed', async fault => {
    const sandbox = await openWith({ script: [{ fault, at: 1 }] })
    await statusOf(ask(sandbox))
    const [first] = await served(sandbox)
    const good = await exportPage(sandbox, firstAgent(sandbox))
    expect(first).toMatchObject({ returned: 0, billed: good.usage.billableUsedThisRequest, faults: [fault] })
    expect(first!.billed).toBeGreaterThan(0)
    expect(good.usage.billableUsedThisPeriod).toBe(2 * first!.billed)
  })

  it('by a dropped connection is billed only if the work was done before', async () => {
    const sandbox = await openWith({
      script: [
        { fault: 'dropped-before', at: 1 },
        { fault: 'dropped-after', at: 2 },
      ],
    })
    expect(await statuses(sandbox, 3)).toEqual([0, 0, 200])
    const [before, after] = await served(sandbox)
    expect(before).toMatchObject({ status: 0, billed: 0 })
    expect(after!.status).toBe(0)
    expect(after!.billed).toBeGreaterThan(0)
  })

  it('by the fault cut-body has status 200 and an incomplete body', async () => {
    const sandbox = await openWith({ rates: { 'cut-body': 1 } })
    const response = await ask(sandbox)
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
  })

  it('by the fault cut-json arrives completely but cannot be parsed', async () => {
    const sandbox = await openWith({ rates: { 'cut-json': 1 } })
    const text = await (await ask(sandbox)).text()
    expect(text.startsWith('{"success":true')).toBe(true)
    expect(() => JSON.parse(text)).toThrow()
  })

  it('by the fault html is an HTML page with status 200', async () => {
    const sandbox = await openWith({ rates: { html: 1 } })
    const response = await ask(sandbox)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await response.text()).toContain('<html>')
  })
})

describe('a page with a fault', () => {
  it('that is empty bills nothing, and paging continues with its cursor to the end', async () => {
    const sandbox = await openWith({ rates: { 'empty-page': 0.5 } })
    const pages = await exportAll(sandbox, firstAgent(sandbox), { sort: 'asc', limit: 20 })
    expect(idsOf(pages)).toEqual(exportable(sandbox, firstAgent(sandbox)).map(({ id }) => id))
    const empty = pages.filter(page => page.scannedConvoCount === 0)
    expect(empty.length).toBeGreaterThan(3)
    expect(empty.every(page => page.hasMore && page.usage.billableUsedThisRequest === 0)).toBe(true)
    const cursors = pages.map(page => page.nextCursor)
    expect(new Set(cursors).size).toBe(cursors.length)
  })

  it('has the cursor just used, or none, although hasMore is true', async () => {
    const sandbox = await openWith({
      script: [
        { fault: 'repeated-cursor', from: 1, to: 2 },
        { fault: 'missing-cursor', at: 3 },
      ],
    })
    const first = await exportPage(sandbox, firstAgent(sandbox))
    const cursor = first.nextCursor!
    const second = await exportPage(sandbox, firstAgent(sandbox), { cursor })
    expect([second.hasMore, second.nextCursor, second.data.length > 0]).toEqual([true, cursor, true])
    const third = await exportPage(sandbox, firstAgent(sandbox), { cursor })
    expect([third.hasMore, third.nextCursor, idsOf([third])]).toEqual([true, null, idsOf([second])])
    expect((await served(sandbox)).map(({ faults }) => faults)).toEqual([[], ['repeated-cursor'], ['missing-cursor']])
  })

  it('that is shuffled has the same records in another order', async () => {
    const sandbox = await openWith({ rates: { shuffled: 1 } })
    const shuffled = idsOf([await exportPage(sandbox, firstAgent(sandbox))])
    sandbox.faults.set({})
    const plain = idsOf([await exportPage(sandbox, firstAgent(sandbox))])
    expect(shuffled).not.toEqual(plain)
    expect(shuffled.toSorted()).toEqual(plain.toSorted())
  })
})

describe('the reported counters', () => {
  it('include the requests of another user of the token, until none is left', async () => {
    const sandbox = await openWith({ rates: { 'others-requests': { rate: 1, param: 700 } } })
    const left = [await exportPage(sandbox, firstAgent(sandbox)), await exportPage(sandbox, firstAgent(sandbox))]
    expect(left.map(({ rateLimit }) => rateLimit.remainingHour)).toEqual([799, 98])
    expect((await ask(sandbox)).status).toBe(429)
  })

  it('start again when the hourly count is reset', async () => {
    const sandbox = await openWith({ script: [{ fault: 'hour-forgotten', at: 3 }] }, { hourlyRequests: 2 })
    expect(await statuses(sandbox, 5)).toEqual([200, 200, 200, 200, 429])
  })

  it('are wrong in one answer and right in the next', async () => {
    const faults = ['hour-reported-high', 'usage-reported-low'] as const
    const sandbox = await openWith({ script: faults.map((fault, place) => ({ fault, at: 2 * place + 2 })) })
    const pages = []
    for (let request = 1; request <= 5; request++) pages.push(await exportPage(sandbox, firstAgent(sandbox)))
    const each = pages[0]!.usage.billableUsedThisRequest
    expect(pages.map(({ rateLimit }) => rateLimit.remainingHour)).toEqual([1499, 1500, 1497, 1496, 1495])
    const used = pages.map(({ usage }) => usage.billableUsedThisPeriod)
    expect(used).toEqual([each, 2 * each, 3 * each, each, 5 * each])
    expect(pages[3]!.usage.billableRemainingThisPeriod).toBe(50_000 - each)
  })

  it('are those of the previous period, once there is one', async () => {
    const sandbox = await openWith({ rates: { 'old-period-reported': 0.5 } })
    const usage = async () => (await exportPage(sandbox, firstAgent(sandbox))).usage
    const first = await usage()
    for (let request = 0; request < 5; request++) expect((await usage()).periodKey).toBe(first.periodKey)
    sandbox.conditions.set({ turnPeriod: true })
    const later = []
    for (let request = 0; request < 12; request++) later.push(await usage())
    const old = later.filter(({ periodKey }) => periodKey === first.periodKey)
    expect([old.length > 1, old.length < 11]).toEqual([true, true])
    const each = first.billableUsedThisRequest
    expect(new Set(old.map(({ billableUsedThisPeriod }) => billableUsedThisPeriod))).toEqual(new Set([6 * each]))
    expect((await served(sandbox)).filter(({ faults }) => faults.length > 0)).toHaveLength(old.length)
  })
})

describe('a late answer', () => {
  it('is sent no earlier than the fault says', async () => {
    const sandbox = await openWith({ rates: { slow: { rate: 1, param: 300 } } })
    const startedMs = performance.now()
    expect((await ask(sandbox)).status).toBe(200)
    // Timers may fire a millisecond early.
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(298)
  })

  it('is sent after the answer of the next request', async () => {
    const sandbox = await openWith({ script: [{ fault: 'overtaking', at: 1, param: 60_000 }] })
    const order: string[] = []
    const first = ask(sandbox).then(() => order.push('first'))
    await until(async () => (await served(sandbox)).length !== 0, { everyMs: 5 })
    await ask(sandbox).then(() => order.push('second'))
    await first
    expect(order).toEqual(['second', 'first'])
  })

  it('is sent alone if no request follows, and does not delay closing the sandbox', async () => {
    const sandbox = await openWith({
      script: [
        { fault: 'overtaking', at: 1, param: 50 },
        { fault: 'slow', param: 600_000 },
      ],
    })
    expect((await ask(sandbox)).status).toBe(200)
    const unanswered = statusOf(ask(sandbox))
    await until(async () => (await served(sandbox)).length >= 2, { everyMs: 5 })
    await sandbox.close()
    expect(await unanswered).toBe(0)
  })
})

describe('the Date header', () => {
  it('is off by the parameter of the fault, ahead or behind', async () => {
    const sandbox = await openWith({
      script: [
        { fault: 'clock-off', at: 2, param: -7_200_000 },
        { fault: 'clock-off', at: 3, param: 86_400_000 },
      ],
    })
    const dates: number[] = []
    for (let request = 0; request < 4; request++) dates.push(Date.parse((await ask(sandbox)).headers.get('date')!))
    expect(dates.map(date => date - START_MS)).toEqual([0, -7_200_000, 86_400_000, 0])
  })
})

describe('faults of agent searches', () => {
  it('are served by script, and by rate only with `search`', async () => {
    const sandbox = await openWith({ rates: { '503': 1 }, script: [{ fault: 'html', kind: 'search', at: 2 }] })
    const search = () => call(sandbox, '/v3/agents/search')
    expect((await search()).headers.get('content-type')).toContain('json')
    expect((await search()).headers.get('content-type')).toContain('html')
    sandbox.faults.set({ rates: { '503': 1 }, search: true })
    expect((await search()).status).toBe(503)
  })

  it('exclude those that only an export can have', async () => {
    const sandbox = await openWith({ rates: { '429': 1, 'expired-cursor': 1, shuffled: 1 }, search: true })
    expect((await call(sandbox, '/v3/agents/search')).status).toBe(200)
  })
})
