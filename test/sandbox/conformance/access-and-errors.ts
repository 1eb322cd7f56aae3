// The introduction of section 4, section 5 (authentication) and section 7 (errors).
import { expect } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { call, exportable, exportPage, exportPath, firstAgent } from '../caller.ts'
import { addressOf, BODIES, DOCUMENTED } from '../endpoints/documented.ts'
import { ask, resources } from '../endpoints/writer.ts'
import { openReceiver } from '../webhooks/receiver.ts'
import { each, envelopeOf, SAYS_NOTHING, type Section } from './sentences.ts'

const AUTHORIZED = { authorization: 'Bearer test-token' }

interface Refused {
  request: string
  status: number
  type: string | null
  body: string
}

async function refusalOf(sandbox: Sandbox, method: string, path: string, init: RequestInit = {}): Promise<Refused> {
  const response = await call(sandbox, path, { method, headers: AUTHORIZED, ...init })
  const type = response.headers.get('content-type')
  return { request: `${method} ${path}`, status: response.status, type, body: await response.text() }
}

const bodyOf = (endpoint: string): { body?: string } =>
  endpoint in BODIES ? { body: JSON.stringify(BODIES[endpoint]) } : {}

const MISSING_IDS: Record<string, string> = {
  agentId: 'nobody',
  metricId: 'met_none',
  jobId: 'job_none',
  pageId: 'page_none',
  orgId: 'org_none',
}

/** Requests of an endpoint that fail, with the status that each must have. */
async function* failures(sandbox: Sandbox, endpoint: string): AsyncGenerator<readonly [Refused, number]> {
  const [method, path] = endpoint.split(' ') as [string, string]
  const address = await addressOf(sandbox, path)
  const sent = bodyOf(endpoint)
  for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: 'Basic test-token' }])
    yield [await refusalOf(sandbox, method, address, { ...sent, headers }), 401]
  yield [await refusalOf(sandbox, 'OPTIONS', address), 405]
  yield [await refusalOf(sandbox, method, `${address}/more`, sent), 404]
  for (const [, name] of path.matchAll(/\{(\w+)\}/g)) {
    // Another workspace than that of the token is a 403 by our reading; any other id, the last in the address, is not found.
    const id = MISSING_IDS[name!]
    const missing = await addressOf(sandbox, path.replace(`{${name}}`, id ?? 'ws_other'))
    yield [await refusalOf(sandbox, method, missing, sent), id ? 404 : 403]
  }
  if (sandbox.readings['unknown-params'] === 'refused')
    yield [await refusalOf(sandbox, method, `${address}?colour=red`, sent), 400]
  if (sent.body === undefined) return
  for (const wrong of ['', '{', '[]', '{}', '{"tool":1,"variable":1,"updates":1,"metric":1}'])
    yield [await refusalOf(sandbox, method, address, { body: wrong }), 400]
  yield [await refusalOf(sandbox, method, address, { body: 'a'.repeat(1_048_577) }), 413]
}

const WRONG_QUERIES = [
  '/v3/agents/{agentId}/audit-log?limit=x',
  '/v3/agents/{agentId}/convos/export?limit=x',
  '/v3/agents/{agentId}/convos/export?cursor=x',
  '/v3/agents/{agentId}/convos/export?convoIds=,',
  '/v3/voices?limit=x',
  '/v3/voices?gender=x',
]

/** Checks the envelope, which the readings `error` and `not-found` exist to break. */
function expectEnvelope(sandbox: Sandbox, { request, status, type, body }: Refused): void {
  const { readings } = sandbox
  if ((status === 404 ? readings['not-found'] : readings.error) !== 'envelope') return
  expect([request, type]).toEqual([request, 'application/json; charset=utf-8'])
  const sent = JSON.parse(body) as { issues: object[] }
  expect([request, sent]).toEqual([request, envelopeOf()])
  for (const issue of sent.issues) expect(issue).toEqual({ message: expect.any(String) })
}

const needsBearer = async (sandbox: Sandbox): Promise<void> => {
  for (const endpoint of DOCUMENTED)
    for await (const [refused, status] of failures(sandbox, endpoint)) {
      expect([refused.request, refused.status]).toEqual([refused.request, status])
      if (status === 401) continue
      break
    }
}

export const ENDPOINTS: Section = {
  sentences: [
    ['every endpoint needs the bearer header', async open => needsBearer(await open())],
    [
      'errors have the bodies of section 7',
      async open => {
        const sandbox = await open()
        const refused = await refusalOf(sandbox, 'GET', '/v3/orgs/org_none')
        expect(refused.status).toBe(404)
        expectEnvelope(sandbox, refused)
      },
    ],
  ],
}

