import { describe, expect, it, vi } from 'vitest'
import type { EmittedEvent } from '../../../src/sandbox/webhooks/event-log.ts'
import type { WebhookSettings } from '../../../src/sandbox/webhooks/webhook-settings.ts'
import { DAY, firstAgent, open, START_MS } from '../caller.ts'
import { control } from '../faults/fault-caller.ts'
import { openReceiver } from './receiver.ts'

const HOUR = 3_600_000
const SECRET = 'shared-between-the-two'

/** A sandbox with some traffic and a stopped clock, whose events go to a receiver. */
async function opened(webhooks: WebhookSettings = {}) {
  const receiver = await openReceiver()
  const sandbox = await open({
    conversations: 60,
    historyDays: 4,
    arrivalsPerDay: 12,
    webhooks: { url: receiver.url, secret: SECRET, ...webhooks },
  })
  return { receiver, sandbox }
}

const keyOf = ({ type, createdMs, convoId }: Pick<EmittedEvent, 'type' | 'createdMs' | 'convoId'>) =>
  `${createdMs} ${type} ${convoId}`

describe('a sandbox with a webhook address', () => {
  it('posts each event once, as JSON with the secret, and logs it', async () => {
    const { receiver, sandbox } = await opened()
    await sandbox.webhooks.settled()
    expect(receiver.received).toEqual([])
    sandbox.clock.advance(DAY)
    await sandbox.webhooks.settled()
    const truth = [...sandbox.world.events(START_MS, START_MS + DAY)]
    expect(truth.length).toBeGreaterThan(50)
    const sent = truth.map(({ payload }) => JSON.stringify({ ...payload, workspaceSecret: SECRET }))
    expect(receiver.received.map(body => JSON.stringify(body)).toSorted()).toEqual(sent.toSorted())
    expect(new Set(receiver.requests.map(({ method, contentType }) => `${method} ${contentType}`))).toEqual(
      new Set(['POST application/json; charset=utf-8']),
    )
    const log = sandbox.webhooks.log.list()
    expect(log.map(keyOf)).toEqual(truth.map(keyOf))
    expect(log.map(({ n }) => n)).toEqual(log.map((_, place) => place + 1))
    expect(log.every(({ outcome, attempts }) => outcome === 'delivered' && attempts.length === 1)).toBe(true)
    expect(log[0]!.payload).toEqual(truth[0]!.payload)
    await sandbox.webhooks.settled()
    expect(receiver.received).toHaveLength(truth.length)
  })

  it('sends events by its own clock', async () => {
    const { receiver, sandbox } = await opened()
    sandbox.clock.setSpeed(DAY / 100)
    await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThan(10), 20_000)
    sandbox.clock.setSpeed(0)
    await sandbox.webhooks.settled()
    expect(receiver.received).toHaveLength([...sandbox.world.events(START_MS, sandbox.clock.now())].length)
  })

  it('has at most `concurrency` requests in flight', async () => {
    const { receiver, sandbox } = await opened({ concurrency: 3 })
    sandbox.clock.advance(DAY)
    await sandbox.webhooks.settled()
    expect(receiver.most).toBeLessThanOrEqual(3)
    expect(receiver.received.length).toBeGreaterThan(50)
  })

  it('never resends events that were refused or not answered in time', async () => {
    const { receiver, sandbox } = await opened()
    receiver.status = 503
    sandbox.clock.advance(2 * HOUR)
    await sandbox.webhooks.settled()
    const refused = sandbox.webhooks.log.total
    receiver.status = undefined
    sandbox.webhooks.set({ timeoutMs: 50 })
    sandbox.clock.advance(6 * HOUR)
    await sandbox.webhooks.settled()
    const failed = sandbox.webhooks.log.total - refused
    expect([refused > 0, failed > 0]).toEqual([true, true])
    expect(sandbox.webhooks.report().outcomes).toEqual({ refused, failed })
    const attempts = sandbox.webhooks.log.list().map(event => event.attempts.map(({ status }) => status))
    expect(attempts).toEqual([...Array(refused).fill([503]), ...Array(failed).fill([0])])
    receiver.status = 200
    sandbox.webhooks.set({ timeoutMs: 60_000 })
    await sandbox.webhooks.settled()
    expect(sandbox.webhooks.log.total).toBe(refused + failed)
  })

  it('logs failures if nothing listens, and continues', async () => {
    const { sandbox, receiver } = await opened({ url: 'http://127.0.0.1:9/' })
    sandbox.clock.advance(6 * HOUR)
    await sandbox.webhooks.settled()
    expect(Object.keys(sandbox.webhooks.report().outcomes)).toEqual(['failed'])
    sandbox.webhooks.set({ url: receiver.url })
    sandbox.clock.advance(6 * HOUR)
    await sandbox.webhooks.settled()
    expect(sandbox.webhooks.report().outcomes.delivered).toBe(receiver.received.length)
  })

  it('never sends events of a time without an address', async () => {
    const { sandbox, receiver } = await opened()
    sandbox.webhooks.set({ url: null })
    sandbox.clock.advance(DAY)
    await sandbox.webhooks.settled()
    sandbox.webhooks.set({ url: receiver.url })
    sandbox.clock.advance(DAY)
    await sandbox.webhooks.settled()
    expect(receiver.received.length).toBeGreaterThan(30)
    expect(Math.min(...receiver.received.map(({ createdAt }) => createdAt))).toBeGreaterThan(START_MS + DAY)
  })

  it('sends only the subscribed types', async () => {
    const { sandbox, receiver } = await opened({ types: ['conversation_updated', 'chat_delegated'] })
    sandbox.clock.advance(2 * DAY)
    await sandbox.webhooks.settled()
    expect(new Set(receiver.received.map(({ event }) => event))).toEqual(
      new Set(['conversation_updated', 'chat_delegated']),
    )
    expect(sandbox.webhooks.log.total).toBe(receiver.received.length)
  })

  it('reports that an agent is deleted and created again, and nothing of it in between', async () => {
    const { sandbox, receiver } = await opened()
    const agentId = firstAgent(sandbox)
    sandbox.conditions.set({ gone: [1] })
    sandbox.clock.advance(DAY)
    await sandbox.webhooks.settled()
    const ofAgent = () => receiver.received.filter(event => event.agentId === agentId)
    expect(ofAgent()).toEqual([
      {
        event: 'agent_deleted',
        createdAt: START_MS,
        agentId,
        agentName: sandbox.world.agent(agentId, START_MS)!.title,
        agentPlatform: 'vg',
        operation: 'deleted',
        workspaceSecret: SECRET,
      },
    ])
    expect(receiver.received.length).toBeGreaterThan(10)
    sandbox.conditions.set({ gone: [] })
    sandbox.clock.advance(DAY)
    await sandbox.webhooks.settled()
    expect(ofAgent()[1]).toMatchObject({ event: 'agent_created', operation: 'created', createdAt: START_MS + DAY })
    expect(ofAgent().length).toBeGreaterThan(20)
  })

  it('has traffic unless it is turned off', async () => {
    const { sandbox, receiver } = await opened()
    sandbox.clock.advance(2 * DAY)
    await sandbox.webhooks.settled()
    expect(receiver.received.some(({ event }) => event === 'chat_delegated')).toBe(true)
    const plain = await open({ conversations: 10, webhooks: { url: receiver.url }, traffic: false })
    const facts = [...plain.world.events(START_MS - 9 * DAY, START_MS + 9 * DAY)].map(({ type }) => type)
    expect(new Set(facts)).toEqual(new Set(['message_received', 'conversation_updated']))
  })
})

