// Payloads of conversation events (section 6.3), with the conversation's state at the time of the event.

import { environment } from '../world/conversation/contact.ts'
import { formAnswers } from '../world/conversation/findings.ts'
import { delegationOf } from '../world/conversation/handling.ts'
import { prose, sentence } from '../world/conversation/locales.ts'
import type { Channel, Scene } from '../world/conversation/scene.ts'
import { Draw, PURPOSE } from '../world/random.ts'
import { STAFF } from '../world/staff.ts'
import { type Life, momentsOf } from '../world/story.ts'
import { EVENT_NAMES, type EventName, type Payload } from './event-types.ts'

/** A conversation at the time of an event. */
interface Situation {
  happening: Happening
  scene: Scene
  convoId: string
  agentId: string
  agentName: string
  region: unknown
  /** Renders the record as exported. */
  record(): Readonly<Record<string, unknown>>
}

/** Type-specific fields of a payload, for each type of conversation event. */
const FIELDS: Partial<Record<EventName, (situation: Situation) => Payload>> = {
  message_received: messageReceived,
  conversation_updated: conversationUpdated,
  lead_captured: leadCaptured,
  form_submitted: formSubmitted,
  chat_delegated: chatDelegated,
  bug_reported: bugReported,
}

/** Returns all fields of the payload except those common to all events; `lead_captured` has no `convoId`. */
export function conversationPayload(situation: Situation): Payload {
  const { happening, convoId, agentId, agentName } = situation
  const name = drawOf(situation).made(0.9, () => agentName) ?? undefined
  return {
    agentId,
    agentName: name,
    ...(happening.type !== 'lead_captured' && { convoId }),
    ...FIELDS[happening.type]!(situation),
  }
}

/** Returns random draws that are equal for all events of one conversation and type. */
const drawOf = ({ scene, happening }: Situation): Draw =>
  new Draw(scene.seed, scene.index, PURPOSE.event + EVENT_NAMES.indexOf(happening.type))

const textOr = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise)

const optional = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const fullName = ({ firstName, lastName }: Scene): string => `${firstName} ${lastName}`

function messageReceived({ scene, happening }: Situation): Payload {
  return {
    messageContent: messageText(scene, happening.at!),
    channel: scene.channel === 'web-chat' ? 'webchat' : scene.channel,
    messageType: scene.channel === 'whatsapp' ? 'text' : undefined,
    from: environment(scene).userID,
  }
}

function conversationUpdated(situation: Situation): Payload {
  const { scene, region } = situation
  const turns = turnsOf(scene)
  const draw = drawOf(situation)
  return {
    sessionId: draw.made(0.9, () => scene.sessions.at(-1)!.id) ?? undefined,
    channel: draw.made(0.9, () => scene.channel) ?? undefined,
    region: optional(region),
    lightConvoData: lightOf(situation.record()),
    turns,
    messagesHistory: draw.chance(0.4) ? modelMessages(turns) : undefined,
    operation: 'updated',
  }
}

function leadCaptured({ scene, record }: Situation): Payload {
  const { userName, userEmail, userPhone } = record()
  return {
    leadName: textOr(userName, fullName(scene)),
    leadEmail: optional(userEmail),
    leadPhone: optional(userPhone),
    channel: scene.channel,
    operation: 'captured',
  }
}

function formSubmitted(situation: Situation): Payload {
  const { scene } = situation
  return {
    formType: drawOf(situation).pick(['ui_engine_form', 'ui_engine_input']),
    formData: formAnswers(scene),
    channel: scene.channel,
  }
}

function chatDelegated({ scene, record }: Situation): Payload {
  const {
    to: [assignedToUserId, assignedToUserName, assignedToUserEmail],
    by,
  } = delegationOf(scene)!
  const { userName, userEmail, userPhone } = record()
  return {
    assignedToUserId,
    assignedToUserName,
    assignedToUserEmail,
    delegatedByUserId: by[0],
    delegatedByUserName: by[1],
    customerName: textOr(userName, fullName(scene)),
    customerEmail: textOr(userEmail, ''),
    customerPhone: optional(userPhone),
    channel: scene.channel,
    operation: 'delegated',
  }
}

function bugReported(situation: Situation): Payload {
  const { scene } = situation
  const draw = drawOf(situation)
  const [reportedByUserId, reportedByUserName, email] = draw.pick(STAFF)
  return {
    bugDescription: prose(draw, scene.locale, 80),
    imageUrl: draw.made(0.5, () => `https://cdn.example.com/bugs/${draw.hex(20)}.png`) ?? undefined,
    reportedByUserId,
    reportedByUserName,
    reportedByUserEmail: draw.made(0.8, () => email) ?? undefined,
    channel: scene.channel,
    operation: 'reported',
  }
}

/**
 * Fields of `lightConvoData`, the part of the record that an event carries. Some changing fields are missing on purpose
 * (`sessions`, `detailedCost`, `metrics`, `voice`): only an export has them.
 */
