import { describe, expect, it } from 'vitest'
import { findPeople, MOST_CONVERSATIONS, type Named } from '../../src/run/find-people.ts'
import { failureOf } from '../landing/landing-contract.ts'
import { AGENT, landConversations } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../warehouse/temporary-warehouse.ts'

const app = temporaryWarehouse()

async function workspaceWith(records: readonly Record<string, unknown>[]): Promise<Workspace> {
  const workspace = app.workspace()
  await workspace.load(await landConversations(workspace.landing, { records }))
  return workspace
}

const find = (
  workspaces: Workspace | readonly Workspace[],
  requests: readonly Named[],
  countries: readonly string[] = [],
) =>
  findPeople(app.warehouse.writer, {
    workspaceIds: [workspaces].flat().map(({ id }) => id),
    requests,
    countries,
  })

const idsOf = ({ conversations }: Awaited<ReturnType<typeof find>>): string[] =>
  conversations.map(({ id }) => id).sort()

describe('the conversations of a person', () => {
  it('are those of every spelling of the value, and of no other person', async () => {
    const workspace = await workspaceWith([
      { ID: 'a', userEmail: 'Jane@Example.org' },
      { ID: 'b', userEmail: 'Jane Doe <jane@example.org>' },
      { ID: 'c', userID: 'jane@example.org' },
      { ID: 'd', userEmail: 'jane.doe@example.org' },
      { ID: 'e', userEmail: 'jane@example.org.uk' },
      { ID: 'f', assignedTo: { email: 'jane@example.org' } },
    ])
    const found = await find(workspace, [{ email: ' JANE@example.org' }])
    expect(idsOf(found)).toEqual(['a', 'b', 'c'])
    expect(found.conversations[0]).toEqual({ workspaceId: workspace.id, agentId: AGENT, id: 'a' })
    expect(found.identifiers).toContain('email:jane@example.org')
    expect(found.shared).toEqual([])
  })

  it('are followed by the other identifiers of the same contact, across channels and workspaces', async () => {
    const first = await workspaceWith([
      { ID: 'a', userEmail: 'jane@example.org', userID: 'u-17' },
      { ID: 'b', userID: 'u-17', userPhone: '+49 170 1234567' },
      { ID: 'c', userID: '491701234567', contactIdentityId: 'ident-1' },
    ])
    const second = await workspaceWith([
      { ID: 'd', contactIdentityId: 'ident-1', userEmail: 'jd@example.com' },
      { ID: 'e', userEmail: 'john@example.org', userID: 'u-18' },
    ])
    const found = await find([first, second], [{ email: 'jane@example.org' }])
    expect(idsOf(found)).toEqual(['a', 'b', 'c', 'd'])
    expect([...found.identifiers].sort()).toEqual(
      expect.arrayContaining([
        'email:jane@example.org',
        'email:jd@example.com',
        'phone:+491701234567',
        'user:ident-1',
        'user:u-17',
      ]),
    )
    expect(idsOf(await find(first, [{ email: 'jane@example.org' }]))).toEqual(['a', 'b', 'c'])
  })

  it('are not followed by the numbers of calls, one of which is the line of the business', async () => {
    const line = '+49305550100'
    const workspace = await workspaceWith([
      { ID: 'a', userEmail: 'jane@example.org', ext: { callerPhoneNumber: '+491701234567', calleePhoneNumber: line } },
      { ID: 'b', userEmail: 'john@example.org', ext: { callerPhoneNumber: '+491707654321', calleePhoneNumber: line } },
    ])
    expect(idsOf(await find(workspace, [{ email: 'jane@example.org' }]))).toEqual(['a'])
    expect(idsOf(await find(workspace, [{ phone: '+49 170 7654321' }]))).toEqual(['b'])
  })

  it('are found by a number without its calling code only with the country', async () => {
    const workspace = await workspaceWith([
      { ID: 'a', userPhone: '0170 1234567' },
      { ID: 'b', userPhone: '+491701234567' },
    ])
    for (const phone of ['0170/1234567', '+49 170 1234567'])
      expect(idsOf(await find(workspace, [{ phone }], ['DE']))).toEqual(['a', 'b'])
    expect(idsOf(await find(workspace, [{ phone: '+49 170 1234567' }]))).toEqual(['b'])
    expect(await failureOf(find(workspace, [{ phone: '0170 1234567' }]))).toMatchObject({
      code: 'FORGET_REFUSED',
      hint: expect.stringContaining('--country'),
    })
  })

  it('may be none: a person without conversations is kept away all the same', async () => {
    const found = await find(await workspaceWith([{ ID: 'a' }]), [{ email: 'jane@example.org' }])
    expect(found).toMatchObject({ conversations: [], identifiers: ['email:jane@example.org'] })
  })
})

describe('a value', () => {
  const shared = Array.from({ length: MOST_CONVERSATIONS + 1 }, (_, index) => ({ ID: `s${index}`, userID: 'kiosk' }))

  it('of more than twenty conversations is refused, and not followed from those of a person', async () => {
    const workspace = await workspaceWith([...shared, { ID: 'a', userID: 'kiosk', userEmail: 'jane@example.org' }])
    const error = await failureOf(find(workspace, [{ user: 'kiosk' }]))
    expect(error).toMatchObject({ code: 'FORGET_REFUSED', message: expect.stringContaining('22 conversations') })
    const found = await find(workspace, [{ email: 'jane@example.org' }])
    expect([idsOf(found), found.shared, found.identifiers]).toEqual([['a'], ['user:kiosk'], ['email:jane@example.org']])
  })

  it('of twenty conversations is one of a person', async () => {
    const workspace = await workspaceWith(shared.slice(1))
    expect(idsOf(await find(workspace, [{ user: 'kiosk' }]))).toHaveLength(MOST_CONVERSATIONS)
  })

  it.each([
    { email: '' },
    { email: 'jane' },
    { email: 'test@example.org' },
    { phone: '110' },
    { phone: '0000000000' },
    { user: 'anonymous' },
    { user: ' ' },
    { conversation: AGENT },
    { conversation: `${AGENT}/nobody` },
  ])('that identifies nobody is refused: %j', async named => {
    const workspace = await workspaceWith([{ ID: 'a', userID: 'anonymous', userEmail: 'test@example.org' }])
    const all = [{ email: 'jane@example.org' }, named]
    expect(await failureOf(find(workspace, all))).toMatchObject({ code: 'FORGET_REFUSED' })
  })
})

describe('a conversation that is named itself', () => {
  it('stands alone: its contact is not followed', async () => {
    const workspace = await workspaceWith([
      { ID: 'a/1', userEmail: 'jane@example.org' },
      { ID: 'b', userEmail: 'jane@example.org' },
    ])
    const found = await find(workspace, [{ conversation: `${AGENT}/a/1` }])
    expect(found).toMatchObject({ identifiers: [], shared: [] })
    expect(found.conversations).toEqual([{ workspaceId: workspace.id, agentId: AGENT, id: 'a/1' }])
  })

  it('can stand beside a person, and beside a shared value that is refused alone', async () => {
    const workspace = await workspaceWith([{ ID: 'a', userEmail: 'jane@example.org' }, { ID: 'b' }, { ID: 'c' }])
    const requests = [{ email: 'jane@example.org' }, { conversation: `${AGENT}/b` }]
    expect(idsOf(await find(workspace, requests))).toEqual(['a', 'b'])
  })
})
