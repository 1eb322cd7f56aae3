// A vendor that fails to answer for some resources, or answers with an incomplete list.
import { expect, it } from 'vitest'
import { DAY, HOUR } from '../../src/core/time.ts'
import { isDeep } from '../tier.ts'
import { observingProxy, type Reaction } from '../workflows/simulated/observing-proxy.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

type React = (path: string, url: URL) => Reaction

const kindOf = (path: string): string => (/^\/v3\/orgs\/[^/]+$/.test(path) ? 'organizations' : path.split('/').at(-1)!)

const only =
  (kind: string, reaction: Reaction): React =>
  path =>
    kindOf(path) === kind ? reaction : undefined

/** Returns an app with five agents and four organizations. The vendor has two of them and answers as `react` says. */
async function appWith(react: { now: React }, settings = {}) {
  const paths = new Set<string>()
  const simulated = await simulatedApp({
    sandbox: { conversations: 0, agents: 5 },
    settings: {
      resources: ['organizations', 'teams', 'tools', 'voices'],
      organizations: ['org_alpha', 'org_beta', 'org_c', 'org_d'],
      ...settings,
    },
    through: ({ url: upstream }) =>
      observingProxy(upstream, url => {
        paths.add(url.pathname)
        return react.now(url.pathname, url)
      }),
  })
  const nextDay = async () => {
    simulated.advance(DAY + HOUR)
    paths.clear()
    const report = await simulated.sync({ maxRequests: 0 })
    expect(report.outcome).not.toBe('failed')
    const counts: Record<string, number> = { organizations: 0, teams: 0, tools: 0, voices: 0 }
    for (const path of paths) if (kindOf(path) in counts) counts[kindOf(path)]! += 1
    return { counts, warnings: (report.warnings ?? []).join('\n') }
  }
  const missing = async (table: string) =>
    (await simulated.rows<{ id: string }>(`SELECT * FROM ${table} WHERE _missing_since IS NOT NULL`)).length
  return { simulated, nextDay, missing }
}

const ALL = { organizations: 4, teams: 2, tools: 5, voices: 1 }

/** The reaction, the numbers of ids requested, and the failure that the sync names. The deep tier takes the last three too. */
const FAILING: [string, React, Partial<typeof ALL>, string | null][] = [
  ['500', only('tools', 500), { tools: 3 }, 'API_UNAVAILABLE'],
  ['500 for one id', path => (path.includes('_01/') ? 500 : undefined), {}, null],
  ['another shape', only('tools', { status: 200, body: { data: 'none' } }), {}, 'API_PROTOCOL'],
  ['403 for ids that may be of others', only('organizations', 403), { teams: 0 }, 'API_FORBIDDEN'],
  ['429', only('organizations', 429), { organizations: 1, teams: 0, tools: 0, voices: 0 }, 'API_RATE_LIMITED'],
  ['no answer', only('tools', 'dropped'), { tools: 1 }, 'API_UNAVAILABLE'],
  ['401', only('organizations', 401), { organizations: 1, teams: 0, tools: 0, voices: 0 }, 'API_UNAUTHORIZED'],
  ['a 404 that is not the vendor’s', only('tools', { status: 404, body: 'none' }), { tools: 3 }, 'API_PROTOCOL'],
  ['400', only('teams', 400), {}, null],
  ['403 for our own', only('tools', 403), { tools: 3 }, 'API_FORBIDDEN'],
]

it('a resource that fails is given up after three failures and asked again by the next sync, and keeps no other from being requested', async () => {
  const react: { now: React } = { now: () => undefined }
  const { simulated, nextDay } = await appWith(react)
  expect(await nextDay()).toEqual({ counts: { ...ALL, organizations: 4 }, warnings: '' })
  for (const [name, reaction, expected, code] of isDeep ? FAILING : FAILING.slice(0, 7)) {
    react.now = reaction
    const { counts, warnings } = await nextDay()
    expect(counts, name).toEqual({ ...ALL, ...expected })
    if (code === null) expect(warnings, name).not.toContain('other resources')
    else expect(warnings, name).toMatch(new RegExp(`some other resources .* could not be requested: ${code}`))
  }
  react.now = path => (kindOf(path) in ALL ? 'dropped' : undefined)
  const { counts } = await nextDay()
  expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(2)
  // A sync that requests nothing else has not succeeded.
  const [run] = await simulated.rows('SELECT requests::INTEGER AS n, success FROM _runs ORDER BY started_at DESC')
  expect(run).toEqual({ n: 0, success: false })
  react.now = () => undefined
  expect((await nextDay()).counts).toEqual(ALL)
})

interface Voices {
  voices: { provider: string }[]
  total: number
  providersFailed: object[]
}

const withoutOneOf = (provider: string) => (answer: Voices) => {
  const at = answer.voices.findIndex(voice => voice.provider === provider)
  return { ...answer, voices: answer.voices.toSpliced(at, at < 0 ? 0 : 1), total: answer.total - 1 }
}

it('an entry is marked as missing only if a complete list of all who were asked lacks it', async () => {
  const react: { now: React } = { now: () => undefined }
  const { simulated, nextDay, missing } = await appWith(react)
  await nextDay()
  const without = (answer: { data: unknown[] }) => ({ ...answer, data: answer.data.slice(1) })
  react.now = only('tools', body => ({ ...without(body), total: body.data.length }))
  await nextDay()
  expect(await missing('tools')).toBe(0)
  const issues = "FROM _issues WHERE record = 'tool' AND path = '(listing)'"
  expect(await simulated.rows(issues)).toHaveLength(1)
  react.now = only('tools', body => ({ success: true, data: without(body).data }))
  await nextDay()
  expect(await missing('tools')).toBe(5)

  const [first] = simulated.sandbox.world.agentIds()
  const notFound = { status: 404, body: { message: 'Agent not found', code: 'NOT_FOUND', issues: [] } }
  react.now = path => (path === `/v3/agents/${first}/tools` ? notFound : undefined)
  await nextDay()
  const [tools] = await simulated.rows(
    'SELECT count(*) > 0 AS some, count(DISTINCT agent_id)::INTEGER AS agents FROM tools WHERE _missing_since IS NOT NULL',
  )
  expect(tools).toEqual({ some: true, agents: 1 })
  expect(await missing('agents')).toBe(0)

  react.now = only('voices', withoutOneOf('openai'))
  simulated.sandbox.conditions.set({ failedProviders: ['azure'] })
  await nextDay()
  expect(await missing('voices')).toBe(1)
  simulated.sandbox.conditions.set({ failedProviders: [] })
  // A provider fails between two pages.
  react.now = (path, url) =>
    kindOf(path) === 'voices' && url.searchParams.get('offset') !== '0'
      ? (body: Voices) => ({ ...body, providersFailed: [{ provider: 'rime', error: 'timeout' }], voices: [] })
      : undefined
  await nextDay()
  expect(await missing('voices')).toBe(1)
})
