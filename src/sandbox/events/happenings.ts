// What happens in a conversation and is reported by an event (time and event type), and an index of conversations by hour.
//
// `conversation_updated` happens exactly when the record changes (`schedule.ts`, `story.ts`).

import { HOUR } from '../../core/time.ts'
import type { Channel, Life } from '../world/conversation/scene.ts'
import type { Placement } from '../world/placement.ts'
import { LONGEST_LIFETIME_MS, type Schedule } from '../world/schedule.ts'
import { type Exchange, storyMoments } from '../world/story.ts'
import type { EventName } from './event-types.ts'

export interface Happening {
  type: EventName
  ms: number
}

/** A contact's message: session and exchange, both from 0. */
export interface Written extends Happening {
  type: 'message_received'
  session: number
  exchange: number
}

const CHATS: readonly Channel[] = ['web-chat', 'whatsapp', 'instagram']

interface Sequence {
  life: Life
  channel: Channel
  /** The exchanges of each session. */
  exchanges: readonly Exchange[][]
}

/** In no particular order, except that a message or delegation comes before the change of the record that it causes. */
export function happeningsOf(conversation: Sequence): Happening[] {
  const changes = [...new Set(recordMoments(conversation.life))]
  return [...facts(conversation), ...changes.map(ms => ({ type: 'conversation_updated' as const, ms }))]
}

/** Every time at which the record changes. */
function recordMoments({ schedule, story }: Life): number[] {
  return [...scheduleMoments(schedule), ...(story ? storyMoments(story) : [])]
}

function scheduleMoments({ sessions, archivedMs }: Schedule): number[] {
  const moments = sessions.flatMap(({ startMs, endMs, resolvedMs }) => [startMs, endMs, resolvedMs])
  return [...moments, archivedMs].filter(ms => ms !== undefined)
}

function facts({ life: { story }, channel, exchanges }: Sequence): Happening[] {
  const written = CHATS.includes(channel) ? messages(exchanges) : []
  if (story === undefined) return written
  const delegated = story.courses.map(({ handoff }) => ({ type: 'chat_delegated' as const, ms: handoff?.acceptedMs }))
  const others = [
    { type: 'lead_captured' as const, ms: story.leadMs },
    { type: 'form_submitted' as const, ms: channel === 'web-chat' ? story.formMs : undefined },
    { type: 'bug_reported' as const, ms: story.bugMs },
  ]
  return [...written, ...[...delegated, ...others].flatMap(({ type, ms }) => (ms === undefined ? [] : [{ type, ms }]))]
}

function messages(exchanges: readonly Exchange[][]): Written[] {
  return exchanges.flatMap((ofSession, session) =>
    ofSession.map(({ askedMs }, exchange) => ({ type: 'message_received', ms: askedMs, session, exchange })),
  )
}

interface AgendaWorld {
  placement: Placement
  /** The index of every conversation is below this. */
  limit: number
  /** Calls `visit` for each time span in which something may happen to the conversation. */
  eachSpan(index: number, visit: (fromMs: number, untilMs: number) => void): void
}

/** Finds the conversations in which something may happen in an hour. Indexes only those that began at most `LONGEST_LIFETIME_MS` before. */
export class Agenda {
  private readonly world: AgendaWorld
  private readonly hours = new Map<number, number[]>()
  /** Conversations with an index from `from` up to, but not including, `until` have been entered into `hours`. */
  private from = 0
  private until = 0

  constructor(world: AgendaWorld) {
    this.world = world
  }

  /**
   * Indices of the conversations in which something may happen during that hour, without duplicates. `hour` counts hours since the
   * epoch.
   */
  inHour(hour: number): readonly number[] {
    this.cover(this.firstSince(hour * HOUR - LONGEST_LIFETIME_MS), this.firstSince((hour + 1) * HOUR))
    return this.hours.get(hour) ?? []
  }

  private cover(from: number, until: number): void {
    if (from > this.until || until < this.from) this.forget(from)
    for (let index = from; index < this.from; index++) this.enter(index)
    for (let index = this.until; index < until; index++) this.enter(index)
    this.from = Math.min(this.from, from)
    this.until = Math.max(this.until, until)
  }

  private forget(at: number): void {
    this.hours.clear()
    this.from = at
    this.until = at
  }

  private enter(index: number): void {
    this.world.eachSpan(index, (fromMs, untilMs) => {
      for (let hour = Math.floor(fromMs / HOUR); hour * HOUR <= untilMs; hour++) {
        const list = this.hours.get(hour)
        if (list === undefined) this.hours.set(hour, [index])
        // All spans of a conversation are entered one after the other, so a duplicate can only be the last element.
        else if (list.at(-1) !== index) list.push(index)
      }
    })
  }

  /** The first conversation that begins at or after that time, by bisection. */
  private firstSince(ms: number): number {
    let low = 0
    let high = this.world.limit
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.world.placement.createdMs(middle) < ms) low = middle + 1
      else high = middle
    }
    return low
  }
}
