// What was sent, and what became of it: the truth for those who look at what arrived.
import type { EventName, Payload, WorldEvent } from '../events/event-types.ts'
import type { EventFaultName } from './webhook-settings.ts'

/**
 * `waiting`: late or behind others. `sending`: under way. `delivered`: it was answered with 200, or a copy of it was.
 * `refused`: answered with another status. `failed`: no answer came in time. `dropped`: never sent.
 */
type EventOutcome = 'waiting' | 'sending' | 'delivered' | 'refused' | 'failed' | 'dropped'

interface Attempt {
  /** Sandbox's time at which it went out. */
  atMs: number
  bytes: number
  /** 0 until an answer comes. */
  status: number
}

export interface EmittedEvent {
  /** Counted from 1 since the start, in the order of creation; those that never went out are counted too. */
  n: number
  type: EventName
  createdMs: number
  agentId: string | undefined
  convoId: string | undefined
  faults: EventFaultName[]
  outcome: EventOutcome
  attempts: Attempt[]
  /** As it was meant, without the secret; made whenever it is read. */
  readonly payload: Payload
}

interface EventFilter {
  /** Events after that number. */
  since?: number | undefined
  type?: string | undefined
  convoId?: string | undefined
  outcome?: string | undefined
}

/** Beyond this the oldest are forgotten, a tenth at a time. */
const MAX_KEPT = 500_000

export class EventLog {
  private events: EmittedEvent[] = []
  private counted = 0

  get total(): number {
    return this.counted
  }

  add(event: WorldEvent, faults: EventFaultName[]): EmittedEvent {
    if (this.events.length >= MAX_KEPT) this.events = this.events.slice(MAX_KEPT / 10)
    const { type, createdMs, agentId, convoId } = event
    const entry: EmittedEvent = {
      n: ++this.counted,
      type,
      createdMs,
      agentId,
      convoId,
      faults,
      outcome: 'waiting',
      attempts: [],
      get payload() {
        return event.payload
      },
    }
    this.events.push(entry)
    return entry
  }

  list({ since = 0, type, convoId, outcome }: EventFilter = {}): EmittedEvent[] {
    return this.events.filter(
      event =>
        event.n > since &&
        (type === undefined || event.type === type) &&
        (convoId === undefined || event.convoId === convoId) &&
        (outcome === undefined || event.outcome === outcome),
    )
  }

  /** How many came to what, of those that are kept. */
  outcomes(): Partial<Record<EventOutcome, number>> {
    const counts: Partial<Record<EventOutcome, number>> = {}
    for (const { outcome } of this.events) counts[outcome] = (counts[outcome] ?? 0) + 1
    return counts
  }
}
