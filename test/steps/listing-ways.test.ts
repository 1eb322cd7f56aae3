// The API document shows only `{agents, starredAgents}` as the answer. Agents are listed completely from vendors that page in any
// way that the document allows.
import { describe, expect, it } from 'vitest'
import { openStores } from '../../src/app/stores.ts'
import { workspaceLines } from '../../src/cli/status/status-text.ts'
import { startProgress } from '../../src/cli/sync/progress.ts'
import { reportLines } from '../../src/cli/sync/report.ts'
import { workspaceStatus } from '../../src/reports/status.ts'
import type { SimulatedApp } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'
import {
  type Listed,
  type ListedAgent,
  type ListingAnswer,
  listAgentsOf,
  listingVendor,
  pageOf,
} from './listing-vendor.ts'

const agentsNamed = (count: number): ListedAgent[] =>
  Array.from({ length: count }, (_, at) => ({ ID: `agent-${at}`, starred: at % 7 === 0 }))

const AGENTS = agentsNamed(130)
const idsOf = (agents: readonly ListedAgent[]): string[] => agents.map(({ ID }) => ID).sort()

const starredOf = ({ agents }: Listed) => agents.filter(({ starred }) => starred)

const COMPLETE: [string, (listed: Listed) => ListingAnswer][] = [
  ['returns only agents and starredAgents', listed => ({ agents: pageOf(listed), starredAgents: starredOf(listed) })],
  ['returns only agents', listed => ({ agents: pageOf(listed) })],
  ['returns smaller pages than requested', listed => ({ agents: pageOf(listed, 20), starredAgents: [] })],
  [
    'reports a total, but not whether there is more',
    listed => ({ agents: pageOf(listed, 40), starredAgents: starredOf(listed), total: listed.agents.length }),
  ],
  [
    'reports the total as text',
    listed => ({ agents: pageOf(listed, 40), starredAgents: [], total: String(listed.agents.length) }),
  ],
  [
    'reports the length of each page as the total',
    listed => ({ agents: pageOf(listed), starredAgents: [], total: pageOf(listed).length }),
  ],
  ...[
    ['text', 'true', 'false'],
    ['capital text', 'True', 'False'],
    ['a number', 1, 0],
  ].map(([name, yes, no]): [string, (listed: Listed) => ListingAnswer] => [
    `reports more as ${name}`,
    listed => ({
      agents: pageOf(listed),
      starredAgents: [],
      hasMore: Number(listed.params.get('page')) * 100 < listed.agents.length ? yes : no,
    }),
  ]),
  [
    'reports more under paging',
    listed => ({
      agents: pageOf(listed),
      starredAgents: [],
      paging: { hasMore: Number(listed.params.get('page')) * 100 < listed.agents.length },
    }),
  ],
  [
    'reports no more entries, but a higher total than returned so far',
    listed => ({ agents: pageOf(listed), starredAgents: [], hasMore: false, total: listed.agents.length }),
  ],
  [
    'has a second page that only repeats the starred agents of the first',
    listed => {
      const ordered = [...listed.agents.slice(60), ...listed.agents.slice(0, 60)]
      const [page, starred] = [pageOf({ ...listed, agents: ordered }, 50), ordered.slice(50, 100)]
      const hasMore = Number(listed.params.get('page')) * 50 < ordered.length
      return { agents: page, starredAgents: starred, hasMore }
    },
  ],
  [
    'has a page without new agents in the middle, and reports more',
    listed => {
      const page = Number(listed.params.get('page'))
      const params = new URLSearchParams({ page: String(page > 1 ? page - 1 : 1), limit: '100' })
      const agents = page === 2 ? [] : pageOf({ ...listed, params })
      return { agents, starredAgents: starredOf(listed).slice(0, 1), hasMore: page < 3 }
    },
  ],
]

describe('the agents of a vendor', () => {
  it.each(COMPLETE)('that %s are listed completely, and known to be, without one that is gone', async (_, answer) => {
    const staying = AGENTS.filter((_, at) => at !== 70)
    for (const agents of [AGENTS, staying]) {
      const { url } = await listingVendor(agents, answer)
      expect(await listAgentsOf(url)).toEqual({ ids: idsOf(agents), cutOff: null })
    }
  })
})

