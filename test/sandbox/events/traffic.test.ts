import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WorldEvent } from '../../../src/sandbox/events/event-types.ts'
import { EVENT_NAMES } from '../../../src/sandbox/events/event-types.ts'
import { createWorld } from '../../../src/sandbox/world/world.ts'
import { rounds } from '../../tier.ts'
import { DAY, START_MS } from '../caller.ts'
import { wrongOf } from './section-6-3.ts'

const options = { startMs: START_MS, conversations: 200, historyDays: 20, arrivalsPerDay: 20, seed: 5, traffic: true }
const world = createWorld(options)

const keysOf = (events: Iterable<WorldEvent>) =>
  [...events].map(({ type, createdMs, convoId }) => `${createdMs} ${type} ${convoId}`)

describe('the events of a time range', () => {
  it('are the same in every world of the seed, however the range is divided', () => {
    const all = keysOf(world.events(START_MS, START_MS + 6 * DAY))
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 6 * DAY - 1 }), { maxLength: 4 }), fc.boolean(), (cuts, back) => {
        const bounds = [0, ...cuts.toSorted((a, b) => a - b), 6 * DAY].map(ms => START_MS + ms)
        const pieces = bounds.slice(1).map((untilMs, place) => [bounds[place]!, untilMs] as const)
        const another = createWorld(options)
        const requested = back ? pieces.toReversed() : pieces
        const parts = requested.map(([afterMs, untilMs]) => keysOf(another.events(afterMs, untilMs)))
        expect((back ? parts.toReversed() : parts).flat()).toEqual(all)
      }),
      { numRuns: rounds('FAULT_RUNS', { usual: 4, deep: 100 }) },
    )
    expect(keysOf(createWorld({ ...options, seed: 6 }).events(START_MS, START_MS + 6 * DAY))).not.toEqual(all)
  })

  it('are in order, within the range, and without duplicates', () => {
    const events = [...world.events(START_MS, START_MS + 6 * DAY)]
    const times = events.map(({ createdMs }) => createdMs)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(Math.min(...times)).toBeGreaterThan(START_MS)
    expect(Math.max(...times)).toBeLessThanOrEqual(START_MS + 6 * DAY)
    expect(new Set(events.map(({ payload }) => JSON.stringify(payload))).size).toBe(events.length)
  })

  it('have every type within weeks, each with the documented fields and no others', () => {
    const events = [...world.events(START_MS - 8 * DAY, START_MS + 8 * DAY)]
    const types = new Set(events.map(({ type }) => type))
    const untimed = ['agent_created', 'agent_deleted', 'webhook_test']
    expect(EVENT_NAMES.filter(name => !types.has(name))).toEqual(untimed)
    const wrong = events.flatMap(({ type, payload }) => wrongOf(payload).map(what => `${type}: ${what}`))
    expect([...new Set(wrong)]).toEqual([])
    expect(
      events.every(({ payload, type, createdMs }) => payload.event === type && payload.createdAt === createdMs),
    ).toBe(true)
  })

  it('have only the types that the platform of their agent sends', () => {
    const many = createWorld({ ...options, agents: 8 })
    const events = [...many.events(START_MS, START_MS + 20 * DAY)].filter(({ agentId }) => agentId !== undefined)
    const platformOf = ({ agentId, createdMs }: WorldEvent) => many.agent(agentId!, createdMs)!.agentPlatform
    const typesOf = (platform: string) =>
      new Set(events.filter(event => platformOf(event) === platform).map(({ type }) => type))
    expect(typesOf('vf')).toEqual(new Set(['message_received', 'conversation_updated', 'agent_updated']))
    expect(typesOf('vg')).toEqual(
      new Set([...typesOf('vf'), 'lead_captured', 'form_submitted', 'chat_delegated', 'bug_reported']),
    )
  })

  it('are those of messages and sessions if there is no traffic', () => {
    const plain = createWorld({ ...options, traffic: false })
    const events = [...plain.events(START_MS, START_MS + 3 * DAY)]
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['message_received', 'conversation_updated']))
    expect(events.flatMap(({ payload }) => wrongOf(payload))).toEqual([])
  })

  it('name conversations as they are exported, and none without an ID', () => {
    const hostile = createWorld({ ...options, hostile: { 'no-id': 0.1, 'no-object': 0.1, 'odd-id': 0.3 } })
    const nowMs = START_MS + 3 * DAY
    const exported = new Set(
      hostile.agentIds().flatMap(id => [...hostile.conversations(id, nowMs)].map(({ id }) => id)),
    )
    const named = new Set([...hostile.events(START_MS, nowMs)].flatMap(({ convoId }) => convoId ?? []))
    expect(named.size).toBeGreaterThan(20)
    expect([...named].filter(id => !exported.has(id))).toEqual([])
  })
})
