// What happens in the life of a conversation that somebody is told of: each with its time and its type of event.
//
// A conversation is told as updated exactly when its record changes (`schedule.ts`, `story.ts`), and at no other time.

import { HOUR } from '../../core/time.ts'
import type { Channel, Life } from '../world/conversation/scene.ts'
import type { Placement } from '../world/placement.ts'
import { LONGEST_TALE_MS, type Schedule } from '../world/schedule.ts'
import { type Exchange, storyMoments } from '../world/story.ts'
import type { EventName } from './event-types.ts'

export interface Happening {
  type: EventName
  ms: number
}

/** A contact's message: in which session, and in which exchange of it, both from 0. */
export interface Written extends Happening {
  type: 'message_received'
  session: number
  exchange: number
}

const CHATS: readonly Channel[] = ['web-chat', 'whatsapp', 'instagram']

interface Told {
  life: Life
  channel: Channel
  /** Of each session. */
  exchanges: readonly Exchange[][]
}

/** In no order, but that what leads to a change of the record stands before it. */
export function happeningsOf(told: Told): Happening[] {
  const changes = [...new Set(recordMoments(told.life))]
  return [...facts(told), ...changes.map(ms => ({ type: 'conversation_updated' as const, ms }))]
}

/** Every time at which the record changes. */
function recordMoments({ schedule, story }: Life): number[] {
  return [...scheduleMoments(schedule), ...(story ? storyMoments(story) : [])]
}

function scheduleMoments({ sessions, archivedMs }: Schedule): number[] {
  const moments = sessions.flatMap(({ startMs, endMs, resolvedMs }) => [startMs, endMs, resolvedMs])
  return [...moments, archivedMs].filter(ms => ms !== undefined)
}

function facts({ life: { story }, channel, exchanges }: Told): Happening[] {
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

// Which conversations have something to tell in an hour. Found by when they began: nothing happens to one longer than
// `LONGEST_TALE_MS` after that, so an hour asks for those alone, each of which is looked at once.

interface AgendaWorld {
  placement: Placement
  /** Indices are below this. */
  limit: number
  /** Calls back for all times between which something may happen to the conversation. */
  eachSpan(index: number, see: (fromMs: number, untilMs: number) => void): void
}

export class Agenda {
  private readonly world: AgendaWorld
  private readonly hours = new Map<number, number[]>()
  /** Indices that have been looked at: from the first up to the second. */
  private from = 0
  private until = 0

  constructor(world: AgendaWorld) {
    this.world = world
  }

  /** Conversations to which something may happen in the hour of that number since the epoch; each once. */
  inHour(hour: number): readonly number[] {
    this.lookAt(this.firstSince(hour * HOUR - LONGEST_TALE_MS), this.firstSince((hour + 1) * HOUR))
    return this.hours.get(hour) ?? []
  }

  private lookAt(from: number, until: number): void {
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
        // Each is entered in one go: where it is in the list already, it is the last.
        else if (list.at(-1) !== index) list.push(index)
      }
    })
  }

  /** The first conversation that begins then or later, by bisection. */
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
