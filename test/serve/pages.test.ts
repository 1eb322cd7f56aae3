// What the dashboard needs besides figures: its pages, of which the built-in ones ask only what is answered and the user's are read again
// when they change; changes of agents; and what a token may see.
import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { METRICS } from '../../src/metrics/all-metrics.ts'
import type { Page, Tile } from '../../src/serve/pages/page-format.ts'
import { Pages } from '../../src/serve/pages.ts'
import { folderOfFile } from '../of-file.ts'
import { rowsIn } from '../publish/published.ts'
import { bearer, send, served, tokenFor } from './served.ts'

/** Three changes of two agents; two of a day. */
const CHANGES = `INSERT INTO marts.fct_agent_changes BY NAME
  SELECT 'w' AS workspace_id, agent AS agent_id, 'Agent ' || agent AS agent_title, time || field AS entry_id, time::TIMESTAMPTZ AS changed_at,
    time[:10]::DATE AS day, field, field AS field_path, 'secret' AS value_before, 'somebody' AS actor_name
  FROM (VALUES ('a', '2026-10-01T10:00:00Z', 'nodes'), ('a', '2026-10-01T09:00:00Z', 'model'), ('b', '2026-10-05T23:30:00Z', 'tools'),
    ('b', '2026-11-05T08:00:00Z', 'tools')) t(agent, time, field)`

/** A period after another, with history read on its second day; another workspace's sessions do not count. */
const QUOTA = `INSERT INTO marts.quota_daily BY NAME
  SELECT 'w' AS workspace_id, period AS period_key, day::DATE AS day, used AS used_sessions, 1000 AS included_sessions, over AS overage_sessions, over AS overage_packs
  FROM (VALUES ('old', '2026-10-03', 900, 0), ('new', '2026-10-03', 10, 0), ('new', '2026-10-06', 700, 0), ('new', '2026-10-08', 1040, 1)) t(period, day, used, over);
  INSERT INTO marts.sessions_daily BY NAME SELECT workspace_id, 'a' AS agent_id, day::DATE AS day, kind, sessions AS billed_sessions
  FROM (VALUES ('w', '2026-10-03', 'tail', 5), ('w', '2026-10-05', 'tail', 300), ('w', '2026-10-06', 'full', 200), ('w', '2026-10-06', 'head', 90), ('w2', '2026-10-06', 'tail', 7))
  t(workspace_id, day, kind, sessions)`

const at = served({ added: `${CHANGES}; ${QUOTA}` })
const folder = await folderOfFile()

const EVER = { from: '2020-01-01', to: '2030-12-31' }
const YEAR = { from: '2026-01-01', to: '2026-12-31' }

/** Returns the requests for metrics that a page sends. */
function queriesOf({ figures, changes, tiles }: Page): object[] {
  const ofTile = (tile: Tile): object[] => {
    if (tile.kind === 'table') {
      const { metrics, table: split, top, filters } = tile
      return [{ metrics, split, top, filters, period: EVER, compare: true }]
    }
    if (tile.kind !== 'metrics') return []
    const { metrics, split, top, filters, chart } = tile
    const grain = chart === 'ranking' ? 'none' : tile.grain === 'auto' ? 'week' : tile.grain
    return [{ metrics, split, top, filters, grain, period: YEAR, compare: true }]
  }
  const explained = (changes?.metrics ?? []).flatMap(metric =>
    changes!.by.map(split => ({ metrics: [metric], split, period: YEAR, ask: 'explanation' })),
  )
  const shown = figures.length === 0 ? [] : [{ metrics: figures, period: YEAR, compare: true }]
  return [...shown, ...explained, ...tiles.flatMap(ofTile)]
}

const pagesAt = async (running = at.running, tokens = at.tokens, headers: Record<string, string> = {}) =>
  send(running, '/v1/pages', { headers: { ...bearer(await tokenFor(tokens, 'metrics')), ...headers } })

describe('the built-in pages', () => {
  it('ask only what is answered, by metrics and by SQL', async () => {
    const { pages, problems } = (await pagesAt()).json as { pages: Page[]; problems: string[] }
    expect(problems).toEqual([])
    expect(pages.map(({ name }) => name)).toEqual([
      ...['overview', 'quality', 'service', 'people', 'spend', 'leads', 'topics'],
    ])
    const headers = bearer(await tokenFor(at.tokens, 'metrics', 'sql', 'content'))
    const post = (path: string, body: object) => send(at.running, path, { method: 'POST', headers, body })
    for (const page of pages) {
      const queries = queriesOf(page)
      const { json, status } = await post('/v1/metrics/query', { queries })
      expect([page.name, status, json.error?.what]).toEqual([page.name, 200, undefined])
      expect(json.answers).toHaveLength(queries.length)
      for (const tile of page.tiles) {
        if (tile.kind !== 'sql') continue
        const params = Object.fromEntries(tile.params.map(name => [name, EVER[name]]))
        const answer = await post('/v1/query', { sql: tile.sql, params })
        expect([tile.title, answer.status, answer.json.error?.what]).toEqual([tile.title, 200, undefined])
        const columns = Object.keys(answer.json.rows[0] ?? {})
        for (const column of [tile.x, ...(tile.y ?? []), tile.by])
          if (column !== undefined && columns.length > 0) expect(columns).toContain(column)
      }
    }
  })
})

