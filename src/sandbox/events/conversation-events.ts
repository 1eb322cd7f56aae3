// Payloads of conversation events (section 6.3), with the conversation's state at the time of the event.

import { environment } from '../world/conversation/contact.ts'
import { formAnswers } from '../world/conversation/findings.ts'
import { delegationOf } from '../world/conversation/handling.ts'
import { prose } from '../world/conversation/locales.ts'
import type { Scene } from '../world/conversation/scene.ts'
import { Draw, PURPOSE } from '../world/random.ts'
import { STAFF } from '../world/staff.ts'
import type { Exchange } from '../world/story.ts'
import type { EventName } from './event-types.ts'
import { EVENT_NAMES, type Payload } from './event-types.ts'
import type { Happening, Written } from './happenings.ts'
import { messageText, modelMessages, turnsOf } from './transcript.ts'

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
  /** The exchanges of each session, including future sessions. */
  exchanges: readonly Exchange[][]
}

/** The type-specific fields of a payload, for each type of conversation event. */
const FIELDS: Partial<Record<EventName, (situation: Situation) => Payload>> = {
  message_received: messageReceived,
  conversation_updated: conversationUpdated,
  lead_captured: leadCaptured,
  form_submitted: formSubmitted,
  chat_delegated: chatDelegated,
  bug_reported: bugReported,
}

/** All fields of the payload except those common to all events; `lead_captured` has no `convoId`. */
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

/** Random draws that are equal for all events of one conversation and type. */
const drawOf = ({ scene, happening }: Situation): Draw =>
  new Draw(scene.seed, scene.index, PURPOSE.event + EVENT_NAMES.indexOf(happening.type))

const textOr = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise)

const optional = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const fullName = ({ firstName, lastName }: Scene): string => `${firstName} ${lastName}`

function messageReceived({ scene, happening }: Situation): Payload {
  const { session, exchange } = happening as Written
  return {
    messageContent: messageText(scene, session, exchange),
    channel: scene.channel === 'web-chat' ? 'webchat' : scene.channel,
    messageType: scene.channel === 'whatsapp' ? 'text' : undefined,
    from: environment(scene).userID,
  }
}

function conversationUpdated(situation: Situation): Payload {
  const { scene, exchanges, region } = situation
  const turns = turnsOf(scene, exchanges)
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
delegatedAt delegatedBy chatAssignedTo chatAssignedToIds humanClaimedAt requestedTeamKey assignedTo handoffHistory
csat crmActivities tokenUsage capturedVariables
`
  .trim()
  .split(/\s+/)

/** The light fields of a record; null for absent ones, so that events also report removed values. */
function lightOf(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(LIGHT_FIELDS.map(name => [name, record[name] ?? null]))
}
