// Lists of agents that are short, empty, doubled or of two states: what a list lacks is still exported.
import { describe, expect, it } from 'vitest'
import { spoolOf } from '../../src/app/spool.ts'
import { DAY, HOUR } from '../../src/core/time.ts'
import { drainAll } from '../../workflows/ingest.ts'
import { receiveEvents } from '../spool/arbitrary-events.ts'
import { listingOf, type ModelledVendor, modelled, modelledVendor } from './simulated/modelled-vendor.ts'
import { type SimulatedApp, START_MS, WORKSPACE } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'

const AGENTS = ['a', 'b', 'c']

async function scene(): Promise<{ vendor: ModelledVendor; simulated: SimulatedApp; arrive(): void }> {
  const vendor = modelledVendor(AGENTS.map(id => [id, [modelled(`${id}-0`, START_MS - DAY)]]))
  const simulated = await simulatedApp({ through: vendor.start })
  let count = 0
  /** One new conversation of each agent. */
  const arrive = () => {
    simulated.advance(2 * HOUR)
    count += 1
    for (const [id, held] of vendor.agents) held.push(modelled(`${id}-${count}`, simulated.clock.now() - HOUR))
  }
  await simulated.sync()
  return { vendor, simulated, arrive }
}

const stored = async ({ rows }: SimulatedApp) =>
  (await rows<{ id: string }>('SELECT conversation_id AS id FROM conversations ORDER BY 1')).map(({ id }) => id)

const gone = async ({ rows }: SimulatedApp) =>
  (await rows<{ id: string }>('SELECT agent_id AS id FROM agents WHERE _missing_since IS NOT NULL')).map(({ id }) => id)

const held = (vendor: ModelledVendor) => [...vendor.agents.values()].flatMap(own => own.map(({ ID }) => ID)).sort()

const LISTINGS: [string, (page: number) => unknown, number][] = [
  ['shorter', () => listingOf('a'), 2],
  ['empty', () => listingOf(), 3],
  ['doubled', () => listingOf('a', 'a', 'b', 'b'), 1],
  ['of two states on two pages', page => ({ ...listingOf(page === 1 ? 'c' : 'a'), hasMore: page === 1 }), 1],
]

it.each(LISTINGS)(
  'agents that a list lacks which is %s are exported as before, and the sync says how many',
  async (_, listing, lacking) => {
    const { vendor, simulated, arrive } = await scene()
    for (const current of [listing, listing, vendor.listing]) {
      vendor.listing = current
      arrive()
      const { outcome, warnings = [], agentsGone } = await simulated.sync()
      expect({ outcome, agentsGone }).toEqual({ outcome: 'done', agentsGone: [] })
      const said = warnings.filter(text => text.includes(`lacks ${lacking} known agent`))
      expect(said).toHaveLength(current === listing ? 1 : 0)
      expect(await stored(simulated)).toEqual(held(vendor))
      expect(await gone(simulated)).toEqual([])
    }
    expect(vendor.billed).toBe(held(vendor).length)
  },
)

describe('an agent whose own export answers 404', () => {
  it.each([true, false])(
    '(listed: %s) is gone, is asked again at growing intervals, and delays no other agent',
    async isListed => {
      const { vendor, simulated, arrive } = await scene()
      const b = vendor.agents.get('b')!
      vendor.agents.delete('b')
      vendor.listing = () => (isListed ? listingOf('a', 'b', 'c') : listingOf('a', 'c'))
      const askedAt: number[] = []
      vendor.before = ({ agentId }) =>
        agentId === 'b' && askedAt.push(Math.round((simulated.clock.now() - START_MS) / HOUR))
      const reports = []
      for (let round = 0; round < 9; round++) {
        arrive()
        reports.push(await simulated.sync())
      }
      expect(reports[0]).toMatchObject({ outcome: 'done', agentsGone: ['b'] })
      expect(askedAt).toEqual([2, 4, 6, 10, 18])
      expect(await stored(simulated)).toEqual([...held(vendor), ...b.map(({ ID }) => ID)].sort())
      if (!isListed) expect(await gone(simulated)).toEqual(['b'])

      // It exists again: listed again, it is asked at once, else after its rest.
      vendor.agents.set('b', b)
      if (!isListed) vendor.listing = () => listingOf('a', 'b', 'c')
      else simulated.advance(16 * HOUR)
      arrive()
      await simulated.sync()
      expect(await stored(simulated)).toEqual(held(vendor))
      arrive()
      await simulated.sync()
      expect(await stored(simulated)).toEqual(held(vendor))
      expect(await gone(simulated)).toEqual([])
      expect(vendor.billed).toBe(held(vendor).length)
    },
  )

  it('is asked at once by name', async () => {
    const { vendor, simulated, arrive } = await scene()
    const b = vendor.agents.get('b')!
    vendor.agents.delete('b')
    arrive()
    await simulated.sync()
    vendor.agents.set('b', b)
    vendor.listing = () => listingOf('a', 'c')
    simulated.advance(60_000)
    b.push(modelled('b-new', simulated.clock.now() - HOUR))
    await simulated.sync()
    expect(await stored(simulated)).not.toContain('b-new')
    await simulated.sync({ agents: ['b'] })
    expect(await stored(simulated)).toContain('b-new')
  })
})

it('an agent that an event has deleted and no list names any more is not asked', async () => {
  const { vendor, simulated, arrive } = await scene()
  const { app, config, clock } = simulated
  arrive()
  await receiveEvents({ home: config.home, workspaceId: WORKSPACE, nowMs: clock.now() }, [
    { event: 'agent_deleted', agentId: 'b', createdAt: clock.now() },
  ])
  await drainAll(
    spoolOf({ app, home: config.home, workspace: config.workspaces[0]!, now: () => clock.now() }),
    WORKSPACE,
  )
  vendor.listing = () => listingOf('a', 'c')
  vendor.requests.length = 0
  const { warnings } = await simulated.sync()
  expect(warnings).toBeUndefined()
  expect(new Set(vendor.requests.map(({ agentId }) => agentId))).toEqual(new Set(['a', 'c']))
})
