// What happens in the life of a conversation that somebody is told of: each with its time and its type of event.
//
// A conversation is told as updated exactly when its record changes (`schedule.ts`, `story.ts`), and at no other time.

import type { EventName } from '../../catalog/events.ts'
import type { Channel, Life } from '../document/scene.ts'
import type { Exchange } from '../exchanges.ts'
import type { Schedule } from '../schedule.ts'
import { storyMoments } from '../story.ts'

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
