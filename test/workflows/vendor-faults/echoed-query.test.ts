// The vendor echoes the query that it applied. If the echo differs from the request, the answer proves nothing about the requested
// range.
import { describe, expect, it } from 'vitest'
import { misread } from '../../../src/client/echo.ts'
import { DAY, HOUR } from '../../../src/core/time.ts'
import { isDeep } from '../../tier.ts'
import { type Meddling, meddlingProxy, type Passing } from '../simulated/meddling-proxy.ts'
import type { SimulatedApp } from '../simulated/open-simulated-app.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'

type Echo = Record<string, unknown>

const [FROM, TO] = [1_780_000_000_000, 1_780_086_400_999]
const ASKED = { sort: 'asc' as const, fromTs: FROM, toTs: TO, limit: 100 }

describe('an echoed query', () => {
  it.each<[string, Echo | null]>([
    ['is missing', null],
    ['is empty', {}],
    ['has null values', { sort: null, fromTs: null, toTs: null }],
    ['equals the request', { sort: 'asc', fromTs: FROM, toTs: TO }],
    ['is in seconds', { sort: 'asc', fromTs: FROM / 1_000, toTs: Math.floor(TO / 1_000) }],
    ['is in fractional seconds', { fromTs: FROM / 1_000, toTs: TO / 1_000 }],
    ['is rounded up', { toTs: Math.ceil(TO / 1_000) }],
    ['is whole seconds in ms', { fromTs: FROM, toTs: TO - 999 }],
    ['is in microseconds', { fromTs: FROM * 1_000, toTs: TO * 1_000 }],
    ['is text', { sort: 'ASC', fromTs: String(FROM), toTs: String(TO) }],
    ['is ISO-8601', { sort: 'ascending', fromTs: new Date(FROM).toISOString(), toTs: new Date(TO).toISOString() }],
    ['cannot be parsed', { sort: 'ts', fromTs: 'then', toTs: {} }],
  ])('is accepted if it %s', (_, echo) => {
    expect(misread(ASKED, echo)).toBeNull()
  })

  it.each<[string, Echo]>([
    ['sort', { sort: 'desc' }],
    ['fromTs', { fromTs: 0 }],
    ['fromTs', { fromTs: FROM - 1_000 }],
    ['fromTs', { fromTs: String(FROM + 1_000) }],
    ['toTs', { toTs: TO - 1_000 }],
    ['toTs', { toTs: Math.ceil(TO / 1_000) + 1 }],
    ['toTs', { toTs: 0 }],
  ])('is rejected if its %s differs: %j', (field, echo) => {
    expect(misread(ASKED, echo)).toBe(field)
  })

  it('is rejected if it adds a lower bound other than 0', () => {
    const { fromTs: _, ...open } = ASKED
    expect(misread(open, { fromTs: FROM })).toBe('fromTs')
    expect([0, null, '0', -1].map(fromTs => misread(open, { fromTs }))).toEqual([null, null, null, null])
  })
})

async function echoingApp(meddle: (echo: Echo, passing: Passing) => Meddling | undefined) {
  return simulatedApp({
    sandbox: { conversations: 120, agents: 1 },
    through: async ({ url }) =>
      (await meddlingProxy(url, passing => meddle(Object.fromEntries(passing.query), passing))).url,
  })
}

const stored = async ({ rows }: SimulatedApp): Promise<number> =>
  (await rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM conversations'))[0]!.n

describe('a sync whose vendor applies another query than requested', () => {
  const CASES: [string, (echo: Echo) => Echo][] = [['toTs', echo => ({ ...echo, toTs: Number(echo.toTs) - DAY })]]
  const MORE_CASES: typeof CASES = [
    ['fromTs', echo => ({ ...echo, fromTs: Number(echo.toTs) - DAY })],
    ['sort', echo => ({ ...echo, sort: echo.sort === 'asc' ? 'desc' : 'asc' })],
  ]
  it.each(isDeep ? [...CASES, ...MORE_CASES] : CASES)(
    'keeps the returned conversations, covers no range, and requests the rest again later: another %s',
    async (field, change) => {
      let isOff = true
      const simulated = await echoingApp(echo =>
        isOff ? { change: body => ({ ...body, hasMore: false, nextCursor: null, query: change(echo) }) } : undefined,
      )
      const report = await simulated.sync()
      expect(report.gaps).toMatchObject([{ code: 'API_PROTOCOL', fromSec: null, tries: 0 }])
      expect((await simulated.exported()).length, field).toBeLessThanOrEqual(4)
      expect(await stored(simulated)).toBeGreaterThan(50)
      expect(await simulated.rows('SELECT * FROM _covered')).toEqual([])
      isOff = false
      simulated.advance(HOUR)
      expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
      expect(await simulated.rows('SELECT agent_id FROM _covered')).toHaveLength(1)
    },
  )

  it('requests the gap again at growing intervals instead of in each round', async () => {
    const simulated = await echoingApp(echo => ({
      change: body => ({ ...body, query: { ...echo, sort: 'asc' } }),
    }))
    for (let round = 0; round < 7; round++) {
      await simulated.sync({ unattended: true })
      simulated.advance(60_000)
    }
    expect((await simulated.rows("SELECT file FROM _requests WHERE kind = 'tail'")).length).toBeLessThan(6)
  })
})
