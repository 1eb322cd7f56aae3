// A vendor that fails to answer for some resources, or answers with an incomplete list.
import { expect, it } from 'vitest'
import { openSource, withReleasers } from '../../src/app.ts'
import { DAY, HOUR } from '../../src/core/time.ts'
import { newCircuitBreaker } from '../../src/steps/dependencies.ts'
import { fetchResources } from '../../src/steps/listing/resources.ts'
import { warehouseFacts } from '../../src/steps/planning/facts.ts'
import { openServerClock } from '../../src/steps/server-clock.ts'
import { observingProxy, type Reaction } from '../workflows/simulated/observing-proxy.ts'
import type { SimulatedApp } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

type React = (path: string, url: URL) => Reaction

const kindOf = (path: string): string => (/^\/v3\/orgs\/[^/]+$/.test(path) ? 'organizations' : path.split('/').at(-1)!)

const only =
  (kind: string, reaction: Reaction): React =>
  path =>
    kindOf(path) === kind ? reaction : undefined

/** Requests what is due, as a sync does, but loads nothing, so that all of it stays due. @returns the code of the failure */
async function fetchDue({ app, config, clock }: SimulatedApp): Promise<string | null> {
  const workspace = config.workspaces[0]!
  const { signal } = new AbortController()
  const { source, close } = await withReleasers(async acquire => ({
    source: await openSource(acquire, { stores: app.stores, workspace, run: 'due', clock: clock.within, signal }),
  }))
  const fetching = {
    ...source,
    warehouse: app.warehouse,
    run: 'due',
    settings: workspace,
    facts: warehouseFacts(app.warehouse, workspace.id),
    pending: app.pending.get(workspace.id)!,
    clock: openServerClock(),
    breaker: newCircuitBreaker(),
    signal,
  }
  const failure = await clock.during(() => fetchResources(fetching)).finally(close)
  return failure?.code ?? null
}

/** Returns an app with five agents and four organizations. The vendor has two of them and answers as `react` says. */
async function appWith(react: { now: React }) {
  const paths = new Set<string>()
  const simulated = await simulatedApp({
    sandbox: { conversations: 0, agents: 5 },
    settings: {
      resources: ['organizations', 'teams', 'tools', 'voices'],
      organizations: ['org_alpha', 'org_beta', 'org_c', 'org_d'],
    },
    through: ({ url: upstream }) =>
      observingProxy(upstream, url => {
        paths.add(url.pathname)
        return react.now(url.pathname, url)
      }),
  })
  const counted = async <T>(work: Promise<T>) => {
    paths.clear()
    const result = await work
    const counts: Record<string, number> = { organizations: 0, teams: 0, tools: 0, voices: 0 }
    for (const path of paths) if (kindOf(path) in counts) counts[kindOf(path)]! += 1
    return { counts, result }
  }
  const nextDay = async () => {
    simulated.advance(DAY + HOUR)
    const { counts, result } = await counted(simulated.sync({ maxRequests: 0 }))
    expect(result.outcome).not.toBe('failed')
    return { counts, warnings: (result.warnings ?? []).join('\n') }
  }
  const missing = async (table: string) =>
    (await simulated.rows<{ id: string }>(`SELECT * FROM ${table} WHERE _missing_since IS NOT NULL`)).length
  return { simulated, counted, nextDay, missing }
}

const ALL = { organizations: 4, teams: 2, tools: 5, voices: 1 }
const NOTHING = { organizations: 1, teams: 0, tools: 1, voices: 0 }

const failing: React = path => (kindOf(path) === 'tools' ? 500 : undefined)

/** The reaction, the numbers of ids requested, and the failure that the sync names. */
const FAILING: [string, React, Partial<typeof ALL>, string | null][] = [
  ['500', failing, { tools: 3 }, 'API_UNAVAILABLE'],
  ['500 for one id', path => (path.includes('_01/') ? 500 : undefined), {}, null],
  ['another shape', only('tools', { status: 200, body: { data: 'none' } }), {}, 'API_PROTOCOL'],
  ['403 for ids that may be of others', only('organizations', 403), { teams: 0 }, 'API_FORBIDDEN'],
  ['429', only('organizations', 429), { organizations: 1, teams: 0, tools: 0, voices: 0 }, 'API_RATE_LIMITED'],
  ['no answer to anything', path => (kindOf(path) in ALL ? 'dropped' : undefined), NOTHING, 'API_UNAVAILABLE'],
  ['no answer', only('tools', 'dropped'), { tools: 1 }, 'API_UNAVAILABLE'],
  ['401', only('organizations', 401), { organizations: 1, teams: 0, tools: 0, voices: 0 }, 'API_UNAUTHORIZED'],
  ['a 404 that is not the vendor’s', only('tools', { status: 404, body: 'none' }), { tools: 3 }, 'API_PROTOCOL'],
  ['400', only('teams', 400), {}, null],
  ['403 for our own', only('tools', 403), { tools: 3 }, 'API_FORBIDDEN'],
]

it('a resource that fails is given up after three failures and asked again by the next sync, and keeps no other from being requested', async () => {
  const react: { now: React } = { now: () => undefined }
  const { simulated, counted, nextDay } = await appWith(react)
  expect(await nextDay()).toEqual({ counts: ALL, warnings: '' })
  simulated.advance(DAY + HOUR)
  for (const [name, reaction, expected, code] of FAILING) {
    react.now = reaction
    expect(await counted(fetchDue(simulated)), name).toEqual({ counts: { ...ALL, ...expected }, result: code })
  }
  react.now = failing
  const warning = expect.stringMatching(/some other resources .* could not be requested: API_UNAVAILABLE/)
  expect(await nextDay()).toEqual({ counts: { ...ALL, tools: 3 }, warnings: warning })
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
  const shortTools = only('tools', body => ({ ...without(body), total: body.data.length }))
  const shortVoices = only('voices', withoutOneOf('openai'))
  react.now = (path, url) => shortTools(path, url) ?? shortVoices(path, url)
  simulated.sandbox.conditions.set({ failedProviders: ['azure'] })
  await nextDay()
  expect([await missing('tools'), await missing('voices')]).toEqual([0, 1])
  const issues = "FROM _issues WHERE record = 'tool' AND path = '(listing)'"
  expect(await simulated.rows(issues)).toHaveLength(1)

  const completeTools = only('tools', body => ({ success: true, data: without(body).data }))
  simulated.sandbox.conditions.set({ failedProviders: [] })
  // A provider fails between two pages.
  react.now = (path, url) =>
    kindOf(path) === 'voices' && url.searchParams.get('offset') !== '0'
      ? (body: Voices) => ({ ...body, providersFailed: [{ provider: 'rime', error: 'timeout' }], voices: [] })
      : completeTools(path, url)
  await nextDay()
  expect([await missing('tools'), await missing('voices')]).toEqual([5, 1])

  const [first] = simulated.sandbox.world.agentIds()
  const notFound = { status: 404, body: { message: 'Agent not found', code: 'NOT_FOUND', issues: [] } }
  react.now = path => (path === `/v3/agents/${first}/tools` ? notFound : undefined)
  await nextDay()
  const [tools] = await simulated.rows(
    'SELECT count(*) > 0 AS some, count(DISTINCT agent_id)::INTEGER AS agents FROM tools WHERE _missing_since IS NOT NULL',
  )
  expect(tools).toEqual({ some: true, agents: 1 })
  expect(await missing('agents')).toBe(0)
})
