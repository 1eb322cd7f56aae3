// What of an agent cannot be read: pages that repeat, one unreadable record, refused agents. Everything else arrives, for a bounded price.
import { describe, expect, it } from 'vitest'
import { DAY, HOUR } from '../../../src/core/time.ts'
import { type Meddling, meddlingProxy, type Passing } from '../simulated/meddling-proxy.ts'
import type { SimulatedApp } from '../simulated/open-simulated-app.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'

type Json = Record<string, unknown>

const meddled = (meddle: (passing: Passing) => Meddling | undefined, agents = 1) =>
  simulatedApp({
    sandbox: { agents, conversations: 300 },
    through: async ({ url }) => (await meddlingProxy(url, meddle)).url,
  })

const stored = async ({ rows }: SimulatedApp): Promise<string[]> =>
  (await rows<{ id: string }>('SELECT conversation_id AS id FROM conversations ORDER BY id')).map(({ id }) => id)

const billed = async (simulated: SimulatedApp): Promise<number> =>
  (await simulated.served()).reduce((sum, request) => sum + request.billed, 0)

/** The ids that a vendor without faults exports. */
async function exportable({ sandbox }: SimulatedApp): Promise<string[]> {
  const undisturbed = await simulatedApp({ at: sandbox })
  await undisturbed.sync()
  return stored(undisturbed)
}

const idsOf = (body: Json): string[] => ((body.data ?? []) as Json[]).map(({ ID }) => String(ID))

describe('a vendor that repeats its last page under fresh cursors', () => {
  it('is paid for at most four pages more, and everything arrives', async () => {
    let page = 0
    let last: Json | null = null
    const simulated = await meddled(() => ({
      change: body => {
        page += 1
        if (body.hasMore === false && idsOf(body).length > 0) last = body
        return last && body.hasMore === false ? { ...last, hasMore: true, nextCursor: `again-${page}` } : body
      },
    }))
    const all = await exportable(simulated)
    const undisturbed = await billed(simulated)
    const first = await simulated.sync()
    expect(first.outcome).toBe('done')
    const once = await billed(simulated)
    expect(once).toBeLessThan(2 * undisturbed + 400)
    for (let round = 0; round < 5; round++) {
      simulated.advance(DAY)
      await simulated.sync()
    }
    expect(await stored(simulated)).toEqual(expect.arrayContaining(all))
    expect((await billed(simulated)) - once).toBeLessThan(60)
  })
})

describe('one record that makes every page with it unreadable', () => {
  const UNREADABLE: [string, (body: Json) => Json, number][] = [
    ['data that is null', body => ({ ...body, data: null }), 200],
    ['success that is false', body => ({ ...body, success: false }), 200],
    ['a 500', () => ({ message: 'oops', code: 'INTERNAL_SERVER_ERROR' }), 500],
  ]

  it.each(UNREADABLE)('is a gap: %s. All others arrive, for a bounded price', async (_, spoil, status) => {
    let bad: string | undefined
    const isBad = (body: Json) => bad !== undefined && idsOf(body).includes(bad)
    const simulated = await meddled(() => ({
      change: body => (isBad(body) ? spoil(body) : body),
      status: body => (isBad(body) ? status : 200),
    }))
    const all = await exportable(simulated)
    bad = all[Math.floor(all.length / 2)]!
    const before = await billed(simulated)
    const report = await simulated.sync()
    expect(report.gaps).toHaveLength(1)
    expect(await stored(simulated)).toEqual(all.filter(id => id !== bad))
    const first = (await billed(simulated)) - before
    expect(first).toBeLessThan(before + 400)
    for (let round = 0; round < 10; round++) {
      simulated.advance(HOUR / 4)
      await simulated.sync({ unattended: true })
    }
    expect((await billed(simulated)) - before - first).toBeLessThan(60)
    const unreadable = bad
    bad = undefined
    simulated.advance(DAY)
    const healed = await simulated.sync()
    expect(healed.gaps).toBeUndefined()
    expect(await stored(simulated)).toContain(unreadable)
  })
})

describe('an agent that the vendor refuses', () => {
  it('keeps no other agent from its export, is named, and is asked again at growing intervals', async () => {
    let refuses = true
    let asked = 0
    const simulated = await meddled(({ agentId }) => {
      if (agentId !== simulated.sandbox.world.agentIds()[0] || !refuses) return undefined
      asked += 1
      return { answer: { status: 403, body: '{"message":"no","code":"FORBIDDEN"}' } }
    }, 4)
    const [refused, ...others] = simulated.sandbox.world.agentIds()
    const report = await simulated.sync()
    expect(report.failures).toMatchObject([{ code: 'API_FORBIDDEN', agentId: refused }])
    const agents = await simulated.rows<{ agent: string }>(
      'SELECT DISTINCT agent_id AS agent FROM conversations ORDER BY 1',
    )
    expect(agents.map(({ agent }) => agent)).toEqual(others.toSorted())
    for (let round = 0; round < 12; round++) {
      simulated.advance(HOUR / 4)
      await simulated.sync({ unattended: true })
    }
    expect(asked).toBeLessThanOrEqual(4)
    refuses = false
    simulated.advance(DAY)
    expect(await simulated.sync({ unattended: true })).toMatchObject({ outcome: 'done', failures: [] })
    expect(await stored(simulated)).toEqual(await exportable(simulated))
  })
})
