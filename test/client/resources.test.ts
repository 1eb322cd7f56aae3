import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ORGANIZATIONS, TEAMS } from '../../src/catalog/resources/organizations.ts'
import { RESOURCES } from '../../src/catalog/resources/resources.ts'
import { readResourceEnvelope } from '../../src/client/envelopes.ts'
import { redactSecrets } from '../../src/client/redaction/redaction.ts'
import { writeExactly } from '../../src/json/exact-json.ts'
import { bytes, json } from './scripted-server.ts'
import { clientFor, failureOf } from './vendor-fixture.ts'

const NOT_FOUND = { message: 'Organization not found', code: 'NOT_FOUND', issues: [{ message: 'no such id' }] }

const ORGANIZATION = { resource: ORGANIZATIONS, workspaceId: 'w' }
const TEAMS_OF = { resource: TEAMS, workspaceId: 'w' }

const SECRETS = {
  dashboardPassword: 'canary-1',
  magicCode: 'canary-2',
  usedSecret: 'canary-3',
  FB_PUSH_TOKEN: 'canary-4',
  widgets: [{ id: 'w1', apiKey: 'canary-5' }],
}

describe('an organization', () => {
  it('is requested by its id, and returned without its secrets', async () => {
    const data = { ID: 'org/1 ü', name: 'Alpha', ...SECRETS }
    const { client, server } = await clientFor([json({ success: true, message: 'ok', data })], { path: '/base/v3' })
    const answer = await client.resource({ ...ORGANIZATION, ids: ['org/1 ü'] })
    expect(server.requests.map(({ url }) => url)).toEqual(['/base/v3/orgs/org%2F1%20%C3%BC'])
    const record = { ID: 'org/1 ü', name: 'Alpha', widgets: [{ id: 'w1' }] }
    expect(answer.envelope).toMatchObject({ ids: ['org/1 ü'], total: null, hasMore: null })
    expect(answer.parsed).toEqual({ success: true, message: 'ok', data: record })
    expect(answer.receipt.status).toBe(200)
    expect(answer.droppedPaths).toEqual([
      'data.dashboardPassword',
      'data.magicCode',
      'data.usedSecret',
      'data.FB_PUSH_TOKEN',
      'data.widgets[0].apiKey',
    ])
    expect(inspect(answer, { depth: null, showHidden: true })).not.toMatch(/canary/)
  })

  it('keeps numbers that a double cannot hold', async () => {
    const data = '{"ID":"org_1","widgets":[{"pageId":17841405822304915,"share":0.50}]}'
    const { client } = await clientFor([bytes(`{"success":true,"data":${data}}`, 'application/json')])
    const { parsed } = await client.resource({ ...ORGANIZATION, ids: ['org_1'] })
    expect(writeExactly(parsed)).toBe(`{"success":true,"data":${data}}`)
  })

  it('that does not exist is an answer, with the body of the vendor', async () => {
    const { client } = await clientFor([json({ ...NOT_FOUND, hintToken: 'canary' }, 404)])
    const answer = await client.resource({ ...ORGANIZATION, ids: ['gone'] })
    expect(answer).toMatchObject({ envelope: null, parsed: NOT_FOUND, receipt: { status: 404 } })
    expect(JSON.stringify(answer)).not.toMatch(/canary/)
    expect((await client.resource({ ...TEAMS_OF, ids: ['gone'] })).envelope).toBeNull()
  })

  it.each([
    ['a 404 of a proxy', bytes('<html>', 'text/html', 404), 'API_PROTOCOL'],
    ['a 404 of a gateway', json({ message: 'no Route matched' }, 404), 'API_PROTOCOL'],
    ['a 429', json({ message: 'slow down', code: 'TOO_MANY_REQUESTS' }, 429), 'API_RATE_LIMITED'],
    ['a 503', json({}, 503), 'API_UNAVAILABLE'],
    ['another shape', json({ data: [] }), 'API_PROTOCOL'],
    ['half a body', bytes('{"data":{"dashboardPassword":"canary', 'application/json'), 'API_NOT_JSON'],
  ])('is requested only once if the answer is %s', async (_, answer, code) => {
    const { client, server, waits } = await clientFor([answer])
    const error = await failureOf(client.resource({ ...ORGANIZATION, ids: ['org_1'] }))
    expect(error).toMatchObject({ code, exchange: undefined })
    expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(/canary/)
    expect([server.requests.length, waits]).toEqual([1, []])
  })
})

describe('the teams of an organization', () => {
  it('are requested page by page, and returned without secrets', async () => {
    const teams = [{ ID: 't1', label: 'Sales', inviteToken: 'canary' }]
    const { client, server } = await clientFor([json({ success: true, teams, total: 3, hasMore: true })])
    const answer = await client.resource({ ...TEAMS_OF, ids: ['org_1'], page: 2 })
    expect(server.requests[0]!.url).toBe('/v3/orgs/org_1/teams?page=2&limit=100')
    expect(answer.envelope).toMatchObject({ ids: ['t1'], besides: [], unidentified: 0, total: 3, hasMore: true })
    expect(answer.droppedPaths).toEqual(['teams[0].inviteToken'])
    expect(JSON.stringify(answer)).not.toMatch(/canary/)
  })
})

describe('an envelope', () => {
  it('of an organization needs a record, but no id in it', () => {
    const read = (parsed: unknown) => readResourceEnvelope(ORGANIZATIONS, parsed)
    expect(read({ data: { name: 'x' } }).ids).toEqual([])
    expect(read({ data: { ID: 7 } }).ids).toEqual(['7'])
    for (const parsed of [null, [], {}, { data: null }, { data: [] }])
      expect(() => read(parsed)).toThrow(expect.objectContaining({ code: 'API_PROTOCOL' }))
  })

  it('of teams needs a list, but no paging', () => {
    const read = readResourceEnvelope(TEAMS, { teams: [{ ID: 't1' }, { ID: 2 }, { ID: '' }, 'noise', {}] })
    expect(read).toMatchObject({ ids: ['t1', '2'], besides: [], unidentified: 3, total: null, hasMore: null })
    for (const parsed of [null, {}, { teams: {} }, { data: [] }])
      expect(() => readResourceEnvelope(TEAMS, parsed)).toThrow(expect.objectContaining({ code: 'API_PROTOCOL' }))
  })
})

/** Returns a record with `value` at a path: `a.b`, `list[].b`, `list[flag].b` (an element with `flag`), `[flag].b` (the record itself). */
function recordWith(path: string, value: string): unknown {
  const [name, rest] = /^([^.]+)(?:\.(.+))?$/.exec(path)!.slice(1) as [string, string | undefined]
  const [, key, flag] = /^([^[]*)(?:\[(.*)\])?$/.exec(name)!
  const inner = rest === undefined ? value : recordWith(rest, value)
  if (key === '') return { ...(inner as object), [flag!]: true }
  if (flag === undefined) return { [key!]: inner }
  return { [key!]: [{ ...(inner as object), ...(flag !== '' && { [flag]: true }) }] }
}

describe('the secrets that a resource declares', () => {
  const declared = RESOURCES.flatMap(({ stream, secrets = [] }) => secrets.map(secret => [stream, secret] as const))

  it.each(declared)('of %s are removed: %s', (_, secret) => {
    const { value, droppedPaths } = redactSecrets(recordWith(secret, 'canary value'))
    expect(JSON.stringify(value)).not.toContain('canary')
    expect(droppedPaths).toHaveLength(1)
  })
})