describe('the control endpoints', () => {
  it('set the address, send a test, and list the sent events', async () => {
    const receiver = await openReceiver()
    const sandbox = await open({ traffic: true, arrivalsPerDay: 30 })
    const set = await control<object>(sandbox, 'webhooks', { url: receiver.url, secret: SECRET, test: true })
    expect(set).toMatchObject({ status: 200, json: { settings: { url: receiver.url, types: null } } })
    await sandbox.webhooks.settled()
    expect(receiver.received).toEqual([
      { event: 'webhook_test', createdAt: START_MS, message: expect.any(String), workspaceSecret: SECRET },
    ])
    sandbox.clock.advance(DAY)
    await sandbox.webhooks.settled()
    const { json } = await control<{ total: number; events: Record<string, unknown>[] }>(sandbox, 'events?since=1')
    expect(json.total).toBe(receiver.received.length)
    expect(json.events).toHaveLength(json.total - 1)
    expect(json.events[0]).toEqual({
      n: 2,
      type: expect.any(String),
      createdMs: expect.any(Number),
      agentId: expect.any(String),
      convoId: expect.any(String),
      faults: [],
      outcome: 'delivered',
      attempts: [{ atMs: START_MS + DAY, bytes: expect.any(Number), status: 200 }],
    })
    const messages = await control<{ events: EmittedEvent[] }>(sandbox, 'events?type=message_received&payload=true')
    expect(messages.json.events.every(({ payload }) => payload.event === 'message_received')).toBe(true)
    const { convoId } = messages.json.events[0]!
    const ofOne = await control<{ events: EmittedEvent[] }>(sandbox, `events?convoId=${convoId}&outcome=delivered`)
    expect(new Set(ofOne.json.events.map(event => event.convoId))).toEqual(new Set([convoId]))
  })

  it('never show the secret', async () => {
    const { sandbox } = await opened()
    sandbox.clock.advance(HOUR)
    await sandbox.webhooks.settled()
    for (const name of ['state', 'webhooks', 'events?payload=true']) {
      expect(JSON.stringify((await control(sandbox, name)).json)).not.toContain(SECRET)
    }
  })

  it.each([
    { url: 'nowhere' },
    { url: 'ftp://127.0.0.1/' },
    { secret: '' },
    { types: ['everything'] },
    { concurrency: 0 },
    { faults: { rates: { lost: 0.5 } } },
    { faults: { rates: { dropped: { rate: 0.5, param: 3 } } } },
    { faults: { script: [{ at: 1 }] } },
    { faults: { script: [{ fault: 'oversized', param: 1 }] } },
    { retries: 3 },
  ])('refuse %j', async setting => {
    const sandbox = await open({ conversations: 5 })
    expect((await control(sandbox, 'webhooks', setting)).status).toBe(400)
    await expect(open({ webhooks: setting as WebhookSettings })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})
