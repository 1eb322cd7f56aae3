import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { TEAMS } from '../../src/catalog/resources/organizations.ts'
import { createVendorClient } from '../../src/client/client.ts'
import { DAY, HOUR } from '../../src/core/time.ts'
import { PLAIN_SYNC, planOnly } from '../../src/run/embedded.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { fetchResource } from '../../src/steps/listing/resource-pages.ts'
import { type SimulatedApp, TOKEN } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

/** Paths of the requests so far for organizations (`id`) and their teams (`id/teams`). */
async function requestedPaths({ sandbox }: SimulatedApp): Promise<string[]> {
  const answer = await fetch(`${sandbox.url}/_sandbox/requests`)
  const { requests } = (await answer.json()) as { requests: ServedRequest[] }
  return requests.flatMap(({ kind, organizationId }) => {
    if (organizationId === undefined) return []
    return [kind === 'teams' ? `${organizationId}/teams` : organizationId]
  })
}

const names = (simulated: SimulatedApp) =>
  simulated.rows<{ id: string; name: string | null; missing: boolean }>(
    'SELECT organization_id AS id, name, _missing_since IS NOT NULL AS missing FROM organizations ORDER BY id',
  )

const remove = ({ sandbox }: SimulatedApp, id: string) =>
  fetch(`${sandbox.url}/v3/orgs/${id}`, { method: 'DELETE', headers: { authorization: `Bearer ${TOKEN}` } })

/** The resources under test. */
const BOTH_KINDS = ['organizations', 'teams']

const BOTH = ['org_alpha', 'org_alpha/teams', 'org_beta', 'org_beta/teams']

type Answer = { status: number; body?: unknown }

/** A vendor that answers organizations with `answer`; the sandbox serves everything else. */
async function organizationsAnswer(upstream: string, answer: (path: string) => Answer | undefined): Promise<string> {
  const server = createServer(async (request, response) => {
    const own = request.url!.startsWith('/v3/orgs/') ? answer(request.url!) : undefined
    // The server's own `Date` header would not follow the sandbox's clock.
    response.sendDate = false
    if (own) return void response.writeHead(own.status).end(JSON.stringify(own.body ?? {}))
    const authorization = request.headers.authorization ?? ''
    const passed = await fetch(`${upstream}${request.url}`, { headers: { authorization } })
    response.writeHead(passed.status, { date: passed.headers.get('date') ?? '' }).end(await passed.text())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('the organizations that handoffs name', () => {
  it('are in tables with teams and members, requested once a day or when changed, and marked when gone, also after a replay', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 30 }, settings: { resources: BOTH_KINDS } })
    const { sync } = simulated
    await sync()
    expect(await requestedPaths(simulated)).toEqual(BOTH)
    const joined = await simulated.rows(`SELECT DISTINCT h.organization_id AS id, o.name FROM conversation_handoffs h
      JOIN organizations o USING (workspace_id, organization_id) ORDER BY id`)
    expect(joined).toEqual([
      { id: 'org_alpha', name: 'Alpha Service' },
      { id: 'org_beta', name: 'Bêta & Fils' },
    ])
    const nameless = await simulated.rows(`SELECT team_id FROM conversation_handoff_team_ids
      ANTI JOIN teams USING (workspace_id, team_id) WHERE team_id IS NOT NULL`)
    expect(nameless).toEqual([])
    expect(await simulated.rows('SELECT DISTINCT role FROM organization_members ORDER BY role')).toEqual([
      { role: 'admin' },
      { role: 'support' },
    ])
    const [left] = await simulated.rows(
      `SELECT count(*)::INTEGER AS n FROM _loads WHERE stream IN ('organizations', 'teams')`,
    )
    expect(left).toEqual({ n: 4 })

    simulated.advance(23 * HOUR)
    await sync()
    await simulated.restart()
    await sync()
    expect(await requestedPaths(simulated)).toEqual(BOTH)
    simulated.advance(2 * HOUR)
    await sync()
    expect(await requestedPaths(simulated)).toEqual([...BOTH, ...BOTH])

    simulated.advance(HOUR)
    const changed = new Date(simulated.clock.now()).toISOString().slice(0, -1)
    await simulated.rows(
      `UPDATE organizations SET _dirty_since = TIMESTAMPTZ '${changed}' WHERE organization_id = 'org_beta'`,
    )
    simulated.advance(HOUR)
    await sync()
    await sync()
    expect((await requestedPaths(simulated)).slice(8)).toEqual(['org_beta'])
    expect(await simulated.rows('SELECT * FROM organizations WHERE _dirty_since IS NOT NULL')).toEqual([])

    // The sandbox's log of requests also contains this deletion.
    await remove(simulated, 'org_beta')
    simulated.advance(25 * HOUR)
    await sync()
    await sync()
    expect((await requestedPaths(simulated)).slice(10)).toEqual(['org_alpha', 'org_alpha/teams', 'org_beta'])
    expect((await names(simulated)).map(({ id, missing }) => [id, missing])).toEqual([
      ['org_alpha', false],
      ['org_beta', true],
    ])
    simulated.advance(DAY + HOUR)
    await sync()
    expect((await requestedPaths(simulated)).slice(13)).toEqual(['org_alpha', 'org_alpha/teams', 'org_beta'])

    const tables = ['organizations', 'organization_members', 'organization_agents', 'teams', 'team_members']
    const rows = () =>
      Promise.all(
        tables.map(table =>
          simulated.rows(`SELECT COLUMNS(c -> c NOT IN ('_record', '_loaded_at')) FROM ${table} ORDER BY ALL`),
        ),
      )
    const [before, requests] = [await rows(), await requestedPaths(simulated)]
    expect(before.every(found => found.length > 0)).toBe(true)
    await simulated.replay()
    expect(await rows()).toEqual(before)
    await sync()
    expect(await requestedPaths(simulated)).toEqual(requests)
  })
})

