// Shows that each reading, fault and hostile record has its declared effect, so that tests of the client are not misled.
import { describe, expect, it } from 'vitest'
import type { FaultName, FaultSettings } from '../../src/sandbox/faults/fault-settings.ts'
import { HOSTILE_NAMES } from '../../src/sandbox/hostile/hostility.ts'
import type { Readings } from '../../src/sandbox/options.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import {
  ask,
  call,
  exportAll,
  exportable,
  exportPage,
  exportPath,
  firstAgent,
  idsOf,
  open,
  type Params,
  START_MS,
} from './caller.ts'

/** Yields the answers that readings can affect, in the same order for each sandbox. */
async function* everything(readings: Partial<Readings>): AsyncGenerator<string> {
  const sandbox = await open({ conversations: 80, agents: 7, readings })
  const agentId = firstAgent(sandbox)
  const see = async (path: string): Promise<string> => {
    const answer = await call(sandbox, path)
    return JSON.stringify([answer.status, await answer.text()])
  }
  for (const query of ['', '?limit=5&page=1', '?limit=5&page=2']) yield await see(`/v3/agents/search${query}`)
  for (const query of ['', '?limit=1&page=2']) yield await see(`/v3/orgs/org_alpha/teams${query}`)
  const { nextCursorTs } = (await ask(sandbox, 'GET', `/v3/agents/${agentId}/audit-log?limit=60`)).body
  for (const cursorTs of [nextCursorTs, 1e9]) yield await see(`/v3/agents/${agentId}/audit-log?cursorTs=${cursorTs}`)
  yield await see(exportPath(agentId, { limit: 100 }))
}

async function seenWith(readings: Partial<Readings>): Promise<string[]> {
  const seen: string[] = []
  for await (const text of everything(readings)) seen.push(text)
  return seen
}

describe('a reading', () => {
  it('is served: each value changes an answer', async () => {
    const plain = await seenWith({})
    expect(await seenWith({})).toEqual(plain)
    const others: Partial<Readings>[] = [
      ...[{ auditCursor: 'exclusive' as const }, { lastAuditCursor: 'present' as const }],
      ...[{ agentPage: 3 }, { teamPage: 1 }],
    ]
    for (const readings of others) expect(await seenWith(readings), JSON.stringify(readings)).not.toEqual(plain)
  })
})

const withFaults = (faults: FaultSettings, more = {}) => open({ agents: 1, faults, ...more })

const send = (sandbox: Sandbox, params: Params = {}) => call(sandbox, exportPath(firstAgent(sandbox), params))

/** Returns the status of an answer and its text; 0 without an answer, and no text if it breaks off. */
async function outcomeOf(answer: Promise<Response>): Promise<{ status: number; text?: string }> {
  try {
    const { status, text } = await answer.then(async got => ({
      status: got.status,
      text: await got.text().catch(() => null),
    }))
    return text === null ? { status } : { status, text }
  } catch {
    return { status: 0 }
  }
}

const served = async (sandbox: Sandbox) =>
  (await ask<{ requests: ServedRequest[] }>(sandbox, 'GET', '/_sandbox/requests')).body.requests

