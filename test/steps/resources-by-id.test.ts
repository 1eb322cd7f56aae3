// The resources that a sync requests by id, in one workspace: when each is requested, its tables, and what is missing.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Stream } from '../../src/catalog/resources/resources.ts'
import { RESOURCE_NAMES } from '../../src/config/resources.ts'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { PLAIN_SYNC, planOnly } from '../../src/run/embedded.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { CANARY } from '../../src/sandbox/world/agents/secret-bearing.ts'
import { everyColumn } from '../workflows/simulated/every-column.ts'
import { openSimulatedApp, type SimulatedApp, TOKEN, WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'

const SECRET_OR_BODY = new RegExp(`${CANARY}|<html`)

const headers = { authorization: `Bearer ${TOKEN}` }

interface Known {
  metrics: { agentId: string; id: string }[]
  crawlerJobs: { id: string; pages: string[] }[]
}

let simulated: SimulatedApp
let end: () => Promise<void>
let [agent, other]: string[] = []
let job: Known['crawlerJobs'][number]
let metric: string

// biome-ignore lint/suspicious/noExplicitAny: answers of several endpoints
const get = async (path: string): Promise<any> => (await fetch(`${simulated.sandbox.url}${path}`, { headers })).json()

beforeAll(async () => {
  const customMetrics: Record<string, string[]> = {}
  const crawlerPages: Record<string, string[]> = {}
  const opened = await openSimulatedApp({
    sandbox: { conversations: 24, agents: 2, readings: { teamPage: 1 } },
    settings: {
      resources: RESOURCE_NAMES,
      organizations: ['org_beta', 'org_nobody', '..', 'a\0b', '\ud800', 'a/b c'],
      crawlerPages,
      customMetrics,
    },
  })
  simulated = opened.simulated
  end = opened.end
  ;[agent, other] = simulated.sandbox.world.agentIds() as [string, string]
  const known: Known = await get('/_sandbox/resources')
  job = known.crawlerJobs[0]!
  crawlerPages[job.id] = [...job.pages, 'page_none']
  metric = known.metrics.filter(({ agentId }) => agentId === agent).at(-1)!.id
  customMetrics[agent] = [metric, 'met_nobody']
})

afterAll(() => end())

let seen = 0

/** Returns the requests since the last call except exports and listings of agents: counts by kind, and the paths of other requests. */
async function requested(): Promise<{ counts: Record<string, number>; refused: string[]; paths: string[] }> {
  const { requests } = (await get('/_sandbox/requests')) as { requests: ServedRequest[] }
  const made = requests.slice(seen).filter(({ kind, method }) => !/search|agents|export/.test(kind) && method === 'GET')
  seen = requests.length
  const ours = made.filter(({ kind }) => kind !== 'other')
  const counts: Record<string, number> = {}
  for (const { kind } of ours) counts[kind] = (counts[kind] ?? 0) + 1
  const refused = ours.filter(({ status }) => status === 404).map(({ path }) => path.split('/').slice(2).join('/'))
  return { counts, refused: refused.sort(), paths: ours.map(({ path }) => path) }
}

/** Requests that tests make themselves do not count. */
const aside = async <T>(work: () => Promise<T>): Promise<T> => {
  const result = await work()
  await requested()
  return result
}

const sync = async (asked: Parameters<SimulatedApp['sync']>[0] = {}) => {
  const report = await simulated.sync(asked)
  expect(report).toMatchObject({ outcome: 'done', failures: [] })
  return { ...(await requested()), warnings: report.warnings }
}

async function planned(resources?: readonly string[]): Promise<number> {
  const { config, app, clock } = simulated
  const request = { ...PLAIN_SYNC, ...(resources && { resources }) }
  const { signal } = new AbortController()
  const options = { config, workspace: config.workspaces[0]!, app, request, signal, clock: clock.within }
  return (await planOnly(options)).resourceRequests
}

const lines = async (sql: string): Promise<string[]> =>
  (await simulated.rows<{ row: string }>(sql)).map(({ row }) => row).sort()

const line = (...values: unknown[]): string => values.filter(value => value !== null && value !== undefined).join(' ')

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

// biome-ignore lint/suspicious/noExplicitAny: records of several resources
type Served = any

const ofAgents = async (path: string, rowsOf: (agentId: string, answer: Served) => string[]) =>
  (await Promise.all([agent!, other!].map(async id => rowsOf(id, await get(`/v3/agents/${id}/${path}`))))).flat()

/** Rows as text, by resource, and the same rows from the vendor's answers. */
const STORED: Record<string, [sql: string, served: () => Promise<string[]>]> = {
  organizations: [
    `SELECT concat_ws(' ', organization_id, name) AS row FROM organizations`,
    async () => ['org_alpha Alpha Service', 'org_beta Bêta & Fils'],
  ],
  teams: [
    `SELECT concat_ws(' ', organization_id, team_id, label) AS row FROM teams`,
    async () => {
      const lists = await Promise.all(
        ['org_alpha', 'org_beta'].map(async id => {
          const pages = await Promise.all([1, 2, 3, 4].map(page => get(`/v3/orgs/${id}/teams?page=${page}&limit=1`)))
          return pages.flatMap(({ teams }) => teams.map((team: Served) => line(id, team.ID, team.label)))
        }),
      )
      return lists.flat()
    },
  ],
  tools: [
    `SELECT concat_ws(' ', agent_id, tool_id, name, disabled, created, epoch_ms(created_at)) AS row FROM tools`,
    () =>
      ofAgents('tools', (agentId, { data }) =>
        data.map(({ id, name, disabled, createdAt }: Served) =>
          line(agentId, id, name, disabled, createdAt, Date.parse(createdAt)),
        ),
      ),
  ],
  variables: [
    `SELECT concat_ws(' ', agent_id, variable_id, variable_key, location, type, is_env) AS row FROM variables`,
    () =>
      ofAgents('variables', (agentId, { data }) =>
        data.map(({ id, key, in: location, type, isEnv }: Served) => line(agentId, id, key, location, type, isEnv)),
      ),
  ],
  custom_metrics: [
    `SELECT concat_ws(' ', agent_id, metric_id, metric_key, type, is_system, (SELECT string_agg(option_value, ',' ORDER BY position)
       FROM custom_metric_options o WHERE o._record = m._record)) AS row FROM custom_metrics m`,
    async () => {
      const named = await lines(
        `SELECT DISTINCT agent_id || ' ' || metric_id AS row FROM conversation_metrics WHERE metric_id IS NOT NULL`,
      )
      const ids = [...new Set([...named, `${agent} ${metric}`])].map(id => id.split(' '))
      return Promise.all(
        ids.map(async ([agentId, id]) => {
          const { metric: found } = await get(`/v3/agents/${agentId}/custom-metrics/${id}`)
          return line(agentId, id, found.key, found.type, found.isSystem, found.options?.join(','))
        }),
      )
    },
  ],
  crawler_pages: [
    `SELECT concat_ws(' ', job_id, page_id, failed, markdown, html, markdown_bytes, markdown_sha256,
       (SELECT count(*) FROM crawler_page_links l WHERE l._record = p._record)) AS row FROM crawler_pages p`,
    () =>
      Promise.all(
        job.pages.map(async (id, number) => {
          const { data } = await get(`/v3/workspaces/${WORKSPACE}/crawler/jobs/${job.id}/pages/${id}`)
          const { markdown, urlsDiscovered } = data.content.scrapeResponse
          const facts = markdown === undefined ? [] : [Buffer.byteLength(markdown), sha256(markdown)]
          return line(job.id, id, number === 2, ...facts, urlsDiscovered.length)
        }),
      ),
  ],
  voices: [
    `SELECT voice_key AS row FROM voices`,
    async () => {
      const pages = await Promise.all([0, 500].map(offset => get(`/v3/voices?limit=500&offset=${offset}`)))
      return pages.flatMap(({ voices }) => voices.map(({ provider, voiceId }: Served) => `${provider}/${voiceId}`))
    },
  ],
  audit_log: [
    `SELECT concat_ws(' ', agent_id, field_path, source, actor, epoch(changed_at)::BIGINT) AS row FROM audit_log`,
    async () => [...(await auditEntries(agent!)), ...(await auditEntries(other!))],
  ],
  'changes of agents in the marts': [
    `SELECT concat_ws(' ', agent_id, field_path, source, actor_id, epoch(changed_at)::BIGINT) AS row FROM marts.fct_agent_changes
     WHERE starts_with(field_path, field) AND (value_before, value_after) IS NOT DISTINCT FROM
       (SELECT (old_value, new_value) FROM audit_log WHERE audit_log.entry_id = fct_agent_changes.entry_id AND audit_log.agent_id = fct_agent_changes.agent_id)`,
    async () => [...(await auditEntries(agent!)), ...(await auditEntries(other!))],
  ],
}

/** Returns all entries of an agent's audit log. Each page begins with a whole second, and may end within one. */
async function auditEntries(agentId: string): Promise<string[]> {
  const entries = new Map<number, Served[]>()
  for (let cursor = ''; ; ) {
    const page: Served[] = (await get(`/v3/agents/${agentId}/audit-log?limit=200${cursor}`)).entries
    const before = entries.size
    for (const ts of new Set(page.map(entry => entry.ts))) {
      const own = page.filter(entry => entry.ts === ts)
      if (own.length > (entries.get(ts)?.length ?? 0)) entries.set(ts, own)
    }
    if (page.length === 0 || entries.size === before) break
    cursor = `&cursorTs=${page.at(-1)!.ts + 1}`
  }
  return [...entries.values()].flat().map(({ field, source, actor, ts }) => line(agentId, field, source, actor, ts))
}

async function expectAsServed(): Promise<void> {
  for (const [name, [sql, served]] of Object.entries(STORED)) {
    const stored = await lines(sql)
    expect(stored.length, name).toBeGreaterThan(1)
    expect(stored, name).toEqual((await aside(served)).sort())
  }
}

it('are requested as the request or the configuration says, not by a plan or a stopped sync, and not twice a day unless they change', async () => {
  expect([await planned(['tools']), await planned([])]).toEqual([2, 0])
  await expect(simulated.sync({}, AbortSignal.abort())).rejects.toMatchObject({ code: 'INTERRUPTED' })
  // Teams of a known organization do not depend on its own record.
  expect((await sync({ resources: ['tools', 'teams'] })).counts).toEqual({ tools: 2, teams: 5 })
  const { counts, refused, warnings } = await sync()
  expect(counts).toMatchObject({ organization: 4, variables: 2, voices: 2, crawler: job.pages.length + 1 })
  expect(Object.keys(counts)).not.toContain('tools')
  expect(refused).toEqual([
    `agents/${agent}/custom-metrics/met_nobody`,
    'orgs/a%2Fb%20c',
    'orgs/org_nobody',
    `workspaces/${WORKSPACE}/crawler/jobs/${job.id}/pages/page_none`,
  ])
  expect(warnings).toEqual(
    ['".."', '"a\\u0000b"', '"\\ud800"'].map(id =>
      expect.stringContaining(`Organization ${id} is not requested: its ID cannot be part of a URL`),
    ),
  )
  simulated.advance(23 * HOUR)
  expect(await planned()).toBe(0)
  const at = `TIMESTAMPTZ '${new Date(simulated.clock.now()).toISOString()}'`
  const ahead = `TIMESTAMPTZ '${new Date(simulated.clock.now() + 30 * DAY).toISOString()}'`
  for (const change of [
    `UPDATE agents SET _changed_at = ${at} WHERE agent_id = '${agent}'`,
    `UPDATE agents SET last_modified = ${ahead} WHERE agent_id = '${other}'`,
    `UPDATE organizations SET _dirty_since = ${at} WHERE organization_id = 'org_beta'`,
  ])
    await simulated.rows(change)
  simulated.advance(30 * MINUTE)
  const { paths } = await sync()
  expect(paths.toSorted()).toEqual([
    ...['audit-log', 'tools', 'variables'].map(path => `/v3/agents/${agent}/${path}`),
    '/v3/orgs/org_beta',
  ])
  expect(await planned()).toBe(0)
  expect(await simulated.rows('FROM organizations WHERE _dirty_since IS NOT NULL')).toEqual([])
})

it('are stored as the vendor serves them', async () => {
  await expectAsServed()
  const [log] = await simulated.rows<{ n: number; different: number }>(
    `SELECT count(*)::INTEGER AS n, count(DISTINCT (field_path, source, actor, changed_at))::INTEGER AS different FROM audit_log`,
  )
  expect(log!.n).toBeGreaterThan(400)
  expect(log!.different).toBeLessThan(log!.n)
  expect(await lines('SELECT DISTINCT role AS row FROM organization_members')).toEqual(['admin', 'support'])
  expect(
    await simulated.rows("FROM voices WHERE voice_key LIKE 'azure/%' AND accent IS NOT NULL LIMIT 1"),
  ).toHaveLength(1)
  const hour = "SELECT DISTINCT value || ' ' || default_value AS row FROM variables WHERE variable_key = 'hour'"
  expect(await lines(hour)).toEqual(['14 9'])
  const joined = `SELECT team_id AS row FROM conversation_handoff_team_ids ANTI JOIN teams USING (workspace_id, team_id)
    WHERE team_id IS NOT NULL`
  expect(await lines(joined)).toEqual([])
})

it('never contain a secret, in tables or landed pages', async () => {
  expect(JSON.stringify(await everyColumn(simulated.rows))).not.toContain(CANARY)
  const landing = simulated.app.stores.landing.workspace(WORKSPACE)
  for (const stream of [...RESOURCE_NAMES, 'agents', 'voice_providers']) {
    const pages = await landing.list(stream as Stream)
    expect(pages.length, stream).toBeGreaterThan(0)
    for (const { address } of pages) expect(String(await landing.body(address)), stream).not.toMatch(SECRET_OR_BODY)
  }
  const removed = await lines(`SELECT path AS row FROM _issues WHERE record = 'tool'`)
  expect(removed).toEqual(['fields[].defaultValue', 'fields[].value', 'serverUrlSecret'])
  const fields = 'SELECT DISTINCT location, field_key, value, default_value FROM tool_fields WHERE is_env'
  expect(await simulated.rows(fields)).toEqual([
    { location: 'header', field_key: 'Authorization', value: null, default_value: null },
  ])
  for (const [table, kept, which] of [
    ['variables', 'value', "is_env OR variable_key IN ('db_password', 'Authorization', 'crm_api_key')"],
    ['audit_log', 'coalesce(old_value, new_value)', "field_path LIKE 'variables[%' OR field_path LIKE '%headers%'"],
  ])
    expect(
      await simulated.rows(
        `SELECT count(*) > 10 AS "many", count(nullif(${kept}::VARCHAR, 'null')) > 0 AS kept FROM ${table} WHERE ${which}`,
      ),
      table,
    ).toEqual([{ many: true, kept: false }])
})

it('are requested again after a day, pages of crawler jobs after a week, with their bodies if the configuration keeps them', async () => {
  simulated.advance(2 * HOUR)
  // Those that had changed were requested two hours ago.
  expect([await planned(['tools']), await planned(['crawler_pages'])]).toEqual([1, 0])
  simulated.advance(8 * DAY)
  simulated.config.workspaces[0]!.keepsCrawlerBodies = true
  const { counts, refused } = await sync()
  expect(counts).toMatchObject({ organization: 4, variables: 2, voices: 2, tools: 2, crawler: job.pages.length })
  expect(refused).toEqual(['orgs/a%2Fb%20c', 'orgs/org_nobody'])
  const bodies = 'FROM crawler_pages WHERE NOT failed AND markdown IS NOT NULL AND html IS NOT NULL'
  expect(await simulated.rows(bodies)).toHaveLength(job.pages.length - 1)
})

it('follow what is written; what is gone is marked with what belongs to it, until it is back; other unknown ids are requested again after a month', async () => {
  const { url, conditions } = simulated.sandbox
  const write = (method: string, path: string, body?: object) =>
    fetch(`${url}/v3/${path}`, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
  await write('POST', `agents/${agent}/variables`, { variable: { key: 'shelf', value: 'A 7' } })
  await write('DELETE', 'orgs/org_beta')
  await write('DELETE', `workspaces/${WORKSPACE}/crawler/jobs/${job.id}`)
  conditions.set({ gone: [other!], failedProviders: ['azure', 'elevenlabs', 'rime'] })
  simulated.advance(23 * DAY)
  const { paths, refused } = await sync()
  for (const id of ['met_nobody', 'page_none']) expect(refused.filter(path => path.endsWith(id))).toHaveLength(1)
  expect(paths.filter(path => path.includes(other!))).toEqual([])
  expect(paths.filter(path => path.includes('org_beta'))).toEqual(['/v3/orgs/org_beta'])
  expect(await lines("SELECT value::VARCHAR AS row FROM variables WHERE variable_key = 'shelf'")).toEqual(['"A 7"'])
  const missing = (table: string, key: string) =>
    lines(`SELECT DISTINCT ${key} AS row FROM ${table} WHERE _missing_since IS NOT NULL`)
  expect(await missing('organizations', 'organization_id')).toEqual(['org_beta'])
  expect(await missing('crawler_pages', 'page_id')).toEqual(job.pages.toSorted())
  for (const table of ['tools', 'variables']) expect(await missing(table, 'agent_id'), table).toEqual([other])
  // A provider that fails shows nothing about its voices.
  expect(await missing('voices', 'provider')).toEqual([])
  const failing = await simulated.rows<{ provider: string; last_error: string }>(
    'SELECT provider, last_error FROM voice_providers WHERE failed AND last_success_at IS NOT NULL ORDER BY 1',
  )
  expect(failing.map(({ provider }) => provider)).toEqual(['azure', 'elevenlabs', 'rime'])
  expect(failing[1]!.last_error).toBe('401 Unauthorized: invalid api key ***')

  expect(await planned()).toBe(0)

  conditions.set({ gone: [], failedProviders: [] })
  simulated.advance(DAY + HOUR)
  await sync()
  expect(await missing('tools', 'agent_id')).toEqual([])
  expect(await simulated.rows('FROM voice_providers WHERE failed')).toEqual([])
  expect(await lines('SELECT provider AS row FROM voice_providers WHERE last_error IS NOT NULL')).toHaveLength(3)
})