describe('organizations of the configuration', () => {
  it('are requested although nothing names them, fifty per run, unknown ones once a day, but not by a plan or a stopped sync', async () => {
    const others = Array.from({ length: 50 }, (_, at) => `org_${at}`)
    const organizations = ['org_alpha', 'org_nobody', '..', 'a/b c', 'a\0b', '\ud800', ...others]
    const simulated = await simulatedApp({
      sandbox: { conversations: 0 },
      settings: { resources: BOTH_KINDS, organizations },
    })
    const { config, app, clock } = simulated
    const { signal } = new AbortController()
    const workspace = config.workspaces[0]!
    await planOnly({ config, workspace, app, request: PLAIN_SYNC, signal, clock: clock.within })
    const stopped = await simulated.sync({}, AbortSignal.abort()).catch(error => error)
    expect(stopped).toMatchObject({ code: 'INTERRUPTED' })
    expect(await requestedPaths(simulated)).toEqual([])

    const { warnings, outcome } = await simulated.sync()
    expect(outcome).toBe('done')
    expect(warnings).toEqual(
      ['".."', '"a\\u0000b"', '"\\ud800"'].map(id =>
        expect.stringContaining(`Organization ${id} is not requested: its ID cannot be part of a URL`),
      ),
    )
    const first = ['org_alpha', 'org_alpha/teams', 'org_nobody', 'a/b c', ...others.slice(0, 47)]
    expect(await requestedPaths(simulated)).toEqual(first)
    for (let run = 0; run < 2; run++) {
      await simulated.sync()
      expect(await requestedPaths(simulated)).toEqual([...first, ...others.slice(47)])
    }
    expect((await names(simulated)).map(({ id }) => id)).toEqual(['org_alpha'])
  })
})

describe('a vendor that fails to answer for organizations', () => {
  const FAILING: [string, Answer, number][] = [
    ['503', { status: 503 }, 2],
    ['503 again', { status: 503 }, 2],
    ['429', { status: 429 }, 1],
    ['401', { status: 401 }, 1],
    ['403', { status: 403 }, 2],
    ['a 404 without the body of the vendor', { status: 404 }, 2],
    ['400', { status: 400 }, 2],
    ['another shape', { status: 200, body: { data: 'none' } }, 2],
  ]

  it('fails no sync, appears in its warnings, and is asked again by the next; a sync that requests nothing else is not a success', async () => {
    let answer: (path: string) => Answer | undefined
    const paths: string[] = []
    const simulated = await simulatedApp({
      sandbox: { conversations: 20 },
      settings: { resources: BOTH_KINDS, organizations: ['org_alpha', 'org_beta'] },
      through: sandbox =>
        organizationsAnswer(sandbox.url, path => {
          paths.push(path)
          return answer(path)
        }),
    })
    for (const [round, [name, given, requests]] of FAILING.entries()) {
      answer = () => given
      paths.length = 0
      const report = await simulated.sync()
      expect(report, name).toMatchObject({ outcome: 'done', failures: [] })
      expect(paths, name).toHaveLength(requests)
      if (given.status !== 503) continue
      expect(report.requests > 0).toBe(round === 0)
      expect(report.warnings).toEqual([
        expect.stringContaining(
          'some other resources (organizations, teams, tools, …) could not be requested: API_UNAVAILABLE',
        ),
      ])
    }
    const runs = await simulated.rows(
      'SELECT success, error_code FROM _runs ORDER BY started_at, requests DESC, run LIMIT 1',
    )
    expect(runs).toEqual([{ success: true, error_code: null }])
    const failed = await simulated.rows(
      "SELECT success, error_code FROM _runs WHERE requests = 0 AND error_code = 'API_UNAVAILABLE'",
    )
    expect(failed).toEqual([{ success: false, error_code: 'API_UNAVAILABLE' }])

    // An organization is stored even if the vendor refuses the request for its teams.
    answer = path => (path.includes('/teams') ? { status: 400 } : undefined)
    await simulated.sync()
    await simulated.sync()
    expect(await requestedPaths(simulated)).toEqual(['org_alpha', 'org_beta'])
    expect((await names(simulated)).map(({ id }) => id)).toEqual(['org_alpha', 'org_beta'])
    expect(await simulated.rows('SELECT team_id FROM teams')).toEqual([])
  })
})

