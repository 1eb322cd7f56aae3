// The document shows `{agents, starredAgents}` and no more: agents are listed from vendors that page in every way that it allows.
import { describe, expect, it } from 'vitest'
import { openStores } from '../../src/app/stores.ts'
import { workspaceLines } from '../../src/cli/status/status-text.ts'
import { startProgress } from '../../src/cli/sync/progress.ts'
import { reportLines } from '../../src/cli/sync/report.ts'
import { workspaceStatus } from '../../src/reports/status.ts'
import type { SimulatedApp } from '../workflows/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated-app.ts'
import { type Listed, type ListingAnswer, listingVendor, pageOf } from './listing-vendor.ts'

const AGENTS = 130
const LISTING_ONLY = { maxRequests: 0 }

async function houseListedBy(answer: (listed: Listed) => ListingAnswer, agents = AGENTS) {
  const asked: URLSearchParams[] = []
  const simulated = await simulatedApp({
    sandbox: { conversations: 10, agents },
    through: async sandbox => {
      const vendor = await listingVendor(sandbox, listed => {
        asked.push(listed.params)
        return answer(listed)
      })
      return vendor.url
    },
  })
  return { simulated, asked }
}

const agentIds = async ({ rows }: SimulatedApp, which = 'true'): Promise<string[]> =>
  (await rows<{ id: string }>(`SELECT agent_id AS id FROM agents WHERE ${which} ORDER BY id`)).map(({ id }) => id)

const missing = (simulated: SimulatedApp) => agentIds(simulated, '_missing_since IS NOT NULL')

const starredOf = ({ agents }: Listed) => agents.filter(({ starred }) => starred)

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

const COMPLETE: [string, (listed: Listed) => ListingAnswer][] = [
  ['tells only agents and starredAgents', listed => ({ agents: pageOf(listed), starredAgents: starredOf(listed) })],
  ['tells only agents', listed => ({ agents: pageOf(listed) })],
  ['gives smaller pages than were asked for', listed => ({ agents: pageOf(listed, 20), starredAgents: [] })],
  [
    'tells a total, and not whether there is more',
    listed => ({ agents: pageOf(listed, 40), starredAgents: starredOf(listed), total: listed.agents.length }),
  ],
  [
    'tells the total as text',
    listed => ({ agents: pageOf(listed, 40), starredAgents: [], total: String(listed.agents.length) }),
  ],
  [
    'tells the length of each page as its total',
    listed => ({ agents: pageOf(listed), starredAgents: [], total: pageOf(listed).length }),
  ],
  ...[
    ['text', 'true', 'false'],
    ['capital text', 'True', 'False'],
    ['a number', 1, 0],
  ].map(([name, yes, no]): [string, (listed: Listed) => ListingAnswer] => [
    `tells of more by ${name}`,
    listed => ({
      agents: pageOf(listed),
      starredAgents: [],
      hasMore: Number(listed.params.get('page')) * 100 < listed.agents.length ? yes : no,
    }),
  ]),
  [
    'tells of more under paging',
    listed => ({
      agents: pageOf(listed),
      starredAgents: [],
      paging: { hasMore: Number(listed.params.get('page')) * 100 < listed.agents.length },
    }),
  ],
  [
    'says that there is no more, and counts more than it gave so far',
    listed => ({ agents: pageOf(listed), starredAgents: [], hasMore: false, total: listed.agents.length }),
  ],
  [
    'has a second page of starred agents alone, which came with the first',
    listed => {
      const ordered = [...listed.agents.slice(60), ...listed.agents.slice(0, 60)]
      const [page, starred] = [pageOf({ ...listed, agents: ordered }, 50), ordered.slice(50, 100)]
      const hasMore = Number(listed.params.get('page')) * 50 < ordered.length
      return { agents: page, starredAgents: starred, hasMore }
    },
  ],
  [
    'has a page without anything new in the middle, and says that there is more',
    listed => {
      const page = Number(listed.params.get('page'))
      const params = new URLSearchParams({ page: String(page > 1 ? page - 1 : 1), limit: '100' })
      const agents = page === 2 ? [] : pageOf({ ...listed, params })
      return { agents, starredAgents: starredOf(listed).slice(0, 1), hasMore: page < 3 }
    },
  ],
]

describe('the agents of a vendor', () => {
  it.each(COMPLETE)('that %s are all there, and those that are gone are marked, and no others', async (_, answer) => {
    let gone: string | null = null
    const { simulated } = await houseListedBy(listed =>
      answer({ ...listed, agents: listed.agents.filter(({ ID }) => ID !== gone) }),
    )
    const report = await simulated.sync(LISTING_ONLY)
    const ids = await agentIds(simulated)
    expect(ids).toHaveLength(AGENTS)
    expect(report.warnings).toBeUndefined()
    expect(await statusText(simulated)).not.toContain('cut off')
    gone = ids[70]!
    simulated.advance(60_000)
    await simulated.sync(LISTING_ONLY)
    expect(await missing(simulated)).toEqual([gone])
  })
})

