// Records that leave a window while it is read. Where cursors are offsets, the next page then begins too far on (ADR 6).
import { describe, expect, it } from 'vitest'
import { gapLines } from '../../src/cli/terminal/notes.ts'
import { HOUR, MINUTE } from '../../src/core/time.ts'
import { reconcileWorkspace } from '../../src/reports/reconciliation.ts'
import { type ModelledVendor, modelled, modelledVendor } from './simulated/modelled-vendor.ts'
import { type SimulatedApp, START_MS, WORKSPACE } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'

const SETTINGS = { maxPage: 100, rereadShare: 0.01, mirrorLagMs: 2 * MINUTE }

/** A vendor with so many conversations, a minute apart. */
function vendorOf(conversations: number, cursors: ModelledVendor['cursors']): ModelledVendor {
  const name = (at: number) => `c${String(at).padStart(5, '0')}`
  const records = Array.from({ length: conversations }, (_, at) => modelled(name(at), START_MS - HOUR - at * MINUTE))
  return Object.assign(modelledVendor([['a', records]]), { cursors })
}

const stored = async ({ rows }: SimulatedApp) =>
  (await rows<{ id: string }>('SELECT conversation_id AS id FROM conversations ORDER BY 1')).map(({ id }) => id)

const missing = async (simulated: SimulatedApp, vendor: ModelledVendor) => {
  const held = new Set(await stored(simulated))
  return vendor.agents.get('a')!.flatMap(({ ID }) => (held.has(ID) ? [] : [ID]))
}

const rereads = async ({ rows }: SimulatedApp) =>
  (await rows<{ n: number }>("SELECT count(*)::INTEGER AS n FROM _windows WHERE kind = 'reread'"))[0]!.n

async function unverified({ app, config, clock }: SimulatedApp): Promise<number> {
  const { differences } = await reconcileWorkspace({
    rows: sql => app.warehouse.writer.rows(sql),
    workspaceId: WORKSPACE,
    settings: config.workspaces[0],
    agents: [],
    sinceMs: null,
    by: 'agent',
    nowMs: clock.now(),
  })
  return differences.find(({ kind }) => kind === 'unverified')?.count ?? 0
}

describe('three records that leave the range of a window before its second page', () => {
  it('hide three others only until they are seen gone: the range around the boundary is read again, once', async () => {
    const vendor = vendorOf(450, 'offset')
    const records = vendor.agents.get('a')!
    const left = records.slice(10, 13).map(({ ID }) => ID)
    vendor.before = ({ query }) => {
      if (query.cursor !== undefined && vendor.agents.get('a') === records)
        vendor.agents.set(
          'a',
          records.filter(({ ID }) => !left.includes(ID)),
        )
    }
    const simulated = await simulatedApp({ through: vendor.start, settings: SETTINGS })
    await simulated.sync()
    expect(await missing(simulated, vendor)).toEqual(['c00100', 'c00101', 'c00102'])
    simulated.advance(2 * HOUR)
    const report = await simulated.sync({ refresh: { ids: [['a', left]], ageMs: null } })
    expect(gapLines(report.gaps, report.unverified)[0]).toMatch(/^a: .+ is not verified since .+: conversations left/)
    expect(await unverified(simulated)).toBeGreaterThan(0)
    const { billed } = vendor
    expect((await simulated.sync()).unverified).toBeUndefined()
    expect(await missing(simulated, vendor)).toEqual([])
    expect(await unverified(simulated)).toBe(0)
    // The shift lies at one of four boundaries; each has the records of its two ends.
    expect(vendor.billed - billed).toBeLessThanOrEqual(3 + 4 * 2)
    const count = await rereads(simulated)
    await simulated.replay()
    for (let hour = 0; hour < 2; hour++) {
      simulated.advance(HOUR)
      await simulated.sync()
    }
    expect(await rereads(simulated)).toBe(count)
    expect(await simulated.rows('FROM late_rows')).toEqual([])
  })
})

describe('a vendor whose `ts` is the last activity', () => {
  it('hides no conversation for good if others move while history is read', async () => {
    const vendor = vendorOf(1_500, 'offset')
    let pages = 0
    const simulated = await simulatedApp({ through: vendor.start, settings: SETTINGS })
    vendor.before = ({ query }) => {
      if (query.cursor === undefined) return
      pages += 1
      simulated.sandbox.clock.advance(2_000)
      if (pages > 12) return
      // One of the newest, which the first page has returned, goes on.
      const moved = vendor.agents.get('a')![pages]!
      Object.assign(moved, { ts: simulated.clock.now(), lastMessageTS: simulated.clock.now() })
    }
    await simulated.sync()
    expect(await missing(simulated, vendor)).toHaveLength(12)
    for (let round = 0; round < 2; round++) {
      simulated.advance(30 * MINUTE)
      await simulated.sync()
    }
    expect(await missing(simulated, vendor)).toEqual([])
    expect(await unverified(simulated)).toBe(0)
    expect(vendor.billed).toBeLessThanOrEqual(1_500 + 12 + 14 * 3)
  })
})

it('a vendor with keyset cursors and times of creation is asked for nothing again', async () => {
  const vendor = vendorOf(450, 'keyset')
  const simulated = await simulatedApp({ through: vendor.start, settings: SETTINGS })
  for (let round = 0; round < 3; round++) {
    await simulated.sync()
    simulated.advance(HOUR)
    await simulated.sync({ refresh: { ids: [['a', ['c00001', 'c00150']]], ageMs: null } })
  }
  expect(await missing(simulated, vendor)).toEqual([])
  expect([await rereads(simulated), await unverified(simulated)]).toEqual([0, 0])
  expect(vendor.billed).toBe(450 + 3 * 2)
})