describe("the user's pages", () => {
  const page = (...lines: string[]) => ['title: Mine', 'about: What is mine?', ...lines].join('\n')
  const tile = (...lines: string[]) => page('tiles:', '  - title: What?', ...lines.map(line => `    ${line}`))

  it('join the built-in ones, replace one of their name, and are read again when a file changes', async () => {
    const own = join(folder, 'own')
    await mkdir(own)
    const write = (name: string, text: string) => writeFile(join(own, `${name}.yaml`), text)
    await write('mine', tile('metrics: [conversations]', 'chart: bars'))
    await write('spend', page('order: 5'))
    await write('quality', page('figures: [nonsense]'))
    const reported: string[] = []
    const pages = new Pages({
      ...{ folder: own, metrics: METRICS, lookEveryMs: 0 },
      onProblem: problem => reported.push(problem),
    })
    const { running, tokens } = await at.start({ pages })
    const first = await pagesAt(running, tokens)
    const named = (json: { pages: Page[] }, name: string) => json.pages.find(one => one.name === name)
    expect(first.json.pages[0]).toMatchObject({ name: 'spend', title: 'Mine', isOwn: true, icon: 'page', tiles: [] })
    expect(named(first.json, 'quality')).toMatchObject({ title: 'Quality', isOwn: false })
    const [shown] = named(first.json, 'mine')!.tiles
    expect(shown).toEqual({
      ...{ kind: 'metrics', title: 'What?', metrics: ['conversations'], chart: 'bars', width: 'half', top: 6 },
      ...{ grain: 'auto', filters: {}, marks: false },
    })
    const problem = expect.stringMatching(/^The page quality cannot be used: figures: There is no metric "nonsense"/)
    expect(first.json.problems).toEqual([problem])

    const etag = first.headers.etag!
    const held = await pagesAt(running, tokens, { 'If-None-Match': etag })
    expect([held.status, held.body.length, held.headers.etag]).toEqual([304, 0, etag])
    await write('mine', tile('metrics: [conversations]', 'chart: line'))
    await utimes(join(own, 'mine.yaml'), 1, 1)
    const second = await pagesAt(running, tokens, { 'If-None-Match': etag })
    expect(second.status).toBe(200)
    expect(named(second.json, 'mine')!.tiles[0]).toMatchObject({ chart: 'line', marks: true })
    await rm(join(own, 'spend.yaml'))
    expect((await pagesAt(running, tokens)).json.pages[0]).toMatchObject({ name: 'overview' })
    expect(reported).toEqual([problem])
  })

  it('are refused with the place of what is wrong', async () => {
    const wrong = join(folder, 'wrong')
    await mkdir(wrong)
    const cases: [text: string, problem: RegExp][] = [
      [page('icon: rocket'), /^icon: /],
      [page('figures: [lead_value]'), /^figures: lead_value has a unit for each currency/],
      [
        page('changes: { metrics: [handoff_wait_median], by: [agent] }'),
        /^changes: parts of handoff_wait_median do not/,
      ],
      [page('changes: { metrics: [handoffs], by: [tag] }'), /^changes: handoffs has no dimension tag/],
      [tile('metrics: [conversations, tokens_usd]', 'chart: line'), /^tiles\.0: metrics of one chart need one unit/],
      [tile('metrics: [conversations]', 'chart: share'), /^tiles\.0\.split: a share needs one/],
      [tile('metrics: [conversations]', 'chart: bars', 'grain: weekday_hour'), /^tiles\.0\.grain: /],
      [tile('metrics: [backlog_open]', 'chart: heat'), /^tiles\.0: backlog_open is a level at the end of a day/],
      [tile('metrics: [conversations]', 'chart: bars', 'colour: red'), /^tiles\.0: Unrecognized key: "colour"/],
      [tile('table: tag', 'metrics: [conversations]'), /^tiles\.0: conversations has no dimension tag/],
      [tile('sql: SELECT 1 AS n', 'chart: bars', 'y: [n]'), /^tiles\.0\.x: bars need a column for the axis/],
      [tile('sql: SELECT $when AS n'), /^tiles\.0\.sql: has the parameter \$when/],
      [tile('show: magic'), /^tiles\.0\.show: /],
      ['title: [', /^it is no YAML: /],
    ]
    for (const [index, [text]] of cases.entries())
      await writeFile(join(wrong, `p${String(index).padStart(2, '0')}.yaml`), text)
    await writeFile(join(wrong, 'z_name.yaml'), page())
    const [, example] = /```yaml\n(.*?)```/s.exec(await readFile('docs/dashboard.md', 'utf8'))!
    await writeFile(join(wrong, 'example.yaml'), example!)
    const { problems } = await new Pages({ folder: wrong, metrics: METRICS, onProblem: () => {} }).all()
    const expected = [...cases.map(([, problem]) => problem), /^the name "z_name" is not small letters/]
    expect(problems).toHaveLength(expected.length)
    for (const [index, problem] of problems.entries())
      expect(problem.replace(/^The page \S+ cannot be used: /, '')).toMatch(expected[index]!)
  })
})

