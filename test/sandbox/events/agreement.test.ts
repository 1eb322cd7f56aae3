import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LIGHT_FIELDS } from '../../../src/sandbox/events/conversation-events.ts'
import type { Turn } from '../../../src/sandbox/events/transcript.ts'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import { createWorld, type World } from '../../../src/sandbox/world/world.ts'
import { rounds } from '../../tier.ts'
import { DAY, START_MS } from '../caller.ts'

type Fields = Record<string, unknown>

interface Update extends Fields {
  createdAt: number
  agentId: string
  convoId: string
  sessionId?: string
  lightConvoData: Fields
  turns: Turn[]
}

const options: Partial<SandboxOptions> = {
  startMs: START_MS,
  conversations: 200,
  historyDays: 8,
  arrivalsPerDay: 15,
  agents: 2,
  traffic: true,
}

function recordAt(world: World, { agentId, convoId }: Pick<Update, 'agentId' | 'convoId'>, nowMs: number): Fields {
  return JSON.parse(world.render(world.find(agentId, convoId, nowMs)!, nowMs)) as Fields
}

const light = (record: Fields): Fields => Object.fromEntries(LIGHT_FIELDS.map(name => [name, record[name] ?? null]))

const payloadsOf = (world: World, type: string, afterMs: number, untilMs: number) =>
  [...world.events(afterMs, untilMs)].filter(event => event.type === type).map(({ payload }) => payload)

const asSent = (value: unknown): Fields => JSON.parse(JSON.stringify(value)) as Fields

const updatesOf = (world: World, afterMs: number, untilMs: number) =>
  payloadsOf(world, 'conversation_updated', afterMs, untilMs) as Update[]

const world = createWorld({ ...options, seed: 11 })
const untilMs = START_MS + 5 * DAY
const updates = updatesOf(world, START_MS, untilMs)

describe('an event of a conversation', () => {
  it('has a part of the record as exported at that time, with that time as lastModified', () => {
    expect(updates.length).toBeGreaterThan(300)
    for (const update of updates) {
      const record = recordAt(world, update, update.createdAt)
      expect(update.lightConvoData).toEqual(light(record))
      expect(record.lastModified).toBe(update.createdAt)
    }
  })

  it('has as many turns as the record counts, in order, each in its session', () => {
    for (const { lightConvoData, turns, sessionId, createdAt } of updates) {
      expect(turns).toHaveLength(Number(lightConvoData.messagesNum))
      const times = turns.map(({ timestamp }) => timestamp)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      expect(times.at(-1)).toBeLessThanOrEqual(createdAt)
      expect(new Set(turns.map(turn => turn.sessionId)).size).toBe(lightConvoData.sessionsNum)
      if (sessionId !== undefined) expect(turns.at(-1)!.sessionId).toBe(sessionId)
      const users = turns.filter(({ role }) => role === 'user').length
      expect(lightConvoData.interactionsNum ?? users).toBe(users)
      const last = turns.filter(turn => turn.sessionId === turns.at(-1)!.sessionId)
      // Until a person has written, the record uses the end of the session as the time of its last message.
      if (last.length > 1) expect(times.at(-1)).toBe(lightConvoData.lastMessageTS)
    }
    expect(new Set(updates.flatMap(({ turns }) => turns.map(({ role }) => role)))).toEqual(
      new Set(['assistant', 'user', 'human_agent']),
    )
  })

  it('has each received message as in the next transcript', () => {
    const messages = payloadsOf(world, 'message_received', START_MS, untilMs - DAY) as (Update & {
      messageContent: string
    })[]
    expect(messages.length).toBeGreaterThan(200)
    for (const { convoId, createdAt, messageContent } of messages) {
      // The message is in the transcripts of later updates, once the conversation has been persisted.
      const turns = updates.filter(update => update.convoId === convoId).flatMap(update => update.turns)
      const written = turns.filter(({ role, timestamp }) => role === 'user' && timestamp === createdAt)
      expect(new Set(written.map(({ text }) => text))).toEqual(new Set([messageContent]))
    }
  })

  it('of an assignment names the person that the record names from then on', () => {
    const delegated = payloadsOf(world, 'chat_delegated', START_MS, untilMs) as Update[]
    expect(delegated.length).toBeGreaterThan(5)
    for (const event of delegated) {
      expect(recordAt(world, event, event.createdAt)).toMatchObject({
        chatAssignedTo: event.assignedToUserId,
        delegatedBy: event.delegatedByUserId,
        delegatedAt: event.createdAt,
      })
    }
  })

  it('of a form has the variables that the record has from then on', () => {
    const forms = payloadsOf(world, 'form_submitted', START_MS - 8 * DAY, untilMs) as Update[]
    expect(forms.length).toBeGreaterThan(3)
    for (const event of forms) {
      expect(recordAt(world, event, event.createdAt).capturedVariables).toMatchObject(asSent(event.formData))
    }
  })
})

describe('an agent', () => {
  it('is listed with the name and the time of its last event', () => {
    const changed = payloadsOf(world, 'agent_updated', START_MS - 20 * DAY, untilMs) as Update[]
    expect(changed.length).toBeGreaterThan(3)
    for (const { agentId, agentName, createdAt } of changed) {
      expect(world.agent(agentId, createdAt)).toMatchObject({ title: agentName, lastModified: createdAt })
      expect(world.agent(agentId, createdAt - 1)!.title).not.toBe(agentName)
    }
  })
})

describe('an export, and the events after it', () => {
  it.each<Partial<SandboxOptions>>([
    { ts: 'created' },
    { ts: 'activity', tsUnit: 'mixed' },
    { hostile: { 'wrong-types': 0.3, 'odd-id': 0.2, 'nul-text': 0.2, 'ts-missing': 0.2 } },
  ])('give the same fields as a later export: %j', given => {
    const moment = fc.integer({ min: 0, max: 6 * DAY })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), moment, moment, (seed, one, other) => {
        const some = createWorld({ ...options, seed, ...given, conversations: 60 })
        const [fromMs, toMs] = [START_MS + Math.min(one, other), START_MS + Math.max(one, other)]
        const held = new Map<string, Fields>()
        const all = (nowMs: number) => some.agentIds().flatMap(id => [...some.conversations(id, nowMs)])
        for (const { id, document } of all(fromMs)) held.set(id, document)
        const touched = new Set<string>()
        for (const { convoId, lightConvoData } of updatesOf(some, fromMs, toMs)) {
          held.set(convoId, { ...held.get(convoId), ...lightConvoData })
          touched.add(convoId)
        }
        for (const { id, document } of all(toMs)) {
          expect(light(held.get(id)!), id).toEqual(light(document))
          // Every change causes an event, even a change of fields that events do not contain: without one, nothing has changed.
          if (!touched.has(id)) expect(held.get(id)).toEqual(document)
        }
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 2, deep: 100 }) },
    )
  })
})
