// Log of emitted events and their outcomes, to compare with what a receiver got.
import type { EventName, Payload, WorldEvent } from '../events/event-types.ts'

/**
 * `waiting`: delayed. `sending`: in flight. `delivered`: the event or a copy was answered with 200. `refused`: answered with
 * another status. `failed`: no answer in time. `dropped`: never sent.
 */
type EventOutcome = 'waiting' | 'sending' | 'delivered' | 'refused' | 'failed' | 'dropped'

interface Attempt {
  /** Time of sending, by the sandbox's clock. */
  atMs: number
  bytes: number
  /** 0 without an answer. */
  status: number
}

export interface EmittedEvent {
  /** Number from 1 since the start, by creation; includes events that were never sent. */
  n: number
  type: EventName
  createdMs: number
  agentId: string | undefined
  convoId: string | undefined
  faults: string[]
  outcome: EventOutcome
  attempts: Attempt[]
  /** The intended payload without the secret; built each time it is read. */
  readonly payload: Payload
}

interface EventFilter {
  /** Only events after that number. */
  since?: number | undefined
  type?: string | undefined
  convoId?: string | undefined
  outcome?: string | undefined
}

/** Above this the log drops its oldest tenth. */
const MAX_KEPT = 500_000

export class EventLog {
  private events: EmittedEvent[] = []
  private counted = 0

  get total(): number {
    return this.counted
  }

  add(event: WorldEvent, faults: string[]): EmittedEvent {
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

  /** Counts the events that the log still holds, by outcome. */
  outcomes(): Partial<Record<EventOutcome, number>> {
    const counts: Partial<Record<EventOutcome, number>> = {}
    for (const { outcome } of this.events) counts[outcome] = (counts[outcome] ?? 0) + 1
    return counts
  }
}
