import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { CANARY } from '../../../src/sandbox/world/agents/secret-bearing.ts'
import { organizationChanges } from '../../../src/sandbox/world/organizations.ts'
import { call, DAY, open, refusal, START_MS } from '../caller.ts'
import { openReceiver } from '../webhooks/receiver.ts'

/** The fields of section 2.7, in the document's order. */
const FIELDS = `
ID firebaseUid agencyId userId ownerID orgId workspaceId name email squarePhotoURL dashboardUsername dashboardPassword
magicCode usedSecret FB_PUSH_TOKEN widgets widgetIDs canAccess allowedChannels allowedIntegrations clientTabOrder
defaultClientAccess defaultClientTabOrder adminIDs supportIDs isAdmin isOrgAdmin canDelegateChats canSelfEdit allowCreateAgents
hideAdvancedSettings enableHumanHandoff isNewSignup type status index ts lastModified lastEmailSentTS lastInvitationTs
signupSource preferredLanguage stripeCustomerId dashboardLayout predefinedTags convoTags cannedResponses notificationsSettings
handoff internal settings teams onboardingState
`
  .trim()
  .split(/\s+/)

type OrganizationBody = { success: boolean; data: Record<string, unknown> }
type TeamsBody = { teams: Record<string, unknown>[]; total: number; hasMore: boolean }

const organization = async (sandbox: Sandbox, id: string) =>
  (await (await call(sandbox, `/v3/orgs/${encodeURIComponent(id)}`)).json()) as OrganizationBody

const teams = async (sandbox: Sandbox, id: string, query = '') =>
  (await (await call(sandbox, `/v3/orgs/${id}/teams?${query}`)).json()) as TeamsBody

const remove = (sandbox: Sandbox, id: string) =>
  call(sandbox, `/v3/orgs/${id}`, { method: 'DELETE', headers: { authorization: 'Bearer test-token' } })

/** An organization that is created after the start and deleted later. */
function temporaryOrganization(seed: number) {
  const changes = organizationChanges(seed, START_MS, START_MS + 40 * DAY)
  const { organization: found } = changes.find(
    ({ change, client, organization: { createdMs, deletedMs } }) =>
      change === 'updated' && !client && createdMs > START_MS && deletedMs !== undefined,
  )!
  return found
}

describe('an organization', () => {
  it('that conversations are handed to has every documented field, including its secrets', async () => {
    const { success, data } = await organization(await open(), 'org_alpha')
    expect(success).toBe(true)
    expect(data).toMatchObject({ ID: 'org_alpha', orgId: 'org_alpha', workspaceId: 'ws_demo', name: 'Alpha Service' })
    // Only the two optional fields may be absent.
    expect(FIELDS.filter(name => !(name in data)).filter(name => !/signupSource|stripeCustomerId/.test(name))).toEqual(
      [],
    )
    expect(Object.keys(data).filter(name => !FIELDS.includes(name))).toEqual([])
    for (const name of ['dashboardPassword', 'magicCode', 'usedSecret', 'FB_PUSH_TOKEN'])
      expect(data[name]).toContain(CANARY)
  })

  it('has its agents, its administrators, and the teams that the team endpoint lists', async () => {
    const sandbox = await open()
    const { data } = await organization(sandbox, 'org_alpha')
    expect(sandbox.world.agentIds()).toEqual(expect.arrayContaining(data.widgetIDs as string[]))
    expect(data.adminIDs).toHaveLength(1)
    expect(data.teams).toMatchObject((await teams(sandbox, 'org_alpha')).teams.map(({ ID, key }) => ({ ID, key })))
  })

  it('is created, renamed and deleted when events report it', async () => {
    const sandbox = await open({ seed: 4 })
    const { id, createdMs, updatedMs, deletedMs, name, newName } = temporaryOrganization(4)
    const at = async (ms: number) => {
      sandbox.clock.set(ms)
      return (await organization(sandbox, id)).data?.name
    }
    expect(await at(createdMs - 1)).toBeUndefined()
    expect([await at(createdMs), await at(updatedMs), await at(deletedMs! - 1)]).toEqual([name, newName, newName])
    expect(await at(deletedMs!)).toBeUndefined()
  })

  it.each(['/v3/orgs/org_nobody', '/v3/orgs/org_nobody/teams', '/v3/orgs/a%2Fb'])(
    'with an unknown id is not found: %s',
    async path => {
      const { status, body } = await refusal(await open(), path)
      expect({ status, code: body.code }).toEqual({ status: 404, code: 'NOT_FOUND' })
    },
  )

  it('is served only with the token, and only to the documented methods', async () => {
    const sandbox = await open()
    const authorized = { authorization: 'Bearer test-token' }
    for (const method of ['GET', 'DELETE'])
      expect((await refusal(sandbox, '/v3/orgs/org_alpha', { method, headers: {} })).status).toBe(401)
    const put = await refusal(sandbox, '/v3/orgs/org_alpha', { method: 'PUT', headers: authorized })
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, DELETE'])
    const removed = await refusal(sandbox, '/v3/orgs/org_alpha/teams', { method: 'DELETE', headers: authorized })
    expect([removed.status, removed.headers.get('allow')]).toEqual([405, 'GET'])
  })
})

