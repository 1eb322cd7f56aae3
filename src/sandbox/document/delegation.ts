// To whom a conversation was handed last, where it has a story: several parts of the record tell of it.
import type { StaffMember } from '../staff.ts'
import { STAFF } from '../staff.ts'
import type { Scene } from './scene.ts'

export interface Delegation {
  ms: number
  to: StaffMember
  /** Who gave it to them. */
  by: StaffMember
}

export function delegationOf({ story, asOfMs, index }: Scene): Delegation | undefined {
  const handoff = story?.courses.findLast(
    ({ handoff }) => (handoff?.acceptedMs ?? Number.POSITIVE_INFINITY) <= asOfMs,
  )?.handoff
  if (handoff === undefined) return undefined
  return { ms: handoff.acceptedMs!, to: handoff.acceptedBy!, by: STAFF[index % STAFF.length]! }
}

/** What becomes of `state` while a person is asked for, or has taken over. */
export function handoffState({ story, sessions, asOfMs }: Scene): 'requested_chat' | 'human-chatting' | undefined {
  const open = sessions.at(-1)!.endMs === undefined
  const handoff = open ? story?.courses[sessions.length - 1]?.handoff : undefined
  if (handoff === undefined || handoff.requestedMs > asOfMs) return undefined
  return (handoff.acceptedMs ?? Number.POSITIVE_INFINITY) <= asOfMs ? 'human-chatting' : 'requested_chat'
}