describe('a fault', () => {
  it.each<[FaultName, number, 'free' | 'billed', boolean]>([
    ['429', 429, 'free', false],
    ['429-retry-after', 429, 'free', false],
    ['503', 503, 'free', false],
    ['dropped-before', 0, 'free', false],
    ['500', 500, 'free', true],
    ['cut-body', 200, 'billed', true],
    ['cut-json', 200, 'billed', true],
    ['html', 200, 'billed', true],
    ['dropped-after', 0, 'billed', true],
  ])('%s loses an answer, once, and bills only if the work was done', async (fault, status, cost, counts) => {
    const sandbox = await withFaults({ script: [{ fault, at: 1 }] })
    const lost = await outcomeOf(send(sandbox))
    expect(lost.status).toBe(status)
    if (status === 200) expect(() => JSON.parse(lost.text ?? '')).toThrow()
    const [first] = await served(sandbox)
    const next = await exportPage(sandbox)
    const billed = cost === 'billed' ? next.usage.billableUsedThisRequest! : 0
    expect(first).toMatchObject({ status, returned: 0, billed, faults: [fault] })
    expect(next.usage.billableUsedThisPeriod).toBe(billed + next.usage.billableUsedThisRequest!)
    expect(next.rateLimit.remainingHour).toBe(counts ? 1_498 : 1_499)
  })

  it('of paging gives no cursor, the same one, an expired one, or an empty page, and loses nothing', async () => {
    const sandbox = await withFaults({
      script: [
        { fault: 'repeated-cursor', at: 2 },
        { fault: 'missing-cursor', at: 3 },
        { fault: 'expired-cursor', at: 4 },
      ],
    })
    const { nextCursor } = await exportPage(sandbox)
    const cursor = nextCursor!
    const second = await exportPage(sandbox, { cursor })
    expect([second.hasMore, second.nextCursor]).toEqual([true, cursor])
    expect(await exportPage(sandbox, { cursor })).toMatchObject({ hasMore: true, nextCursor: null })
    expect((await outcomeOf(send(sandbox, { cursor }))).text).toContain('cursor has expired')
    expect(idsOf([await exportPage(sandbox, { cursor })])).toEqual(idsOf([second]))
    sandbox.faults.set({ rates: { 'empty-page': 0.5, shuffled: 0.5 } })
    const pages = await exportAll(sandbox)
    expect(pages.filter(({ scannedConvoCount }) => scannedConvoCount === 0).length).toBeGreaterThan(3)
    expect(idsOf(pages).toSorted()).toEqual(
      exportable(sandbox)
        .map(({ id }) => id)
        .toSorted(),
    )
  })

  it('of reported figures is wrong in one answer', async () => {
    const faults = [
      'hour-reported-high',
      'usage-reported-low',
      'unseen-period-reported',
      'old-period-reported',
    ] as const
    // A period lasts a second, in which no record changes.
    const script = faults.map((fault, place) => ({ fault, at: 2 * place + 2 }))
    const sandbox = await withFaults({ script }, { periodDays: 1 / 86_400 })
    const pages = []
    for (let request = 1; request <= 9; request++) {
      if (request === 7) sandbox.clock.advance(1_500)
      pages.push(await exportPage(sandbox))
    }
    const each = pages[0]!.usage.billableUsedThisRequest!
    expect(pages.slice(0, 3).map(({ rateLimit }) => rateLimit.remainingHour)).toEqual([1_499, 1_500, 1_497])
    const used = pages.map(({ usage }) => usage.billableUsedThisPeriod! / each)
    expect([...used.slice(0, 5), ...used.slice(6)]).toEqual([1, 2, 3, 1, 5, 1, 6, 3])
    const keys = pages.map(({ usage }) => usage.periodKey)
    expect([keys[5], keys[7], keys[8] === keys[6]]).toEqual(['elsewhere.0', keys[0], true])
  })

  it('of the hour resets the count, or counts others', async () => {
    const script = [{ fault: 'hour-forgotten' as const, at: 3 }]
    const sandbox = await withFaults({ script }, { hourlyRequests: 2 })
    const statuses = []
    for (let request = 0; request < 5; request++) statuses.push((await send(sandbox, { limit: 1 })).status)
    expect(statuses).toEqual([200, 200, 200, 200, 429])
  })

  it('of time delays an answer, or moves its Date', async () => {
    const script = [
      { fault: 'slow' as const, at: 1, param: 300 },
      { fault: 'clock-off' as const, at: 2, param: -7_200_000 },
      { fault: 'deep-envelope' as const, at: 3, param: 9 },
    ]
    const sandbox = await withFaults({ script })
    const startedMs = performance.now()
    await send(sandbox)
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(298)
    expect(Date.parse((await send(sandbox)).headers.get('date')!)).toBe(START_MS - 7_200_000)
    expect(await (await send(sandbox)).text()).toMatch(/^\{"futureDepth":(\{"a":){9}1\}{9},"success":true/)
  })

  it('hits its share of requests, the same ones for the same seed and any other rates; scripts come first', async () => {
    const hits = async (faults: FaultSettings) => {
      const sandbox = await withFaults(faults)
      for (let request = 0; request < 60; request++) await send(sandbox, { limit: 1 })
      return (await served(sandbox)).flatMap(({ n, faults: names }) => (names.includes('500') ? [n] : []))
    }
    const once = await hits({ rates: { '500': 0.3 } })
    expect([once.length > 8, once.length < 30]).toEqual([true, true])
    expect(await hits({ rates: { '500': 0.3, html: 0.4 } })).toEqual(once)
    expect(await hits({ seed: 2, rates: { '500': 0.3 } })).not.toEqual(once)
    expect(await hits({ script: [{ fault: '500', at: 4 }], rates: { '500': 0 } })).toEqual([4])
  })

  it.each([
    { rates: { lost: 1 } },
    { rates: { html: 2 } },
    { script: [{ at: 1 }] },
    { script: [{ fault: '429', kind: 'search' }] },
  ])('is refused: %o', async settings => {
    const sandbox = await open({ conversations: 3 })
    expect((await ask(sandbox, 'POST', '/_sandbox/faults', settings)).status).toBe(400)
  })
})

describe('hostile records', () => {
  it('are exported as the truth says, byte for byte each time, and can be selected by id, but for commas', async () => {
    const hostile = Object.fromEntries(HOSTILE_NAMES.map(name => [name, name === 'huge-record' ? 0 : 0.15]))
    const sandbox = await open({ agents: 1, conversations: 100, hostile })
    const body = async () => (await send(sandbox, { sort: 'asc', limit: 100 })).text()
    const dataOf = (text: string) => text.slice(text.indexOf('"data":['), text.lastIndexOf(',"usage":'))
    const first = dataOf(await body())
    expect(dataOf(await body())).toBe(first)
    const truth = exportable(sandbox).map(({ id }) => id)
    const records = JSON.parse(first.slice('"data":'.length)) as ({ ID?: unknown } | null)[]
    const ids = records.map(record => record?.ID).filter(id => typeof id === 'string')
    expect(ids.toSorted()).toEqual(truth.toSorted())
    const tally = sandbox.world.tally(firstAgent(sandbox), START_MS)
    expect([tally.exportable, tally.nameless > 10]).toEqual([truth.length, true])
    expect(records).toHaveLength(tally.exportable + tally.nameless)
    for (const id of truth)
      expect(idsOf(await exportAll(sandbox, { convoIds: id }))).toEqual(id.includes(',') ? [] : [id])
  })
})
