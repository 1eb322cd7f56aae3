import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DAY, HOUR } from '../../src/core/time.ts'
import { PLAIN_SYNC, planOnly } from '../../src/run/embedded.ts'
import { replay } from '../../src/run/replay.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { type SimulatedApp, TOKEN } from '../workflows/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated-app.ts'

/** Requests for organizations and their teams, `id` and `id/teams`. */
async function asked({ sandbox }: SimulatedApp): Promise<string[]> {
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

const BOTH = ['org_alpha', 'org_alpha/teams', 'org_beta', 'org_beta/teams']

/** A vendor whose organizations are answered by `answer`; all else is the sandbox's. */
async function organizationsAnswer(
  upstream: string,
  answer: (path: string) => { status: number; body?: unknown } | undefined,
): Promise<string> {
  const server = createServer(async (request, response) => {
    const told = request.url!.startsWith('/v3/orgs/') ? answer(request.url!) : undefined
    // Of a clock that this house's is not.
    response.sendDate = false
    if (told) return void response.writeHead(told.status).end(JSON.stringify(told.body ?? {}))
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
  it('have their names, teams and members beside them in SQL when the sync is done', async () => {
    const simulated = await simulatedApp()
    await simulated.sync()
    expect(await asked(simulated)).toEqual(BOTH)
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
  })

  it('are asked for again when a day has passed, and not before', async () => {
    const simulated = await simulatedApp()
    await simulated.sync()
    simulated.advance(23 * HOUR)
    await simulated.sync()
    await simulated.restart()
    await simulated.sync()
    expect(await asked(simulated)).toEqual(BOTH)
    simulated.advance(2 * HOUR)
    await simulated.sync()
    expect(await asked(simulated)).toEqual([...BOTH, ...BOTH])
  })

  it('are asked for again when one is known to have changed', async () => {
    const simulated = await simulatedApp()
    await simulated.sync()
    simulated.advance(HOUR)
    const changed = new Date(simulated.clock.now()).toISOString().slice(0, -1)
    await simulated.rows(
      `UPDATE organizations SET _dirty_since = TIMESTAMP '${changed}' WHERE organization_id = 'org_beta'`,
    )
    simulated.advance(HOUR)
    await simulated.sync()
    await simulated.sync()
    expect(await asked(simulated)).toEqual([...BOTH, 'org_beta'])
    expect(await simulated.rows('SELECT * FROM organizations WHERE _dirty_since IS NOT NULL')).toEqual([])
  })

  it('are marked when they are gone, and not asked for again for a day', async () => {
    const simulated = await simulatedApp()
    await simulated.sync()
    await remove(simulated, 'org_beta')
    simulated.advance(25 * HOUR)
    await simulated.sync()
    await simulated.sync()
    expect((await asked(simulated)).slice(5)).toEqual(['org_alpha', 'org_alpha/teams', 'org_beta'])
    expect((await names(simulated)).map(({ id, missing }) => [id, missing])).toEqual([
      ['org_alpha', false],
      ['org_beta', true],
    ])
    simulated.advance(DAY + HOUR)
    await simulated.sync()
    expect((await asked(simulated)).slice(8)).toEqual(['org_alpha', 'org_alpha/teams', 'org_beta'])
  })

  it('are not asked for by a plan, nor at the end of a sync that was stopped', async () => {
    const simulated = await simulatedApp({ settings: { organizations: ['org_alpha'] } })
    const { config, app, clock } = simulated
    const { signal } = new AbortController()
    const workspace = config.workspaces[0]!
    await planOnly({ config, workspace, app, request: PLAIN_SYNC, signal, clock: clock.within })
    const stopped = await simulated.sync({}, AbortSignal.abort()).catch(error => error)
    expect(stopped).toMatchObject({ code: 'INTERRUPTED' })
    expect(await asked(simulated)).toEqual([])
  })
})

describe('organizations of the configuration', () => {
  it('are asked for though nothing names them, and unknown ones once a day', async () => {
    const organizations = ['org_alpha', 'org_nobody', '..', 'a/b c', 'a\0b', '\ud800']
    const simulated = await simulatedApp({ sandbox: { conversations: 0 }, settings: { organizations } })
    const { warnings, outcome } = await simulated.sync()
    expect(outcome).toBe('done')
    expect(warnings).toEqual(
      ['".."', '"a\\u0000b"', '"\\ud800"'].map(id =>
        expect.stringContaining(`\`organizations\` names ${id}, an ID that no request can carry`),
      ),
    )
    await simulated.sync()
    expect(await asked(simulated)).toEqual(['org_alpha', 'org_alpha/teams', 'org_nobody', 'a/b c'])
    expect((await names(simulated)).map(({ id }) => id)).toEqual(['org_alpha'])
  })

  it('that cannot be asked for are told; a sync that asks for nothing else is no success, and does not fail', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 20 },
      settings: { organizations: ['org_alpha'] },
      through: sandbox => organizationsAnswer(sandbox.url, () => ({ status: 503 })),
    })
    const reports = [await simulated.sync(), await simulated.sync()]
    expect(reports.map(({ outcome, requests }) => [outcome, requests > 0])).toEqual([
      ['done', true],
      ['done', false],
    ])
    for (const { warnings } of reports)
      expect(warnings).toEqual([
        expect.stringContaining('organizations, teams or tools could not be requested: API_UNAVAILABLE'),
      ])
    const rows = await simulated.rows('SELECT success, error_code FROM _runs ORDER BY started_at, requests DESC')
    expect(rows).toEqual([
      { success: true, error_code: null },
      { success: false, error_code: 'API_UNAVAILABLE' },
    ])
  })

  it('are fifty a run at most', async () => {
    const organizations = Array.from({ length: 60 }, (_, at) => `org_${at}`)
    const simulated = await simulatedApp({ sandbox: { conversations: 0 }, settings: { organizations } })
    const counts: number[] = []
    for (let run = 0; run < 3; run++) {
      await simulated.sync()
      counts.push((await asked(simulated)).length)
    }
    expect(counts).toEqual([50, 60, 60])
  })
})