export const LIGHT_FIELDS: readonly string[] = `
ID userID userName userEmail userPhone userPlatform origin tags stage language countryCode
ts firstMessageTS lastMessageTS lastModified messagesNum interactionsNum sessionsNum totalUserInteractions convoTimeSeconds
state isArchived isResolved isBlocked isTest archivedAt archivedBy resolvedAt resolvedBy resolvedByEmail lastResolvedAssigneeId
reopenedAt reopenReason endReason funnelNotificationSent leadScore hotLabel
delegatedAt delegatedBy chatAssignedTo chatAssignedToIds humanClaimedAt humanLastRepliedAt requestedTeamKey assignedTo handoffHistory
csat crmActivities tokenUsage capturedVariables
`
  .trim()
  .split(/\s+/)

/** Returns the light fields of a record; null for missing ones, so that events also report removed values. */
function lightOf(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(LIGHT_FIELDS.map(name => [name, record[name] ?? null]))
}

// A conversation's transcript so far, as turns and as model messages. It agrees with the record: there are
// `messagesNum` turns, and if a person wrote in a session, the session's last turn has the time of its last message.

/** Maximum number of newest turns that the model sees. */
const HISTORY_LENGTH = 12

/** Returns the turns so far. */
const turnsOf = (scene: Scene) => scene.sessions.flatMap((_, number) => sessionTurns(scene, number))

export type Turn = ReturnType<typeof turnsOf>[number]

/** Position of a contact's message: session and exchange, both from 0. */
interface MessagePlace {
  session: number
  exchange: number
}

function messageText(scene: Scene, { session, exchange }: MessagePlace): string {
  return said(scene, session, exchange + 1)[exchange]!.question
}

function modelMessages(turns: readonly Turn[]) {
  const recent = turns.slice(-HISTORY_LENGTH).map(({ role, text }, place) => {
    if (role === 'user') return { role, content: text }
    return { role: 'assistant', content: place % 3 === 0 ? [{ type: 'text', text }] : text }
  })
  return [{ role: 'system', content: 'Answer in the language of the visitor.' }, ...recent]
}

function said({ seed, index, locale }: Scene, session: number, count: number) {
  const draw = new Draw(seed, index, PURPOSE.transcript + session)
  return Array.from({ length: count }, () => ({
    question: sentence(draw, locale),
    answer: prose(draw, locale, draw.logarithmic(40, 260)),
  }))
}

function sessionTurns(scene: Scene, number: number) {
  const { exchanges } = scene.life.courses[number]!
  const { id: sessionId, startMs, lastMs, userMessages } = scene.sessions[number]!
  const turn = (place: number, fields: { role: Role; text: string; timestamp: number; userId?: string }) => ({
    turnId: `${sessionId}_${place}`,
    sessionId,
    type: 'text',
    ...fields,
  })
  const greeting = turn(0, { role: 'assistant', text: scene.locale.sentences[0]!, timestamp: startMs })
  const talked = said(scene, number, userMessages).flatMap(({ question, answer }, place) => {
    const { askedMs, answeredMs } = exchanges[place]!
    return [
      turn(2 * place + 1, { role: 'user', text: question, timestamp: askedMs }),
      turn(2 * place + 2, { ...answerer(scene, number, answeredMs), text: answer, timestamp: answeredMs }),
    ]
  })
  return [greeting, ...talked].filter(({ timestamp }) => timestamp <= lastMs)
}

type Role = 'assistant' | 'user' | 'human_agent'

/** Returns who answers: the agent or, after a handoff and until the session ends, the person. */
function answerer({ life }: Scene, session: number, atMs: number): { role: Role; userId?: string } {
  const { acceptedMs = Number.POSITIVE_INFINITY, acceptedBy } = life.courses[session]!.handoff ?? {}
  return acceptedMs < atMs ? { role: 'human_agent', userId: acceptedBy![0] } : { role: 'assistant' }
}

// Lists the moments of a conversation that an event reports. `conversation_updated` happens exactly when the record changes.

export interface Happening {
  type: EventName
  ms: number
  /** Set for a `message_received`. */
  at?: MessagePlace
}

const CHATS: readonly Channel[] = ['web-chat', 'whatsapp', 'instagram']

/** Lists the happenings, unordered, except that a message or delegation precedes the change that it causes. */
export function happeningsOf(life: Life, channel: Channel): Happening[] {
  const facts: { type: EventName; ms: number | undefined }[] = [
    ...life.courses.map(({ handoff }) => ({ type: 'chat_delegated' as const, ms: handoff?.acceptedMs })),
    { type: 'lead_captured', ms: life.leadMs },
    { type: 'form_submitted', ms: channel === 'web-chat' ? life.formMs : undefined },
    { type: 'bug_reported', ms: life.bugMs },
    ...momentsOf(life).map(ms => ({ type: 'conversation_updated' as const, ms })),
  ]
  const written = CHATS.includes(channel) ? messages(life) : []
  return [...written, ...facts.flatMap(({ type, ms }) => (ms === undefined ? [] : [{ type, ms }]))]
}

const messages = ({ courses }: Life): Happening[] =>
  courses.flatMap(({ exchanges }, session) =>
    exchanges.map(({ askedMs }, exchange) => ({ type: 'message_received', ms: askedMs, at: { session, exchange } })),
  )