it('changes of agents are listed by day with their fields, without values or actors, for the agents asked for', async () => {
  const headers = bearer(await tokenFor(at.tokens, 'metrics'))
  const listed = (query: string) => send(at.running, `/v1/agent-changes?${query}`, { headers })
  const { json } = await listed('from=2026-10-01&to=2026-10-31')
  const first = {
    ...{ workspace: 'w', agent: 'a', agentTitle: 'Agent a', day: '2026-10-01' },
    ...{ at: '2026-10-01T09:00:00.000Z', fields: ['model', 'nodes'] },
  }
  const second = {
    ...{ workspace: 'w', agent: 'b', agentTitle: 'Agent b', day: '2026-10-05' },
    ...{ at: '2026-10-05T23:30:00.000Z', fields: ['tools'] },
  }
  expect(json).toEqual({ changes: [first, second], asOf: expect.any(String) })
  const ofAgents = async (query: string) => (await listed(`from=2026-10-01&to=2026-11-30&${query}`)).json.changes
  expect(await ofAgents('agent=w/a&agent=nobody')).toEqual([first])
  expect(await ofAgents('agent=b&workspace=w')).toMatchObject([second, { day: '2026-11-05' }])
  expect(await ofAgents('workspace=other')).toEqual([])
  expect((await listed('from=yesterday&to=2026-10-31')).status).toBe(400)
})

it('the quota is that of the running period, by day, with the history that was read between the reports', async () => {
  const { json } = await send(at.running, '/v1/quota', { headers: bearer(await tokenFor(at.tokens, 'metrics')) })
  expect(json.workspaces.find(({ workspace }: { workspace: string }) => workspace === 'w')).toEqual({
    ...{
      workspace: 'w',
      period: 'new',
      includedSessions: 1000,
      overageSessions: 1,
      overagePacks: 1,
      ends: '2026-11-03',
    },
    days: [
      { day: '2026-10-03', usedSessions: 10, historySessions: 5 },
      { day: '2026-10-06', usedSessions: 700, historySessions: 500 },
      { day: '2026-10-08', usedSessions: 1040, historySessions: 0 },
    ],
  })
})

it('organizations are listed with the agents that are assigned to them', async () => {
  const headers = bearer(await tokenFor(at.tokens, 'metrics'))
  const { json } = await send(at.running, '/v1/organizations', { headers })
  const assigned = await rowsIn(
    at.path,
    `SELECT DISTINCT organization_id, workspace_id || '/' || agent_id FROM marts.bridge_agent_organizations WHERE is_assigned`,
  )
  expect(assigned.length).toBeGreaterThan(0)
  const listed = json.organizations.flatMap(({ organization, agents }: { organization: string; agents: string[] }) =>
    agents.map(agent => [organization, agent]),
  )
  expect(listed.sort()).toEqual(assigned.sort())
})

it('a token learns its scopes and the time zones of the workspaces', async () => {
  const asked = async (...scopes: ('metrics' | 'content' | 'health')[]) =>
    (await send(at.running, '/v1/session', { headers: bearer(await tokenFor(at.tokens, ...scopes)) })).json
  const zones = await rowsIn(at.path, 'SELECT DISTINCT time_zone FROM marts.dim_agents ORDER BY 1')
  expect(zones.length).toBeGreaterThan(0)
  expect(await asked('health')).toEqual({ token: expect.any(String), scopes: ['health'], timeZones: zones.flat() })
  expect((await asked('metrics', 'content')).scopes).toEqual(['metrics', 'content'])
  expect((await send(at.running, '/v1/session')).status).toBe(401)
  const { running } = await at.start()
  expect((await send(running, '/v1/session')).json).toMatchObject({
    token: null,
    scopes: expect.arrayContaining(['sql']),
  })
})