describe('a vendor that fails to answer for organizations', () => {
  const FAILING = [
    ['429', { status: 429 }, 1],
    ['503', { status: 503 }, 1],
    ['401', { status: 401 }, 1],
    ['a 404 that is no answer of its own', { status: 404 }, 1],
    ['400', { status: 400 }, 2],
    ['another shape', { status: 200, body: { data: 'none' } }, 2],
  ] as const

  it.each(FAILING)('with %s fails no sync; the next one asks again', async (_, answer, requests) => {
    let failing = true
    const paths: string[] = []
    const simulated = await simulatedApp({
      through: sandbox =>
        organizationsAnswer(sandbox.url, path => {
          if (failing) paths.push(path)
          return failing ? answer : undefined
        }),
    })
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
    expect(paths).toHaveLength(requests)
    failing = false
    await simulated.sync()
    expect((await names(simulated)).map(({ id }) => id)).toEqual(['org_alpha', 'org_beta'])
  })

  it('of one whose teams are refused has its name all the same', async () => {
    const simulated = await simulatedApp({
      through: sandbox =>
        organizationsAnswer(sandbox.url, path => (path.includes('/teams') ? { status: 400 } : undefined)),
    })
    await simulated.sync()
    await simulated.sync()
    expect(await asked(simulated)).toEqual(['org_alpha', 'org_beta'])
    expect(await simulated.rows('SELECT team_id FROM teams')).toEqual([])
  })

  const teamsNamed = (from: number, to: number) =>
    Array.from({ length: Math.max(0, to - from) }, (_, at) => ({ ID: `t${from + at}`, orgId: 'org_alpha' }))

  /** Of 130 teams, `gone` is not there any more. */
  const TEAMS: [
    string,
    (page: number | null, teams: { ID: string }[]) => object,
    { listed: number; isComplete: boolean },
  ][] = [
    [
      'tells only the teams',
      (page, teams) => ({ teams: teams.slice((page! - 1) * 100, page! * 100) }),
      { listed: 130, isComplete: true },
    ],
    [
      'counts them, and tells of more by text',
      (page, teams) => ({
        teams: teams.slice((page! - 1) * 50, page! * 50),
        total: String(teams.length),
        hasMore: String(page! < 3),
      }),
      { listed: 130, isComplete: true },
    ],
    [
      'repeats itself for ever, and says that there is more',
      (page, teams) => ({ teams: teams.slice((Math.min(page!, 3) - 1) * 10, Math.min(page!, 3) * 10), hasMore: true }),
      { listed: 30, isComplete: false },
    ],
    [
      'refuses every parameter',
      (page, teams) => (page === null ? { teams: teams.slice(0, 50) } : { status: 400 }),
      { listed: 50, isComplete: false },
    ],
  ]

  it.each(TEAMS)(
    'with teams, and %s: all that can be are there, and none is taken for gone that may be',
    async (_, answer, { listed, isComplete }) => {
      let gone = ''
      let pages = 0
      const simulated = await simulatedApp({
        sandbox: { conversations: 0 },
        settings: { organizations: ['org_alpha'] },
        through: sandbox =>
          organizationsAnswer(sandbox.url, path => {
            if (!path.includes('/teams')) return undefined
            pages += 1
            const page = new URLSearchParams(path.split('?')[1]).get('page')
            const told = answer(
              page === null ? null : Number(page),
              teamsNamed(0, 130).filter(({ ID }) => ID !== gone),
            )
            return 'status' in told ? { status: 400 } : { status: 200, body: { success: true, ...told } }
          }),
      })
      const teams = async (which: string) =>
        (await simulated.rows<{ id: string }>(`SELECT team_id AS id FROM teams WHERE ${which}`)).map(({ id }) => id)
      await simulated.sync()
      expect(await teams('true')).toHaveLength(listed)
      gone = 't7'
      simulated.advance(DAY + HOUR)
      await simulated.sync()
      expect(await teams('_missing_since IS NOT NULL')).toEqual(isComplete ? ['t7'] : [])
      const issues = await simulated.rows("SELECT issue FROM _issues WHERE record = 'team' AND path = '(listing)'")
      expect(issues).toHaveLength(isComplete ? 0 : 1)
      expect(pages).toBeLessThan(14)
    },
  )
})

describe('what is known of organizations', () => {
  it('is brought back by a replay, who is missing too, without one request', async () => {
    const simulated = await simulatedApp()
    await simulated.sync()
    await remove(simulated, 'org_beta')
    simulated.advance(25 * HOUR)
    await simulated.sync()
    const tables = ['organizations', 'organization_members', 'organization_agents', 'teams', 'team_members']
    const told = () =>
      Promise.all(
        tables.map(table =>
          simulated.rows(`SELECT COLUMNS(c -> c NOT IN ('_record', '_loaded_at')) FROM ${table} ORDER BY ALL`),
        ),
      )
    const [before, requests] = [await told(), await asked(simulated)]
    expect(before.every(rows => rows.length > 0)).toBe(true)
    await simulated.close()
    await replay({ config: simulated.config })
    await simulated.restart()
    expect(await told()).toEqual(before)
    await simulated.sync()
    expect(await asked(simulated)).toEqual(requests)
  })
})
