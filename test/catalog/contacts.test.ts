import { describe, expect, it } from 'vitest'
import { CONTACT_COLUMNS, isForgotten } from '../../src/catalog/contacts.ts'
import { tablesOf } from '../../src/catalog/ddl.ts'
import { layoutOf } from '../../src/catalog/layout.ts'
import { RECORD_TYPES } from '../../src/catalog/records.ts'
import { forgottenAs } from '../../src/landing/tombstones.ts'

const JANE = forgottenAs({
  identifiers: ['email:jane@example.org', 'phone:+491701234567', 'user:u-17'],
  conversations: [{ workspaceId: 'ws', agentId: 'a1', id: 'c1' }],
  countries: ['DE'],
})

const isJane = (
  record: unknown,
  about: { workspaceId: string; agentId: string | null } = { workspaceId: 'ws', agentId: 'a1' },
) => isForgotten(JANE, about, record)

describe('a record or an event', () => {
  it.each([
    { userEmail: 'Jane@Example.ORG ' },
    { userPhone: '0170 1234567' },
    { userID: 'u-17' },
    { userID: '+49 170 1234567' },
    { contactIdentityId: 'u-17' },
    { ext: { callerPhoneNumber: '00491701234567' } },
    { ext: { calleePhoneNumber: '+491701234567' } },
    { vapi: { callerPhoneNumber: '+491701234567' } },
    { vapi: { calleePhoneNumber: '+491701234567' } },
    { leadEmail: 'jane@example.org' },
    { leadPhone: '+491701234567' },
    { customerEmail: 'jane@example.org' },
    { customerPhone: 491701234567 },
    { clientEmail: 'jane@example.org' },
    { from: '491701234567' },
    { lightConvoData: { userEmail: 'jane@example.org' } },
  ])('is about a forgotten contact by %j', record => {
    expect(isJane({ ID: 'c2', ...record })).toBe(true)
    expect(isJane({ convoId: 'c2', ...record })).toBe(true)
  })

  it('is about a forgotten conversation by its id, of its own workspace and agent alone', () => {
    expect(isJane({ ID: 'c1' })).toBe(true)
    expect(isJane({ convoId: 'c1' })).toBe(true)
    expect(isJane({ lightConvoData: { ID: 'c1' } })).toBe(true)
    // An event may lack the agent's id.
    expect(isJane({ convoId: 'c1' }, { workspaceId: 'ws', agentId: null })).toBe(true)
    expect(isJane({ ID: 'c1' }, { workspaceId: 'ws', agentId: 'a2' })).toBe(false)
    expect(isJane({ ID: 'c1' }, { workspaceId: 'ws2', agentId: 'a1' })).toBe(false)
  })

  it('is about nobody who only serves, is assigned, or is mentioned in it', () => {
    for (const record of [
      { assignees: [{ email: 'jane@example.org', userID: 'u-17' }], assignedTo: 'jane@example.org' },
      { handoffs: [{ agentEmail: 'jane@example.org' }], resolvedBy: 'u-17', ownerEmail: 'jane@example.org' },
      { turns: [{ role: 'user', text: 'ask jane@example.org' }], messageContent: 'jane@example.org' },
      { userEmail: 'john@example.org', variables: { email: 'jane@example.org' } },
      { ext: { email: 'jane@example.org' }, senderEmail: 'jane@example.org' },
      { ID: 'c2', userEmail: null, ext: 'u-17' },
    ])
      expect(isJane(record), JSON.stringify(record)).toBe(false)
    for (const value of [null, 'jane@example.org', ['jane@example.org'], 17]) expect(isJane(value)).toBe(false)
  })
})

it('the columns of contacts exist, and none of them is of staff', () => {
  const columns = new Map(
    RECORD_TYPES.flatMap(record =>
      tablesOf(layoutOf(record)).map(({ name, columns }) => [name, columns.map(column => column.name)] as const),
    ),
  )
  for (const [table, named] of Object.entries(CONTACT_COLUMNS))
    for (const column of Object.keys(named)) {
      expect(columns.get(table), table).toContain(column)
      expect(column).not.toMatch(/assign|staff|agent_email|member|owner/)
    }
})
