// Vendor faults made by a proxy: refused or repeated cursors, empty pages, an outage, and an interrupted run.
import { describe, expect, it } from 'vitest'
import { MINUTE } from '../../../src/core/time.ts'
import type { SyncReport } from '../../../workflows/steps.ts'
import { isDeep } from '../../tier.ts'
import { expectedTables } from '../simulated/expected-rows.ts'
import { type Meddling, meddlingProxy, type Passing } from '../simulated/meddling-proxy.ts'
import { type SimulatedApp, START_MS } from '../simulated/open-simulated-app.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'
import { readThrough, truthOf } from '../simulated/truth.ts'
import { asLines, warehouseTables } from '../simulated/warehouse-tables.ts'

const REFUSED: Meddling = {
  answer: { status: 400, body: JSON.stringify({ message: 'Invalid cursor', code: 'BAD_REQUEST', issues: [] }) },
}

const meddled = (meddle: (passing: Passing) => Meddling | undefined): Promise<SimulatedApp> =>
  simulatedApp({
    sandbox: { conversations: 120 },
    settings: { maxPage: 15 },
    through: async sandbox => (await meddlingProxy(sandbox.url, meddle)).url,
  })

const hasCursor = ({ query }: Passing): boolean => query.has('cursor')

async function expectTruth(simulated: SimulatedApp): Promise<void> {
  const truth = truthOf(simulated.sandbox, { throughMs: readThrough(START_MS, 2 * MINUTE) })
  expect(asLines(await warehouseTables(simulated.rows))).toEqual(asLines(expectedTables(truth)))
}

const generations = async (simulated: SimulatedApp): Promise<number> =>
  (
    await simulated.rows<{ n: number }>(`SELECT max((progress->>'$.generation')::INTEGER)::INTEGER AS n FROM _windows`)
  )[0]!.n

describe('a cursor that is refused', () => {
  it('starts the next generation at the last landed conversation, even if every cursor is refused: nothing is lost or duplicated', async () => {
    const simulated = await meddled(passing => (hasCursor(passing) ? REFUSED : undefined))
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
    expect(await generations(simulated)).toBeGreaterThan(2)
    await expectTruth(simulated)
  })

  // Deep tier only: npm test covers this case in vendor-faults-limits.test.ts.
  it.runIf(isDeep)('ends its window with a gap after a few restarts that make no progress', async () => {
    const same = (body: Record<string, unknown>) => ({
      ...body,
      data: (body.data as Record<string, unknown>[]).map(record => ({ ...record, ts: START_MS - 86_400_000 })),
    })
    const simulated = await meddled(passing => (hasCursor(passing) ? REFUSED : { change: same }))
    const report = await simulated.sync()
    expect(report.gaps?.map(({ code }) => code)).toEqual(['API_BAD_REQUEST', 'API_BAD_REQUEST', 'API_BAD_REQUEST'])
    expect((await simulated.exported()).length).toBeLessThanOrEqual(3 * 8)
  })
})

describe('an answer that announces more pages with a repeated or missing cursor', () => {
  // Deep tier only: npm test covers this case in vendor-faults.test.ts.
  it.runIf(isDeep)('does not end its window: it continues by `ts`', async () => {
    const changes = [
      (body: Record<string, unknown>, asked: string | null) => ({ ...body, nextCursor: asked, hasMore: true }),
      (body: Record<string, unknown>) => ({ ...body, nextCursor: null, hasMore: true }),
    ]
    const stopped: string[] = []
    const simulated = await meddled(passing => {
      if (!hasCursor(passing) || stopped.includes(passing.agentId)) return undefined
      const change = changes[stopped.length]
      if (!change) return undefined
      stopped.push(passing.agentId)
      return { change: body => change(body, passing.query.get('cursor')) }
    })
    const report = await simulated.sync()
    expect(report).toMatchObject({ outcome: 'done', failures: [], windowsLeft: 0 })
    expect(stopped).toHaveLength(2)
    await expectTruth(simulated)
  })
})

/** A vendor whose third and following pages, `pages` in number, are empty, although their cursors advance. */
const emptied = (pages: number, fields: Record<string, unknown>) => {
  let page = 0
  return simulatedApp({
    sandbox: { agents: 1, conversations: 80, historyDays: 20 },
    settings: { maxPage: 1 },
    through: async sandbox => {
      const meddle = () => {
        page += 1
        return page > 2 && page <= 2 + pages
          ? { change: (body: object) => ({ ...body, data: [], ...fields }) }
          : undefined
      }
      return (await meddlingProxy(sandbox.url, meddle)).url
    },
  })
}

describe('pages without a conversation', () => {
  it('do not end their window, even if the vendor does not report what it scanned', async () => {
    const simulated = await emptied(55, { scannedConvoCount: undefined })
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [], windowsLeft: 0 })
  })
})

describe('a sync whose vendor is down', () => {
  it('retries once a minute, then gives up, and the next sync continues', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 120 }, settings: { maxPage: 15 } })
    simulated.sandbox.faults.set({ rates: { '503': 1 } })
    const report: SyncReport = await simulated.sync()
    expect(report.outcome).toBe('failed')
    expect(report.failures).toMatchObject([{ code: 'API_UNAVAILABLE', kind: 'transient' }])
    expect(report.requests).toBeLessThanOrEqual(12)
    const lasted = simulated.sandbox.clock.now() - START_MS
    expect(lasted).toBeGreaterThanOrEqual(2 * MINUTE)
    simulated.sandbox.faults.set({})
    expect(await simulated.sync()).toMatchObject({ outcome: 'done' })
    const throughMs = readThrough(simulated.sandbox.clock.now(), 2 * MINUTE)
    const truth = truthOf(simulated.sandbox, { throughMs })
    expect(asLines(await warehouseTables(simulated.rows))).toEqual(asLines(expectedTables(truth)))
  })
})

describe('a run that is interrupted', () => {
  // Deep tier only: npm test covers this case in fault-mix.test.ts and, with signals, in test/faults/signals.test.ts.
  it.runIf(isDeep)(
    'ends soon and keeps what landed, and the next one repeats only requests that were in flight',
    async () => {
      const controller = new AbortController()
      const simulated = await meddled(({ number }) => {
        if (number === 5) controller.abort(new Error('stop'))
        return undefined
      })
      const report = await simulated.sync({}, controller.signal)
      expect(report.outcome).toBe('interrupted')
      expect(report.windowsLeft).toBeGreaterThan(0)
      expect(await simulated.sync()).toMatchObject({ outcome: 'done' })
      const keys = (await simulated.exported()).map(({ agentId, query }) => JSON.stringify([agentId, query]))
      expect(keys.length - new Set(keys).size).toBeLessThanOrEqual(4)
      await expectTruth(simulated)
    },
  )
})
