import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WorldEvent } from '../../../src/sandbox/events/event-types.ts'
import { EventFaults } from '../../../src/sandbox/webhooks/event-faults.ts'
import {
  EVENT_FAULT_NAMES,
  type EventFaultName,
  type EventFaultSettings,
} from '../../../src/sandbox/webhooks/webhook-settings.ts'

const event = (number: number): WorldEvent => ({
  type: number % 2 === 0 ? 'message_received' : 'conversation_updated',
  createdMs: number,
  agentId: 'agent_1',
  convoId: `conversation ${number % 5}`,
  payload: {},
})

/** For each event, the names of the faults that apply to it. */
function faultsOf(settings: EventFaultSettings, events = 2_000): EventFaultName[][] {
  const faults = new EventFaults(settings)
  return Array.from({ length: events }, (_, number) =>
    Object.values(faults.planFor(event(number))).map(one => one.name),
  )
}

/** Numbers of the events, from 1, to which the fault applies. */
const hits = (settings: EventFaultSettings, name: EventFaultName, events?: number) =>
  faultsOf(settings, events).flatMap((names, place) => (names.includes(name) ? [place + 1] : []))

describe('event faults by rate', () => {
  it('hit about the configured share of events, the same ones for the same seed', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...EVENT_FAULT_NAMES),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 0, max: 2 ** 31 }),
        (name, rate, seed) => {
          const hit = hits({ seed, rates: { [name]: rate } }, name)
          expect(Math.abs(hit.length / 2_000 - rate)).toBeLessThan(0.06)
          expect(hits({ seed, rates: { [name]: rate } }, name)).toEqual(hit)
        },
      ),
      { numRuns: 30 },
    )
  })

  it('hit other events for another seed, and one rate does not change which events another hits', () => {
    const alone = hits({ rates: { delayed: 0.2 } }, 'delayed')
    expect(hits({ rates: { delayed: 0.2, duplicated: 0.3 } }, 'delayed')).toEqual(alone)
    expect(hits({ seed: 2, rates: { delayed: 0.2 } }, 'delayed')).not.toEqual(alone)
  })

  it('hit an event at most once per stage, and a dropped event only once', () => {
    const all = faultsOf({ rates: Object.fromEntries(EVENT_FAULT_NAMES.map(name => [name, 0.5])) })
    for (const names of all) {
      expect(names.filter(name => ['dropped', 'wrong-secret', 'oversized'].includes(name)).length).toBeLessThan(2)
      expect(names.filter(name => ['delayed', 'reordered'].includes(name)).length).toBeLessThan(2)
      if (names.includes('dropped')) expect(names).toEqual(['dropped'])
    }
    expect(all.some(names => names.length === 3)).toBe(true)
  })

  it('are counted together with the events', () => {
    const faults = new EventFaults({ rates: { dropped: 0.25 } })
    const dropped = Array.from({ length: 400 }, (_, number) => faults.planFor(event(number))).filter(
      fate => fate.content,
    )
    expect(faults.report()).toEqual({ events: 400, served: { dropped: dropped.length } })
  })
})

describe('event faults by script', () => {
  it.each<[EventFaultSettings['script'], number[]]>([
    [[{ fault: 'dropped', at: 3 }], [3]],
    [[{ fault: 'dropped', from: 4, to: 6 }], [4, 5, 6]],
    [[{ fault: 'dropped', every: 4, times: 2 }], [4, 8]],
    [[{ fault: 'dropped', type: 'message_received', to: 5 }], [1, 3, 5]],
    [[{ fault: 'dropped', convoId: 'conversation 2', to: 10 }], [3, 8]],
    [[{ fault: 'dropped', agentId: 'agent_2' }], []],
  ])('hit the events that they name: %j', (script, numbers) => {
    expect(hits({ script }, 'dropped', 12)).toEqual(numbers)
  })

  it('take precedence over the rates, each with its own parameter', () => {
    const faults = new EventFaults({
      rates: { delayed: { rate: 1, param: 7 } },
      script: [{ fault: 'reordered', at: 2, param: 9 }],
    })
    expect([faults.planFor(event(0)), faults.planFor(event(1)), faults.planFor(event(2))]).toEqual([
      { pace: { name: 'delayed', param: 7 } },
      { pace: { name: 'reordered', param: 9 } },
      { pace: { name: 'delayed', param: 7 } },
    ])
  })
})