const CUT_OFF: [string, number, (listed: Listed) => ListingAnswer, RegExp][] = [
  [
    'reports a higher total than it ever returns',
    100,
    listed => ({ agents: listed.agents.slice(0, 100), starredAgents: [], total: listed.agents.length }),
    /reports more entries in total than it returns \(100 of 130 listed\)/,
  ],
  [
    'always reports a higher total than there are',
    130,
    listed => ({ agents: pageOf(listed), starredAgents: [], total: 1_000 }),
    /130 of 1000 listed/,
  ],
  [
    'always reports more',
    130,
    listed => ({ agents: pageOf(listed), starredAgents: [], hasMore: true }),
    /reports more entries and returns no new ones/,
  ],
  [
    'returns the same page for every request',
    50,
    listed => ({ agents: listed.agents.slice(0, 50), starredAgents: [] }),
    /same page again/,
  ],
  [
    'refuses every parameter',
    50,
    listed =>
      listed.params.size > 0
        ? { status: 400, body: { message: 'Unrecognized key(s)', code: 'BAD_REQUEST', issues: [] } }
        : { agents: listed.agents.slice(0, 50), starredAgents: [] },
    /refuses paging parameters and does not report whether the listing is complete/,
  ],
  [
    'fails at its second page',
    100,
    listed => (listed.params.get('page') === '1' ? { agents: pageOf(listed), starredAgents: [] } : { status: 400 }),
    /a page of it failed \(100 listed, then API_BAD_REQUEST/,
  ],
  [
    'returns agents without an ID',
    129,
    listed => ({
      agents: pageOf(listed).map((agent, at) =>
        at === 7 && listed.params.get('page') === '1' ? { title: 'x' } : agent,
      ),
      starredAgents: [],
    }),
    /entries have no ID/,
  ],
]

describe('a listing that may be cut off', () => {
  it.each(CUT_OFF)('is recognised for a vendor that %s', async (_, count, answer, why) => {
    const { url, searches } = await listingVendor(AGENTS, answer)
    const { ids, cutOff } = await listAgentsOf(url)
    expect(ids).toHaveLength(count)
    expect(`${cutOff?.issue} (${cutOff?.detail})`).toMatch(why)
    expect(searches.length).toBeLessThan(6)
  })
})

describe('a listing', () => {
  it('is requested without parameters if the vendor refuses them for the first page', async () => {
    const { url, searches } = await listingVendor(AGENTS, listed =>
      listed.params.size > 0 ? { status: 422 } : { agents: listed.agents, starredAgents: [], hasMore: false },
    )
    expect(await listAgentsOf(url)).toEqual({ ids: idsOf(AGENTS), cutOff: null })
    expect(searches.map(({ size }) => size > 0)).toEqual([true, false])
  })
})

const LISTING_ONLY = { maxRequests: 0 }

async function appListedBy(answer: (listed: Listed) => ListingAnswer, agents: number) {
  let searches: URLSearchParams[] = []
  const simulated = await simulatedApp({
    sandbox: { conversations: 10, agents },
    through: async sandbox => {
      const listed = sandbox.world.agentIds().map((ID, at) => ({ ID, starred: at % 3 === 0 }))
      const vendor = await listingVendor(listed, answer, sandbox)
      searches = vendor.searches
      return vendor.url
    },
  })
  return { simulated, searches }
}

const agentIds = async ({ rows }: SimulatedApp, which = 'true'): Promise<string[]> =>
  (await rows<{ id: string }>(`SELECT agent_id AS id FROM agents WHERE ${which} ORDER BY id`)).map(({ id }) => id)

const missing = (simulated: SimulatedApp) => agentIds(simulated, '_missing_since IS NOT NULL')

async function statusText({ config, app, clock }: SimulatedApp): Promise<string> {
  const workspaceId = config.workspaces[0]!.id
  const stores = openStores(config.home)
  const status = await workspaceStatus({
    home: config.home,
    landing: stores.landing.workspace(workspaceId),
    leaseLog: stores.leaseLog({ workspaceId, run: 'status' }),
    workspaceId,
    settings: config.workspaces[0],
    rows: sql => app.warehouse.writer.rows(sql),
    isHeld: () => true,
    nowMs: clock.now(),
  })
  return workspaceLines(status, clock.now()).join('\n')
}

describe('a sync', () => {
  it('says which known agent a listing lacks and marks none as gone, even if one page is empty and one has nothing new', async () => {
    let gone: string | undefined
    const { simulated } = await appListedBy(listed => {
      const agents = listed.agents.filter(({ ID }) => ID !== gone)
      const starredAgents = starredOf({ ...listed, agents })
      const page = Number(listed.params.get('page'))
      // The pages: four agents; no agents; the starred ones, which the first page contained already; all others.
      const lists = [agents.slice(0, 4), [], starredAgents, agents.slice(4)]
      return { agents: lists[page - 1] ?? [], starredAgents, hasMore: page < lists.length }
    }, 10)
    const report = await simulated.sync(LISTING_ONLY)
    const ids = await agentIds(simulated)
    expect(ids).toEqual([...simulated.sandbox.world.agentIds()].sort())
    expect(report.warnings).toBeUndefined()
    expect(await statusText(simulated)).not.toContain('cut off')
    gone = simulated.sandbox.world.agentIds()[8]!
    simulated.advance(60_000)
    const { warnings } = await simulated.sync(LISTING_ONLY)
    expect(warnings).toEqual([expect.stringContaining(`lacks 1 known agent (${gone})`)])
    expect(await missing(simulated)).toEqual([])
  })

  it('reports a listing that may be cut off, lands it once, marks no agent as gone and reads the known ones, also once the listing is complete', async () => {
    const all = 10
    let listing: 'complete' | 'cut off' = 'complete'
    let left = all
    const { simulated } = await appListedBy(listed => {
      const agents = listed.agents.slice(0, left)
      if (listing === 'cut off' && listed.params.get('page') !== '1') return { status: 400 }
      return { agents: pageOf({ ...listed, agents }, 7), starredAgents: [] }
    }, all)
    const landed = () => simulated.rows("SELECT file FROM _loads WHERE stream = 'agents'")
    await simulated.sync(LISTING_ONLY)
    const atFirst = await landed()
    ;[listing, left] = ['cut off', 7]
    simulated.advance(24 * 3_600_000)
    const before = await simulated.served()
    const report = await simulated.sync()
    expect(report).toMatchObject({ outcome: 'done', failures: [] })
    const since = (await simulated.served()).slice(before.length)
    expect(new Set(since.map(({ agentId }) => agentId)).size).toBe(all)
    expect(report.warnings).toEqual([
      expect.stringMatching(
        /^The listing of agents may be cut off: a page of it failed \(7 listed, then API_BAD_REQUEST/,
      ),
      expect.stringContaining('lacks 3 known agents'),
    ])
    const lines = reportLines('ws', { report, progress: startProgress(0), nowMs: 0 }).join('\n')
    expect(lines).toMatch(
      /^ws: ended, but not everything is stored, with a warning[\s\S]*warning: The listing of agents may be cut off/,
    )
    expect(await statusText(simulated)).toContain('the listing may be cut off')
    expect(await missing(simulated)).toEqual([])
    const cutOff = await landed()
    expect(cutOff.length).toBe(atFirst.length + 1)
    await simulated.sync(LISTING_ONLY)
    expect(await landed()).toEqual(cutOff)
    listing = 'complete'
    simulated.advance(60_000)
    expect((await simulated.sync(LISTING_ONLY)).warnings).toEqual([expect.stringContaining('lacks 3 known agents')])
    expect(await missing(simulated)).toEqual([])
    expect(await statusText(simulated)).not.toContain('the listing may be cut off')
  })

  it('skips agents whose ID cannot be part of a URL, and reads all others', async () => {
    const { simulated } = await appListedBy(
      ({ agents }) => ({
        agents: [...['.', '..', '', '\ud800'].map(ID => ({ ID, title: 'odd' })), ...agents],
        starredAgents: [],
        hasMore: false,
      }),
      3,
    )
    const report = await simulated.sync()
    expect(report).toMatchObject({ outcome: 'done', failures: [], windowsDone: 3 })
    const unusable = ['"."', '".."', '"\\ud800"'].map(
      id => `Agent ${id} is not exported: its ID cannot be part of a URL`,
    )
    expect(report.warnings).toEqual(
      ['1 without an ID', ...unusable, '2 records could not be loaded and are quarantined'].map(text =>
        expect.stringContaining(text),
      ),
    )
  })
})
