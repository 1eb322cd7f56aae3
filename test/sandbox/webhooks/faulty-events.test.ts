import { describe, expect, it } from 'vitest'
import type { EventFaultSettings } from '../../../src/sandbox/webhooks/webhook-settings.ts'
import { open, START_MS } from '../caller.ts'
import { control } from '../faults/fault-caller.ts'
import type { Received } from './receiver.ts'
import { openReceiver } from './receiver.ts'

const HOUR = 3_600_000
const SECRET = 'shared-between-the-two'

/** Opens a sandbox that sends its events one after another, with these faults. */
async function faulty(faults: EventFaultSettings) {
  const receiver = await openReceiver()
  const sandbox = await open({
    conversations: 120,
    historyDays: 4,
    arrivalsPerDay: 60,
    webhooks: { url: receiver.url, secret: SECRET, concurrency: 1, faults },
  })
  const pass = async (ms: number) => {
    sandbox.clock.advance(ms)
    await sandbox.webhooks.settled()
  }
  const truth = (untilMs: number) => [...sandbox.world.events(START_MS, untilMs)].map(({ payload }) => keyOf(payload))
  return { receiver, sandbox, pass, truth, log: sandbox.webhooks.log }
}

const keyOf = (event: Record<string, unknown> | Received) => JSON.stringify({ ...event, workspaceSecret: undefined })

describe('an event that is', () => {
  it('dropped never arrives, and is marked in the log', async () => {
    const { receiver, pass, truth, log } = await faulty({ rates: { dropped: 0.2 } })
    await pass(12 * HOUR)
    const dropped = log.list({ outcome: 'dropped' })
    expect(dropped.length).toBeGreaterThan(5)
    expect(dropped.every(({ attempts, faults }) => attempts.length === 0 && faults[0] === 'dropped')).toBe(true)
    const lost = new Set(dropped.map(({ payload }) => keyOf(payload)))
    expect(receiver.received.map(keyOf)).toEqual(truth(START_MS + 12 * HOUR).filter(key => !lost.has(key)))
  })

  it('duplicated arrives as many more times as its parameter says, unchanged', async () => {
    const { receiver, pass, truth, log } = await faulty({ rates: { duplicated: { rate: 0.2, param: 2 } } })
    await pass(12 * HOUR)
    const arrived = new Map<string, number>()
    for (const key of receiver.received.map(keyOf)) arrived.set(key, (arrived.get(key) ?? 0) + 1)
    const times = truth(START_MS + 12 * HOUR).map(key => arrived.get(key))
    expect(new Set(times)).toEqual(new Set([1, 3]))
    expect(log.list().map(({ attempts }) => attempts.length)).toEqual(times)
  })

  it('reordered arrives after as many later ones as its parameter says, and none is lost', async () => {
    const { receiver, pass, truth } = await faulty({ script: [{ fault: 'reordered', at: 5, param: 4 }] })
    await pass(12 * HOUR)
    const [arrived, created] = [receiver.received.map(keyOf), truth(START_MS + 12 * HOUR)]
    const moved = created[4]!
    expect(arrived.toSorted()).toEqual(created.toSorted())
    expect(arrived.filter(key => key !== moved)).toEqual(created.filter(key => key !== moved))
    const place = arrived.indexOf(moved)
    // The event waits for four others, but at most a minute, in which fewer than four may arrive.
    expect(place).toBeGreaterThan(4)
    expect(place).toBeLessThanOrEqual(8)
  })

  it('delayed arrives late by the sandbox’s clock, and is reported as waiting until then', async () => {
    const { receiver, pass, truth, log, sandbox } = await faulty({
      script: [{ fault: 'delayed', at: 3, param: 5 * HOUR }],
    })
    await pass(3 * HOUR)
    const late = truth(START_MS + 3 * HOUR)[2]!
    const dueMs = (JSON.parse(late) as Received).createdAt + 5 * HOUR
    expect(receiver.received.map(keyOf)).toEqual(truth(START_MS + 3 * HOUR).filter(key => key !== late))
    expect(log.list({ outcome: 'waiting' }).map(({ n }) => n)).toEqual([3])
    expect(sandbox.webhooks.report().waiting).toBe(1)
    await pass(12 * HOUR)
    const after = receiver.received.slice(receiver.received.findIndex(event => keyOf(event) === late) + 1)
    expect(after.every(({ createdAt }) => createdAt >= dueMs)).toBe(true)
    expect(receiver.received.map(keyOf).toSorted()).toEqual(truth(START_MS + 15 * HOUR).toSorted())
  })

  it('sent with a wrong secret has another than the workspace’s, and is marked in the log', async () => {
    const { receiver, pass, log } = await faulty({ rates: { 'wrong-secret': 0.2 } })
    await pass(12 * HOUR)
    const wrong = receiver.received.filter(({ workspaceSecret }) => workspaceSecret !== SECRET)
    expect(wrong.length).toBeGreaterThan(5)
    const marked = log.list().filter(({ faults }) => faults.includes('wrong-secret'))
    expect(marked.map(({ payload }) => keyOf(payload))).toEqual(wrong.map(keyOf))
  })

  it('oversized has the length of its parameter, and is valid JSON', async () => {
    const { receiver, pass, log } = await faulty({ script: [{ fault: 'oversized', at: 2, param: 300_000 }] })
    await pass(6 * HOUR)
    const sizes = receiver.requests.map(({ bytes }) => bytes)
    expect(sizes[1]).toBe(300_000)
    expect(sizes.filter(bytes => bytes > 100_000)).toHaveLength(1)
    expect(log.list()[1]).toMatchObject({ faults: ['oversized'], attempts: [{ bytes: 300_000, status: 200 }] })
  })
})

describe('event faults', () => {
  it('can be changed at run time, and are reported with how often each was applied', async () => {
    const { sandbox, receiver, pass } = await faulty({ rates: { dropped: 1 } })
    await pass(6 * HOUR)
    expect(receiver.received).toEqual([])
    const report = await control<{ events: number; served: object }>(sandbox, 'webhooks')
    expect(report.json.served).toEqual({ dropped: report.json.events })
    await control(sandbox, 'webhooks', { faults: {} })
    await pass(6 * HOUR)
    expect(receiver.received.length).toBe(sandbox.webhooks.report().events)
    expect(receiver.received.length).toBeGreaterThan(10)
  })
})
