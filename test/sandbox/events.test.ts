// Compares webhook events with the API document (section 6) and with what the export returns at the same time.
import { describe, expect, it } from 'vitest'
import { MINUTE, SECOND } from '../../src/core/time.ts'
import { LIGHT_FIELDS, type Turn } from '../../src/sandbox/events/conversation-events.ts'
import { EVENT_NAMES, type EventName } from '../../src/sandbox/events/event-types.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { createWorld, type World } from '../../src/sandbox/world/world.ts'
import { DAY, firstAgent, open, openReceiver, START_MS } from './caller.ts'
import { EVENTS } from './document.ts'

type Fields = Record<string, unknown>

interface Update extends Fields {
  createdAt: number
  agentId: string
  convoId: string
  lightConvoData: Fields
  turns: Turn[]
}

const options: Partial<SandboxOptions> = {
  ...{ startMs: START_MS, conversations: 200, historyDays: 8, arrivalsPerDay: 15, agents: 2, traffic: true, seed: 11 },
}
const untilMs = START_MS + 12 * DAY
const world = createWorld(options)

const payloads = (of: World, type: EventName, from = START_MS, until = untilMs) =>
  [...of.events(from, until)].filter(event => event.type === type).map(({ payload }) => payload) as Update[]

function recordAt(of: World, { agentId, convoId }: Pick<Update, 'agentId' | 'convoId'>, nowMs: number): Fields {
  return JSON.parse(of.render(of.find(agentId, convoId, nowMs)!, nowMs)) as Fields
}

const light = (record: Fields): Fields => Object.fromEntries(LIGHT_FIELDS.map(name => [name, record[name] ?? null]))

const asSent = (value: unknown): Fields => JSON.parse(JSON.stringify(value)) as Fields

const updates = payloads(world, 'conversation_updated', START_MS, START_MS + 5 * DAY)

describe('an event', () => {
  it('has the fields of its type, and every type occurs', () => {
    expect(EVENT_NAMES.toSorted()).toEqual(Object.keys(EVENTS).toSorted())
    const seen = new Set<string>()
    for (const { type, payload } of world.events(START_MS, START_MS + 8 * DAY)) {
      const { event, createdAt, ...fields } = JSON.parse(JSON.stringify(payload)) as Update
      expect([event, Number.isInteger(createdAt) && createdAt > 1e12]).toEqual([type, true])
      expect([type, EVENTS[type].safeParse(fields).error]).toEqual([type, undefined])
      seen.add(type)
    }
    // Agents are created and deleted only on demand.
    const missing = EVENT_NAMES.filter(name => !seen.has(name))
    expect(missing.toSorted()).toEqual(['agent_created', 'agent_deleted'])
  })

  it('of a conversation has a part of the record as exported then, and as many turns as the record counts', () => {
    expect(updates.length).toBeGreaterThan(300)
    for (const update of updates) {
      const record = recordAt(world, update, update.createdAt)
      const { lightConvoData, turns, createdAt } = update
      expect([lightConvoData, record.lastModified]).toEqual([light(record), createdAt])
      const times = turns.map(({ timestamp }) => timestamp)
      expect([turns.length, new Set(turns.map(turn => turn.sessionId)).size]).toEqual([
        record.messagesNum,
        record.sessionsNum,
      ])
      expect([times, times.at(-1)! <= createdAt]).toEqual([times.toSorted((a, b) => a - b), true])
    }
    const roles = new Set(updates.flatMap(({ turns }) => turns.map(({ role }) => role)))
    expect([...roles].sort()).toEqual(['assistant', 'human_agent', 'user'])
  })

  it('of a conversation has the agent answer within seconds, and from the acceptance of a handoff on, a person within minutes', () => {
    const latest = [...new Map(updates.map(update => [update.convoId, update])).values()]
    const waits = { first: [] as number[], assistant: [] as number[], human_agent: [] as number[] }
    for (const { turns, lightConvoData } of latest) {
      const { handoffHistory } = lightConvoData as { handoffHistory?: { acceptedAt: number | null }[] }
      const accepted = (handoffHistory ?? []).map(({ acceptedAt }) => acceptedAt ?? Number.POSITIVE_INFINITY)
      for (const [place, { role, timestamp }] of turns.entries()) {
        const before = turns[place - 1]
        if (role === 'user' || before?.role !== 'user') continue
        waits[role].push(timestamp - before.timestamp)
        if (place === 2) waits.first.push(timestamp - before.timestamp)
        if (role === 'human_agent' && handoffHistory) expect(Math.min(...accepted)).toBeLessThan(timestamp)
      }
    }
    const median = (of: number[]) => of.toSorted((a, b) => a - b)[of.length >>> 1]!
    expect(Math.min(waits.first.length, waits.human_agent.length)).toBeGreaterThan(30)
    expect(Math.min(...waits.first)).toBeGreaterThan(0)
    for (const agent of [waits.first, waits.assistant])
      expect([median(agent) > SECOND, Math.max(...agent) <= 20 * SECOND]).toEqual([true, true])
    expect(median(waits.human_agent)).toBeGreaterThan(10 * median(waits.assistant))
    expect(waits.human_agent.filter(ms => ms > MINUTE).length).toBeGreaterThan(waits.human_agent.length / 3)
  })

  it('of a message, an assignment or a form agrees with the transcript and the record from then on', () => {
    const texts = new Map<string, string>()
    for (const { convoId, turns } of updates)
      for (const { role, timestamp, text } of turns) if (role === 'user') texts.set(`${convoId} ${timestamp}`, text)
    const messages = payloads(world, 'message_received', START_MS, START_MS + 4 * DAY)
    expect(messages.length).toBeGreaterThan(200)
    for (const { convoId, createdAt, messageContent } of messages)
      expect(texts.get(`${convoId} ${createdAt}`)).toBe(messageContent)
    for (const event of payloads(world, 'chat_delegated'))
      expect(recordAt(world, event, event.createdAt)).toMatchObject({
        chatAssignedTo: event.assignedToUserId,
        delegatedBy: event.delegatedByUserId,
        delegatedAt: event.createdAt,
      })
    for (const event of payloads(world, 'form_submitted'))
      expect(recordAt(world, event, event.createdAt).capturedVariables).toMatchObject(asSent(event.formData))
    for (const { agentId, agentName, createdAt } of payloads(world, 'agent_updated'))
      expect(world.agent(agentId, createdAt)).toMatchObject({ title: agentName, lastModified: createdAt })
  })

  it.each<Partial<SandboxOptions>>([
    {},
    { ts: 'activity' },
    { hostile: { 'wrong-types': 0.3, 'odd-id': 0.2, 'odd-text': 0.2, 'ts-missing': 0.2 } },
  ])('follows an earlier export to the fields of a later one: %o', given => {
    const some = createWorld({ ...options, ...given, conversations: 60 })
    const [fromMs, toMs] = [START_MS + DAY, START_MS + 4 * DAY]
    const all = (nowMs: number) => some.agentIds().flatMap(id => [...some.conversations(id, nowMs)])
    const held = new Map<string, Fields>(all(fromMs).map(({ id, document }) => [id, document]))
    const touched = new Set<string>()
    for (const { convoId, lightConvoData } of payloads(some, 'conversation_updated', fromMs, toMs)) {
      held.set(convoId, { ...held.get(convoId), ...lightConvoData })
      touched.add(convoId)
    }
    for (const { id, document } of all(toMs)) {
      expect(light(held.get(id)!), id).toEqual(light(document))
      // Every change causes an event, even a change of fields that events do not contain: without one, nothing has changed.
      if (!touched.has(id)) expect(held.get(id)).toEqual(document)
    }
  })
})