const CUT_OFF: [string, number, (listed: Listed) => ListingAnswer, RegExp][] = [
  [
    'counts more than it ever gives',
    100,
    listed => ({ agents: listed.agents.slice(0, 100), starredAgents: [], total: listed.agents.length }),
    /reports more entries in total than it returns \(100 of 130 listed\)/,
  ],
  [
    'counts more than there are, for ever',
    130,
    listed => ({ agents: pageOf(listed), starredAgents: [], total: 1_000 }),
    /130 of 1000 listed/,
  ],
  [
    'says for ever that there is more',
    130,
    listed => ({ agents: pageOf(listed), starredAgents: [], hasMore: true }),
    /reports more entries and returns no new ones/,
  ],
  [
    'gives the same page whatever is asked for',
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
    'tells of agents without an ID',
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
  it.each(CUT_OFF)(
    'of a vendor that %s is told in the report and in the status, once',
    async (_, count, answer, why) => {
      const { simulated, asked } = await houseListedBy(answer)
      const report = await simulated.sync(LISTING_ONLY)
      expect(await agentIds(simulated)).toHaveLength(count)
      const ofListing = report.warnings?.filter(warning => warning.startsWith('The listing of agents'))
      expect(ofListing).toEqual([expect.stringMatching(why)])
      const lines = reportLines('ws', { report, progress: startProgress(0), nowMs: 0 }).join('\n')
      expect(lines).toMatch(/with a warning[\s\S]*warning: The listing of agents may be cut off/)
      expect(await statusText(simulated)).toContain('the listing may be cut off')
      const landed = () => simulated.rows("SELECT file FROM _loads WHERE stream = 'agents'")
      const before = await landed()
      await simulated.sync(LISTING_ONLY)
      expect(await landed()).toEqual(before)
      expect(asked.length).toBeLessThan(12)
    },
  )

  it.each(CUT_OFF.slice(3, 6))(
    'of a vendor that %s takes no agent for gone, and goes on reading those it knew',
    async (_, _count, answer) => {
      let begun = false
      const { simulated } = await houseListedBy(listed =>
        begun ? answer(listed) : { agents: pageOf(listed), starredAgents: [] },
      )
      await simulated.sync(LISTING_ONLY)
      begun = true
      simulated.advance(24 * 3_600_000)
      const before = await simulated.served()
      expect(await simulated.sync()).toMatchObject({ outcome: 'done' })
      const since = (await simulated.served()).slice(before.length)
      expect(new Set(since.map(({ agentId }) => agentId)).size).toBe(AGENTS)
      expect(await missing(simulated)).toEqual([])
    },
  )

  it('tells who is gone once it is known to be complete, though it names the same agents', async () => {
    let isComplete = true
    let left = AGENTS
    const { simulated } = await houseListedBy(listed => {
      const agents = listed.agents.slice(0, left)
      return isComplete
        ? {
            agents: pageOf({ ...listed, agents }),
            starredAgents: [],
            hasMore: left > 100 && listed.params.get('page') === '1',
          }
        : { agents: pageOf({ ...listed, agents }), starredAgents: [], hasMore: true }
    })
    await simulated.sync(LISTING_ONLY)
    ;[isComplete, left] = [false, 90]
    simulated.advance(60_000)
    await simulated.sync(LISTING_ONLY)
    expect(await missing(simulated)).toEqual([])
    isComplete = true
    simulated.advance(60_000)
    expect((await simulated.sync(LISTING_ONLY)).warnings).toBeUndefined()
    expect(await missing(simulated)).toHaveLength(40)
    expect(await statusText(simulated)).not.toContain('the listing may be cut off')
  })

  it('is asked for with no parameter where its first page refuses them, also to learn the time', async () => {
    const { simulated, asked } = await houseListedBy(listed =>
      listed.params.size > 0 ? { status: 422 } : { agents: listed.agents, starredAgents: [], hasMore: false },
    )
    expect(await simulated.sync(LISTING_ONLY)).toMatchObject({ failures: [] })
    expect(await agentIds(simulated)).toHaveLength(AGENTS)
    expect(asked.map(({ size }) => size > 0)).toEqual([true, false])
  })
})

describe('an agent whose ID no address can carry', () => {
  it.each([
    ['.', ['Agent "." has an ID that no request can carry']],
    ['..', ['Agent ".." has an ID that no request can carry']],
    ['', ['1 without an ID', '1 record could not be loaded and is quarantined']],
    ['\ud800', ['Agent "\\ud800" has an ID that no request can carry', '1 record could not be loaded']],
  ])('%j stops no sync', async (ID, warnings) => {
    const { simulated } = await houseListedBy(
      ({ agents }) => ({ agents: [{ ID, title: 'odd' }, ...agents], starredAgents: [], hasMore: false }),
      3,
    )
    const report = await simulated.sync()
    expect(report).toMatchObject({ outcome: 'done', failures: [] })
    expect(report.windowsDone).toBe(3)
    expect(report.warnings).toEqual(warnings.map(warning => expect.stringContaining(warning)))
  })
})