export const AUTHENTICATION: Section = {
  sentences: [
    [
      'every endpoint takes the token of the workspace as a bearer',
      async open => {
        const sandbox = await open({ token: 'secret-key' })
        const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
        for (const endpoint of DOCUMENTED.toSorted((a, b) => Number(/^DEL/.test(a)) - Number(/^DEL/.test(b)))) {
          const [method, path] = endpoint.split(' ') as [string, string]
          const status = async (token: string) =>
            (await call(sandbox, await addressOf(sandbox, path), { method, ...bodyOf(endpoint), ...bearer(token) }))
              .status
          for (const wrong of ['secret-ke', 'secret-key2', 'test-token'])
            expect([path, await status(wrong)]).toEqual([path, 401])
          expect([path, await status('secret-key')]).toEqual([path, 200])
        }
      },
    ],
    [
      'the caller is the owner of the workspace: organizations and exports are those of the workspace',
      async open => {
        const [mine, others] = [await open({ workspaceId: 'ws_mine', seed: 2 }), await open({ seed: 3 })]
        const { organizations } = await resources(mine)
        for (const id of organizations) {
          const { body } = await ask(mine, 'GET', `/v3/orgs/${id}`)
          expect(body.data).toMatchObject({ workspaceId: 'ws_mine' })
        }
        const [foreign] = others.world.agentIds()
        const { id } = exportable(others, foreign!)[0]!
        const own = await exportPage(mine, firstAgent(mine), { convoIds: id, limit: 1 })
        expect(own.data.map(({ ID }) => ID)).not.toContain(id)
        expect((await ask(mine, 'PATCH', '/v3/workspaces/ws_demo', { updates: {} })).status).toBe(403)
      },
    ],
    [
      'events carry the secret of the workspace',
      async open => {
        const receiver = await openReceiver()
        const sandbox = await open({ webhooks: { url: receiver.url, secret: 'whsec' }, traffic: false })
        await ask(sandbox, 'POST', `/v3/agents/${firstAgent(sandbox)}/tools`, {
          tool: { name: 'a', description: 'b' },
        })
        sandbox.webhooks.set({ test: true })
        await sandbox.webhooks.settled()
        expect(receiver.received.length).toBeGreaterThanOrEqual(2)
        for (const event of receiver.received) expect(event.workspaceSecret).toBe('whsec')
      },
    ],
    ['how tokens are issued and rotated', SAYS_NOTHING],
  ],
}

const agentPath = (sandbox: Sandbox, rest: string) => `/v3/agents/${firstAgent(sandbox)}/${rest}`

const statusOf = async (sandbox: Sandbox, method: string, path: string, body?: object): Promise<number> =>
  (await refusalOf(sandbox, method, path, body && { body: JSON.stringify(body) })).status

export const ERRORS: Section = {
  readings: [...each('error', ['nested', 'text', 'empty']), ...each('not-found', ['page', 'empty'])],
  sentences: [
    [
      'every error of every endpoint has a message, a code and issues with messages',
      async open => {
        const sandbox = await open({ conversations: 3 })
        const seen = new Set<number>()
        for (const endpoint of DOCUMENTED)
          for await (const [refused, status] of failures(sandbox, endpoint)) {
            expect([refused.request, refused.body, refused.status]).toEqual([refused.request, refused.body, status])
            expectEnvelope(sandbox, refused)
            seen.add(status)
          }
        for (const query of WRONG_QUERIES) {
          const refused = await refusalOf(sandbox, 'GET', query.replace('{agentId}', firstAgent(sandbox)))
          expect([query, refused.status]).toEqual([query, 400])
          expectEnvelope(sandbox, refused)
        }
        expect([...seen].sort()).toEqual([400, 401, 403, 404, 405, 413])
        const limited = await open({ conversations: 3, hourlyRequests: 1 })
        await call(limited, exportPath(firstAgent(limited)))
        for (const [other, status] of [
          [limited, 429],
          [await open({ paid: false }), Number(sandbox.readings.unpaid)],
        ] as const) {
          const refused = await refusalOf(other, 'GET', exportPath(firstAgent(other)))
          expect(refused.status).toBe(status)
          expectEnvelope(other, refused)
        }
      },
    ],
    [
      'a key of a variable that exists is a 400',
      async open => {
        const sandbox = await open()
        const variable = { variable: { key: 'order_number' } }
        expect(await statusOf(sandbox, 'POST', agentPath(sandbox, 'variables'), variable)).toBe(400)
      },
    ],
    [
      'a new key of a metric that exists is a 400',
      async open => {
        const sandbox = await open()
        const metric = { metric: { key: 'effort' } }
        expect(await statusOf(sandbox, 'PUT', agentPath(sandbox, 'custom-metrics/met_quote'), metric)).toBe(400)
      },
    ],
    [
      'a metric that does not exist is a 404',
      async open => {
        const sandbox = await open()
        const path = agentPath(sandbox, 'custom-metrics/met_none')
        expect(await statusOf(sandbox, 'GET', path)).toBe(404)
        expect(await statusOf(sandbox, 'PUT', path, { metric: {} })).toBe(404)
      },
    ],
    [
      'more exports than an hour allows are a 429',
      async open => {
        const sandbox = await open({ hourlyRequests: 2 })
        const path = exportPath(firstAgent(sandbox))
        const statuses = []
        for (let request = 0; request < 4; request++) statuses.push((await call(sandbox, path)).status)
        expect(statuses).toEqual([200, 200, 429, 429])
        expect((await call(sandbox, '/v3/agents/search')).status).toBe(200)
      },
    ],
    [
      'an update of a system metric is rejected',
      async open => {
        const sandbox = await open()
        const path = agentPath(sandbox, 'custom-metrics/met_solved')
        const expected = sandbox.readings['system-metric'] === '400' ? 400 : 403
        expect(await statusOf(sandbox, 'PUT', path, { metric: { key: 'a' } })).toBe(expected)
      },
      each('system-metric', ['400']),
    ],
    [
      'an export by a workspace that has never paid is refused',
      async open => {
        const sandbox = await open({ paid: false })
        const path = exportPath(firstAgent(sandbox))
        expect(await statusOf(sandbox, 'GET', path)).toBe(Number(sandbox.readings.unpaid))
        expect((await call(sandbox, '/v3/agents/search')).status).toBe(200)
      },
      each('unpaid', ['401', '402']),
    ],
    ['the set of codes', SAYS_NOTHING],
  ],
}