const SECRET = 'shared-between-the-two'

async function opened() {
  const receiver = await openReceiver()
  const world = { conversations: 60, historyDays: 4, arrivalsPerDay: 12 }
  const sandbox = await open({ ...world, webhooks: { url: receiver.url, secret: SECRET } })
  /** Advances the clock, and resolves when that many events have been received. */
  const advance = async (ms: number, events: number) => {
    sandbox.clock.advance(ms)
    await expect.poll(() => receiver.received.length, { timeout: 300_000 }).toBe(events)
  }
  return { receiver, sandbox, advance }
}

describe('a delivery', () => {
  it('is one POST of JSON with the secret for each event of the world, and is not repeated if it is refused', async () => {
    const { receiver, sandbox, advance } = await opened()
    const truth = [...sandbox.world.events(START_MS, START_MS + 2 * DAY)]
    const first = truth.filter(({ createdMs }) => createdMs <= START_MS + DAY)
    expect(first.length).toBeGreaterThan(50)
    receiver.status = 503
    await advance(DAY, first.length)
    receiver.status = 200
    await advance(DAY, truth.length)
    const sent = truth.map(({ payload }) => JSON.stringify({ ...payload, workspaceSecret: SECRET }))
    expect(receiver.received.map(body => JSON.stringify(body)).toSorted()).toEqual(sent.toSorted())
    const kinds = new Set(receiver.requests.map(({ method, contentType }) => `${method} ${contentType}`))
    expect([...kinds]).toEqual(['POST application/json; charset=utf-8'])
  })

  it('is of an agent while it exists', async () => {
    const { receiver, sandbox, advance } = await opened()
    const agentId = firstAgent(sandbox)
    sandbox.conditions.set({ gone: [agentId] })
    const ofOthers = [...sandbox.world.events(START_MS, START_MS + 2 * DAY)].filter(event => event.agentId !== agentId)
    await advance(2 * DAY, ofOthers.length + 1)
    expect(receiver.received.filter(event => event.agentId === agentId)).toMatchObject([
      { event: 'agent_deleted', createdAt: START_MS, operation: 'deleted' },
    ])
  })

  it.each(['nowhere', 'ftp://127.0.0.1/'])('refuses the address %s', async url => {
    await expect(open({ webhooks: { url } })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})