const teamsNamed = (count: number) => Array.from({ length: count }, (_, at) => ({ ID: `t${at}`, orgId: 'org_alpha' }))

type Team = ReturnType<typeof teamsNamed>[number]

const ONE_BY_ONE = (page: number | null, teams: Team[], size: number) => ({
  teams: teams.slice((page! - 1) * size, page! * size),
  total: String(teams.length),
  hasMore: String(page! * size < teams.length),
})

const REPEATED = (page: number | null, teams: Team[], size: number) => {
  const last = Math.min(page!, 3)
  return { teams: teams.slice((last - 1) * size, last * size), hasMore: true }
}

/** Ways in which a vendor with 130 teams answers, with the number of teams listed and whether the list is known to be complete. */
const TEAMS_GIVEN: [string, (page: number | null, teams: Team[]) => object, { listed: number; isComplete: boolean }][] =
  [
    [
      'returns only the teams',
      (page, teams) => ({ teams: teams.slice((page! - 1) * 100, page! * 100) }),
      { listed: 130, isComplete: true },
    ],
    [
      'reports the total and more entries as text',
      (page, teams) => ONE_BY_ONE(page, teams, 50),
      { listed: 130, isComplete: true },
    ],
    [
      'repeats itself forever, and reports more',
      (page, teams) => REPEATED(page, teams, 10),
      { listed: 30, isComplete: false },
    ],
    [
      'refuses every parameter',
      (page, teams) => (page === null ? { teams: teams.slice(0, 50) } : { status: 400 }),
      { listed: 50, isComplete: false },
    ],
  ]

/** A vendor that answers requests for teams with `answer`, which gets the requested page. */
const teamsAnswer = (upstream: string, answer: (page: number | null) => object): Promise<string> =>
  organizationsAnswer(upstream, path => {
    if (!path.includes('/teams')) return undefined
    const page = new URLSearchParams(path.split('?')[1]).get('page')
    const given = answer(page === null ? null : Number(page))
    return 'status' in given ? { status: 400 } : { status: 200, body: { success: true, ...given } }
  })

describe('the teams of an organization', () => {
  it.each(TEAMS_GIVEN)(
    'of a vendor that %s are listed as far as possible, and known to be complete only if they are',
    async (_, answer, { listed, isComplete }) => {
      let pages = 0
      const url = await teamsAnswer('', page => {
        pages += 1
        return answer(page, teamsNamed(130))
      })
      const vendor = createVendorClient({ apiUrl: url, token: TOKEN, sleep: async () => {} })
      onTestFinished(() => vendor.close())
      const { signal } = new AbortController()
      const found = await fetchResource({ vendor, workspaceId: 'ws', signal }, TEAMS, ['org_alpha'])
      const ids = found.pages.flatMap(({ answer: { envelope } }) => envelope?.ids ?? [])
      expect([new Set(ids).size, found.cutOff === null]).toEqual([listed, isComplete])
      expect(pages).toBeLessThan(7)
    },
  )

  it('that a complete list lacks are marked; an incomplete list marks none, and is an issue', async () => {
    let answer: typeof ONE_BY_ONE | typeof REPEATED = ONE_BY_ONE
    let teams = teamsNamed(7)
    const simulated = await simulatedApp({
      sandbox: { conversations: 0 },
      settings: { resources: BOTH_KINDS, organizations: ['org_alpha'] },
      through: sandbox => teamsAnswer(sandbox.url, page => answer(page, teams, 3)),
    })
    const ids = async (which: string) =>
      (await simulated.rows<{ id: string }>(`SELECT team_id AS id FROM teams WHERE ${which}`)).map(({ id }) => id)
    const dayLater = async () => {
      simulated.advance(DAY + HOUR)
      await simulated.sync()
      const issues = await simulated.rows("SELECT issue FROM _issues WHERE record = 'team' AND path = '(listing)'")
      return { missing: await ids('_missing_since IS NOT NULL'), issues: issues.length }
    }
    await simulated.sync()
    expect(await ids('true')).toHaveLength(7)
    teams = teamsNamed(6)
    expect(await dayLater()).toEqual({ missing: ['t6'], issues: 0 })
    answer = REPEATED
    teams = teamsNamed(5)
    expect(await dayLater()).toEqual({ missing: ['t6'], issues: 1 })
  })
})
