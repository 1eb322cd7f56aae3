// The type of an event is given by its name in any of four fields or, without a name, by fields that are typical of the type.
import { describe, expect, it } from 'vitest'
import { EVENT_TYPES, eventTypeOf, type Mark, UNKNOWN_EVENT } from '../../src/catalog/events/event-types.ts'

/** Names of the types in section 6.3 of the API document. */
const NAMES = `agent_created agent_updated agent_deleted message_received conversation_updated organisation_created
  organisation_updated organisation_deleted client_created client_updated client_deleted lead_captured form_submitted
  chat_delegated bug_reported webhook_test`.split(/\s+/)

const filled = (keys: readonly string[]) => Object.fromEntries(keys.map(key => [key, 'x']))
const showing = ({ has = [], operation }: Mark) => ({ ...filled(has), ...(operation && { operation }) })

/** Returns an event as section 6.3 describes it, with every field set. */
const fullEvent = (name: string) => {
  const type = EVENT_TYPES.find(one => one.name === name)!
  const operation = type.marks.flatMap(mark => mark.operation ?? []).at(0) ?? 'updated'
  return { createdAt: 1, ...filled(Object.keys(type.fields)), ...(type.fields.operation && { operation }) }
}

describe('the type of an event', () => {
  it('is one of section 6.3', () => expect(EVENT_TYPES.map(({ name }) => name)).toEqual(NAMES))

  it.each(['event', 'eventType', 'type', 'name'])('is read from `%s`', field => {
    for (const name of NAMES) expect(eventTypeOf({ createdAt: 1, [field]: name })).toBe(name)
  })

  it('is read from the first of these fields with a known name', () => {
    expect(eventTypeOf({ event: 'toString', eventType: 7, type: 'client_created', name: 'webhook_test' })).toBe(
      'client_created',
    )
    expect(eventTypeOf({ event: 'bug_reported', turns: [] })).toBe('bug_reported')
  })

  it.each(NAMES)('is recognised by the fields of %s alone', name => {
    expect(eventTypeOf(fullEvent(name))).toBe(name)
    for (const mark of EVENT_TYPES.find(one => one.name === name)!.marks)
      expect([mark, eventTypeOf(showing(mark))]).toEqual([mark, name])
  })

  it.each([
    ['nothing', {}],
    ['fields of two types', { turns: [], bugDescription: 'x' }],
    ['an unknown name', { event: 'agent_sneezed', agentId: 'a' }],
    ['empty fields', { turns: null, leadName: undefined }],
    ['inherited fields', Object.create({ event: 'webhook_test' }) as Record<string, unknown>],
  ])('is unknown given %s', (_what, payload) => expect(eventTypeOf(payload)).toBe(UNKNOWN_EVENT))
})
