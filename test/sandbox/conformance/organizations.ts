// Sections 4.13 to 4.16: organizations, their teams, and the search of agents.
import { expect } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { call } from '../caller.ts'
import { ask, resources } from '../endpoints/writer.ts'
import { each, expectRefused, isServed, SAYS_NOTHING, type Section } from './sentences.ts'

const anyText = expect.any(String)

/** An id of at least one character: without one there is no such address. */
async function needsId(sandbox: Sandbox, path: (id: string) => string): Promise<void> {
  expectRefused(await ask(sandbox, 'GET', path('')), 404)
  expectRefused(await ask(sandbox, 'GET', path('x')), 404)
  expect((await ask(sandbox, 'GET', path('org_alpha'))).status).toBe(200)
}

export const ORGANIZATION_READ: Section = {
  sentences: [
    ['is GET /v3/orgs/{orgId}', isServed('GET /v3/orgs/{orgId}')],
    ['the id has at least one character', async open => needsId(await open(), id => `/v3/orgs/${id}`)],
    [
      'the organization belongs to the workspace of the token',
      async open => {
        const sandbox = await open({ workspaceId: 'ws_mine' })
        const { organizations } = await resources(sandbox)
        for (const id of organizations) {
          const { body } = await ask(sandbox, 'GET', `/v3/orgs/${id}`)
          expect(body.data).toMatchObject({ ID: id, workspaceId: 'ws_mine' })
        }
        expectRefused(await ask(sandbox, 'GET', '/v3/orgs/org_of_others'), 404)
      },
    ],
    [
      'the answer has the organization as data',
      async open => {
        const { body } = await ask(await open(), 'GET', '/v3/orgs/org_alpha')
        expect(body).toEqual({ success: true, message: anyText, data: expect.any(Object) })
        const texts =
          'ID firebaseUid agencyId userId ownerID orgId workspaceId name email dashboardUsername type status'
        const lists =
          'widgets widgetIDs canAccess allowedChannels adminIDs supportIDs predefinedTags cannedResponses teams'
        const objects = 'notificationsSettings handoff internal settings onboardingState'
        const shapeOf = (names: string, shape: unknown) =>
          Object.fromEntries(names.split(' ').map(name => [name, shape]))
        expect(body.data).toMatchObject({
          ...shapeOf(texts, anyText),
          ...shapeOf(lists, expect.any(Array)),
          ...shapeOf(objects, expect.any(Object)),
        })
      },
    ],
  ],
}

interface Teams {
  teams: { ID: string }[]
  total?: number | string
  hasMore?: boolean | string
}

const teamsOf = async (sandbox: Sandbox, query = '') =>
  (await ask<Teams>(sandbox, 'GET', `/v3/orgs/org_alpha/teams${query}`)).body

export const TEAMS_LISTED: Section = {
  readings: [...each('team-page', ['1']), ...each('team-params', ['ignored', 'refused'])],
  sentences: [
    [
      'is GET /v3/orgs/{orgId}/teams, with an id of at least one character',
      async open => {
        await isServed('GET /v3/orgs/{orgId}/teams')(open)
        await needsId(await open(), id => `/v3/orgs/${id}/teams`)
      },
    ],
    [
      'the answer has the teams, their number, and whether there are more',
      async open => {
        const body = await teamsOf(await open())
        const more = expect.any(Boolean)
        const total = expect.any(Number)
        expect(body).toEqual({ success: true, message: anyText, teams: expect.any(Array), total, hasMore: more })
        for (const team of body.teams)
          expect(Object.keys(team).sort().join(' ')).toBe('ID description key label lastModified memberIds orgId ts')
      },
    ],
    [
      'the list is paged',
      async open => {
        const sandbox = await open()
        const first = await teamsOf(sandbox)
        expect([first.total, first.hasMore]).toEqual([2, first.teams.length < 2])
        // Parameters are not documented: a mode that reads them serves each team once.
        if (sandbox.readings['team-params'] !== 'read') return
        const pages = [await teamsOf(sandbox, '?limit=1&page=1'), await teamsOf(sandbox, '?limit=1&page=2')]
        expect(pages.map(({ hasMore }) => hasMore)).toEqual([true, false])
        expect(new Set(pages.flatMap(({ teams }) => teams.map(({ ID }) => ID))).size).toBe(2)
      },
    ],
    ['parameters of the paging', SAYS_NOTHING],
  ],
}

export const ORGANIZATION_DELETED: Section = {
  sentences: [
    ['is DELETE /v3/orgs/{orgId}', isServed('DELETE /v3/orgs/{orgId}')],
    [
      'the organization is deleted with its clients, and no other one',
      async open => {
        const sandbox = await open()
        await ask(sandbox, 'DELETE', '/v3/orgs/org_beta')
        for (const path of ['/v3/orgs/org_beta', '/v3/orgs/org_beta/teams'])
          expectRefused(await ask(sandbox, 'GET', path), 404)
        expect((await resources(sandbox)).organizations).not.toContain('org_beta')
        expect((await ask(sandbox, 'GET', '/v3/orgs/org_alpha')).status).toBe(200)
      },
    ],
    [
      'the answer has `success`, a message and the number of deleted clients',
      async open => {
        const { status, body } = await ask(await open(), 'DELETE', '/v3/orgs/org_beta')
        expect([status, body]).toEqual([200, { success: true, message: anyText, deletedClientsCount: 3 }])
      },
    ],
    [
      'it cannot be undone',
      async open => {
        const sandbox = await open()
        await ask(sandbox, 'DELETE', '/v3/orgs/org_beta')
        expectRefused(await ask(sandbox, 'DELETE', '/v3/orgs/org_beta'), 404)
        sandbox.clock.advance(30 * 86_400_000)
        expectRefused(await ask(sandbox, 'GET', '/v3/orgs/org_beta'), 404)
      },
    ],
  ],
}

export const AGENT_SEARCH: Section = {
  readings: [
    ...each('agent-page', ['3']),
    ...each('agent-params', ['ignored', 'refused']),
    ...each('agent-totals', ['neither', 'total']),
    ...each('starred', ['first-page', 'own-page', 'apart']),
  ],
  sentences: [
    ['is GET /v3/agents/search', isServed('GET /v3/agents/search')],
    [
      'the answer has lists of agents and of starred agents, which together are those of the workspace',
      async open => {
        const sandbox = await open({ agents: 3 })
        type Body = Record<'agents' | 'starredAgents', { ID: string; title: string; starred: boolean }[]>
        const body = (await (await call(sandbox, '/v3/agents/search')).json()) as Body
        const found = [...body.agents, ...body.starredAgents]
        expect([...new Set(found.map(({ ID }) => ID))].sort()).toEqual(sandbox.world.agentIds().toSorted())
        expect(body.starredAgents.length).toBeGreaterThan(0)
        for (const agent of body.starredAgents) expect(agent.starred).toBe(true)
        for (const agent of found) expect(agent).toMatchObject({ title: anyText, nodes: expect.any(Array) })
        // Nothing that the document does not show.
        if (sandbox.readings['agent-totals'] === 'neither')
          expect(Object.keys(body)).toEqual(['agents', 'starredAgents'])
      },
    ],
    ['parameters of the search', SAYS_NOTHING],
  ],
}
