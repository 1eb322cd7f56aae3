// Listings: read completely from vendors that page in any way that the API document allows, and their effect on a sync.
import { describe, expect, it, onTestFinished } from 'vitest'
import { openStores } from '../../src/app/stores.ts'
import { AGENTS } from '../../src/catalog/resources/agents.ts'
import { TEAMS } from '../../src/catalog/resources/organizations.ts'
import { workspaceLines } from '../../src/cli/status/status-text.ts'
import { startProgress } from '../../src/cli/sync/progress.ts'
import { exitCodeOfReport, reportLines } from '../../src/cli/sync/report.ts'
import { createVendorClient } from '../../src/client/client.ts'
import { workspaceStatus } from '../../src/reports/status.ts'
import { CANARY } from '../../src/sandbox/world/agents/secret-bearing.ts'
import { fetchResource } from '../../src/steps/listing/resource-pages.ts'
import { observingProxy, type Reaction } from '../workflows/simulated/observing-proxy.ts'
import { type SimulatedApp, TOKEN, WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

interface Entry {
  ID: string
  starred: boolean
}

/** 130 entries. The vendor returns those of `page`; null for a request without parameters. */
const ENTRIES: Entry[] = Array.from({ length: 130 }, (_, at) => ({ ID: `id-${at}`, starred: at % 7 === 0 }))

const pageOf = (page: number | null, size = 100, entries: readonly Entry[] = ENTRIES): Entry[] =>
  entries.slice(((page ?? 1) - 1) * size, (page ?? 1) * size)

type Answer = (page: number | null) => object
type Expected = { listed: number; issue: RegExp | null }

const asked = (url: URL): number | null => (url.searchParams.has('page') ? Number(url.searchParams.get('page')) : null)

/** The vendor's answer; the number of listed entries, and the reason why the list is cut off. */
const AGENTS_GIVEN: [string, Answer, Expected][] = [
  [
    'returns agents and starred ones',
    page => ({ agents: pageOf(page), starredAgents: ENTRIES.filter(({ starred }) => starred) }),
    { listed: 130, issue: null },
  ],
  ['reports the total as text', page => ({ agents: pageOf(page, 40), total: '130' }), { listed: 130, issue: null }],
  [
    'has a second page that only repeats the starred agents of the first',
    page => {
      const ordered = [...ENTRIES.slice(60), ...ENTRIES.slice(0, 60)]
      return { agents: pageOf(page, 50, ordered), starredAgents: ordered.slice(50, 100), hasMore: page! * 50 < 130 }
    },
    { listed: 130, issue: null },
  ],
  [
    'refuses parameters for the first page and reports that there is no more',
    page => (page === null ? { agents: ENTRIES, hasMore: false } : { status: 422 }),
    { listed: 130, issue: null },
  ],
  [
    'refuses every parameter',
    page => (page === null ? { agents: pageOf(1, 50) } : { status: 400 }),
    { listed: 50, issue: /refuses paging parameters/ },
  ],
  [
    'fails at its second page',
    page => (page === 1 ? { agents: pageOf(1) } : { status: 400 }),
    { listed: 100, issue: /a page of it failed \(100 listed, then API_BAD_REQUEST/ },
  ],
  [
    'returns an agent without an ID',
    page => ({ agents: pageOf(page).map((agent, at) => (at === 7 && page === 1 ? { title: 'x' } : agent)) }),
    { listed: 129, issue: /entries have no ID/ },
  ],
]

const TEAMS_GIVEN: [string, Answer, Expected][] = [
  ['returns only the teams', page => ({ teams: pageOf(page) }), { listed: 130, issue: null }],
  [
    'repeats itself forever, and reports more',
    page => ({ teams: pageOf(Math.min(page!, 3), 10), hasMore: true }),
    { listed: 30, issue: /reports more entries and returns no new ones/ },
  ],
]

describe('a listing', () => {
  it.each([
    ...AGENTS_GIVEN.map(([name, ...given]) => [`agents: ${name}`, AGENTS, [], ...given] as const),
    ...TEAMS_GIVEN.map(([name, ...given]) => [`teams: ${name}`, TEAMS, ['org'], ...given] as const),
  ])(
    'is read as far as possible, and known to be complete only if it is: %s',
    async (_, resource, ids, answer, expected) => {
      let pages = 0
      const url = await observingProxy(null, at => {
        pages += 1
        const given = answer(asked(at))
        return 'status' in given
          ? { status: given.status as number }
          : { status: 200, body: { success: true, ...given } }
      })
      const vendor = createVendorClient({ apiUrl: url, token: TOKEN, sleep: async () => {} })
      onTestFinished(() => vendor.close())
      const { signal } = new AbortController()
      const found = await fetchResource({ vendor, workspaceId: WORKSPACE, signal }, resource, ids)
      const listed = new Set(found.pages.flatMap(({ answer }) => answer.envelope?.records ?? []).map(({ id }) => id))
      expect(listed.size).toBe(expected.listed)
      if (expected.issue === null) expect(found.cutOff).toBeNull()
      else expect(`${found.cutOff?.issue} (${found.cutOff?.detail})`).toMatch(expected.issue)
      expect(pages).toBeLessThan(7)
    },
  )
})

const LISTING_ONLY = { maxRequests: 0 }

/** Returns an app whose vendor answers searches for agents as `answer` says. */
const appListedBy = (agents: number, answer: (page: number, ids: readonly string[]) => Reaction) =>
  simulatedApp({
    sandbox: { conversations: 10, agents },
    through: ({ url, world }) =>
      observingProxy(url, at =>
        at.pathname.endsWith('/agents/search') ? answer(asked(at)!, world.agentIds()) : undefined,
      ),
  })

const named = (ids: readonly string[]) => ids.map(ID => ({ ID }))

const listed = (body: object): Reaction => ({ status: 200, body })

const missing = ({ rows }: SimulatedApp) => rows('SELECT 1 FROM agents WHERE _missing_since IS NOT NULL')

async function statusText({ config, app, clock }: SimulatedApp, width?: number): Promise<string> {
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
  return workspaceLines(status, clock.now(), { width }).join('\n')
}

describe('a sync', () => {
  it('lands the listing without secrets, once while it is unchanged', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 10, agents: 7, readings: { agentPage: 3 } } })
    const headers = { authorization: `Bearer ${TOKEN}` }
    expect(await (await fetch(`${simulated.sandbox.url}/v3/agents/search`, { headers })).text()).toContain(CANARY)
    const landing = simulated.app.stores.landing.workspace(WORKSPACE)
    await simulated.sync()
    const pages = await landing.list('agents')
    expect(pages).toHaveLength(3)
    for (const { address } of pages) expect(String(await landing.body(address))).not.toContain(CANARY)
    const rows = await simulated.rows('SELECT * FROM agents')
    expect(rows).toHaveLength(7)
    expect(JSON.stringify(rows)).not.toContain(CANARY)
    await simulated.sync(LISTING_ONLY)
    expect(await landing.list('agents')).toEqual(pages)
  })

  it('reads the known agents if the vendor does not list them; it fails if none is known or no window is due', async () => {
    let isDown = true
    const simulated = await appListedBy(3, () => (isDown ? 503 : undefined))
    await expect(simulated.sync()).rejects.toMatchObject({ code: 'API_UNAVAILABLE' })
    isDown = false
    await simulated.sync()
    isDown = true
    const report = await simulated.sync()
    expect(report).toMatchObject({ outcome: 'failed', requests: 0, failures: [{ code: 'API_UNAVAILABLE' }] })
    expect(exitCodeOfReport(report)).toBe(5)
    expect(
      await simulated.rows('SELECT outcome, success, error_code FROM _runs ORDER BY started_at, requests DESC'),
    ).toEqual([
      { outcome: 'done', success: true, error_code: null },
      { outcome: 'failed', success: false, error_code: 'API_UNAVAILABLE' },
    ])
    simulated.advance(3_600_000)
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', windowsDone: 3 })
  })

  it('reports a listing that may be cut off, lands it once, marks no agent as gone and reads the known ones, also once the listing is complete', async () => {
    const all = 10
    let listing: 'complete' | 'cut off' = 'complete'
    let left = all
    const simulated = await appListedBy(all, (page, ids) => {
      if (listing === 'cut off' && page > 1) return 400
      return listed({ agents: named(ids.slice(0, left).slice((page - 1) * 7, page * 7)) })
    })
    const landed = () => simulated.rows("SELECT file FROM _loads WHERE stream = 'agents'")
    expect((await simulated.sync(LISTING_ONLY)).warnings).toBeUndefined()
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
    expect(await landed()).toHaveLength(atFirst.length + 1)
    await simulated.sync(LISTING_ONLY)
    expect(await landed()).toHaveLength(atFirst.length + 1)
    listing = 'complete'
    simulated.advance(60_000)
    expect((await simulated.sync(LISTING_ONLY)).warnings).toEqual([expect.stringContaining('lacks 3 known agents')])
    expect(await missing(simulated)).toEqual([])
    const shown = await statusText(simulated, 80)
    expect(shown).not.toContain('the listing may be cut off')
    expect(shown).toMatch(/\nagent .* covered \(UTC\)/)
    expect(shown).toMatch(/ – 20\d\d-\d\d-\d\d \d\d:\d\d( |$)/m)
    expect(shown).not.toMatch(/\d…/)
  })
})