describe('the teams of an organization', () => {
  it('are listed in pages, each once, with the ids and keys of handoffs', async () => {
    const sandbox = await open()
    const pages = [
      await teams(sandbox, 'org_alpha', 'limit=1&page=1'),
      await teams(sandbox, 'org_alpha', 'limit=1&page=2'),
      await teams(sandbox, 'org_alpha', 'limit=1&page=3'),
    ]
    expect(pages.map(page => page.teams.map(team => team.ID))).toEqual([['team_01'], ['team_02'], []])
    expect(pages.map(({ total, hasMore }) => [total, hasMore])).toEqual([
      [2, true],
      [2, false],
      [2, false],
    ])
    expect(pages[0]!.teams[0]).toMatchObject({ orgId: 'org_alpha', key: 'sales', label: 'Sales' })
    expect(pages[0]!.teams[0]!.memberIds).toEqual(expect.arrayContaining([expect.stringMatching(/^(user|client)_/)]))
  })

  it.each(['page=0', 'limit=101', 'limit=x'])('are refused for %s', async query => {
    expect(await refusal(await open(), `/v3/orgs/org_alpha/teams?${query}`)).toMatchObject({ status: 400 })
  })
})

describe('deleting an organization', () => {
  it('is reported by an event, its last one', async () => {
    const receiver = await openReceiver()
    const sandbox = await open({ seed: 4, conversations: 3, historyDays: 2, webhooks: { url: receiver.url } })
    const { id, name, createdMs, updatedMs } = temporaryOrganization(4)
    const half = Math.floor((createdMs + updatedMs) / 2)
    sandbox.clock.set(half)
    await sandbox.webhooks.settled()
    const own = () => receiver.received.filter(event => event.organisationId === id)
    const before = own().length
    await remove(sandbox, id)
    sandbox.clock.advance(40 * DAY)
    await sandbox.webhooks.settled()
    expect(own().slice(before)).toMatchObject([
      { event: 'organisation_deleted', organisationName: name, operation: 'deleted', createdAt: half },
    ])
  })
})

describe('a request for organizations', () => {
  it('is logged by its kind, and does not count against the rate limit', async () => {
    const sandbox = await open()
    await organization(sandbox, 'org_alpha')
    await teams(sandbox, 'org_alpha', 'page=1&limit=9&secret=x')
    const control = async (name: string) => (await (await call(sandbox, `/_sandbox/${name}`)).json()) as never
    expect(await control('requests')).toMatchObject({
      requests: [
        { kind: 'organization', organizationId: 'org_alpha', query: {}, status: 200, billed: 0 },
        { kind: 'teams', organizationId: 'org_alpha', query: { page: '1', limit: '9' }, status: 200 },
      ],
    })
    expect(await control('state')).toMatchObject({ hour: { remainingHour: 1_500 } })
  })

  it('gets faults by script, and by rate only with `search`', async () => {
    const sandbox = await open({
      faults: { rates: { html: 1 }, script: [{ kind: 'organization', at: 2, fault: '503' }] },
    })
    const statuses = [
      (await call(sandbox, '/v3/orgs/org_alpha')).status,
      (await call(sandbox, '/v3/orgs/org_alpha/teams')).status,
    ]
    expect(statuses).toEqual([200, 503])
    sandbox.faults.set({ rates: { html: 1 }, search: true })
    expect(await (await call(sandbox, '/v3/orgs/org_alpha')).text()).toContain('<html>')
  })
})
