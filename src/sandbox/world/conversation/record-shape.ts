// The fields of an exported conversation record, and the readings that change their names and values.
import { SECOND } from '../../../core/time.ts'
import type { Readings } from '../../readings.ts'

/** Section 2.10 in the document's order, then undocumented fields of real records. Also the columns of the CSV form. */
export const EXPORT_FIELDS = `
userEmail userName userPhone userAddress userCompany userWebsite notes note userProfilePic userImage socialHandle linkedIn
instagram subIndustry source language lang currency expectedCloseDate demoDate demoTime demoLink lostReason lastActivityDate
stage value isFollowingBusiness socialVerified
ID userID campaignId userOs userBrowser ipAddress browserTimezone countryCode userPlatform contactIdentityId
crossChannelContext notifyToUserId origin linkedChannels tags whatsappPhoneNumberId whatsappBusinessNumber
whatsappDisplayPhoneNumber whatsappBusinessAccountId
messagesNum interactionsNum sessionsNum totalUserInteractions ts convoTimeSeconds firstMessageTS lastMessageTS lastModified
ratingFrom5 averageLatency lastViewed delegatedAt archivedAt resolvedAt reopenedAt hotScore leadScore funnelLastEvaluated
state isTyping isBlocked isTest isArchived isResolved smbContact funnelNotificationSent smbContactName archivedBy resolvedBy
resolvedByEmail lastResolvedAssigneeId reopenReason delegatedBy requestedTeamKey chatAssignedTo endReason summary
shortSummary funnelSummary smbContactRemovedAt smbLastSeenAt humanClaimedAt humanLastRepliedAt pendingAiReplyAt
chatAssignedToIds hotLabel
assignedTo assignedToUsers handoffHistory
externalSession ext nodesInfo voice detailedCost csat crmAlerts inboundEngagementState crmActivities tokenUsage
capturedVariables campaignCalls sessions metrics funnelStepsMatched funnelScoreHistory funnelExtractedData
title lastMessage widgetVersion unreadCount attachments
`
  .trim()
  .split(/\s+/)

type Json = Record<string, unknown>

type Shape = (record: Json) => Json

/** Undocumented fields of real records; `[]` means each element of an array. */
const UNDOCUMENTED = `title lastMessage widgetVersion unreadCount attachments
detailedCost.twilioCost crmActivities[].priority handoffHistory[].queuePosition`
  .split(/\s+/)
  .map(path => path.split('.'))

const DOCUMENTED = EXPORT_FIELDS.filter(name => !UNDOCUMENTED.some(path => path.length === 1 && path[0] === name))

const COUNTERS = `value messagesNum interactionsNum sessionsNum totalUserInteractions convoTimeSeconds ratingFrom5
averageLatency hotScore leadScore`.split(/\s+/)

const TIMES = `firstMessageTS lastMessageTS lastModified lastViewed delegatedAt archivedAt resolvedAt reopenedAt
funnelLastEvaluated smbContactRemovedAt smbLastSeenAt humanClaimedAt humanLastRepliedAt pendingAiReplyAt`.split(/\s+/)

/** The function that applies the readings to a record; undefined if they change nothing. */
export function recordShape(readings: Readings): Shape | undefined {
  const shapes = [
    readings.undocumented === 'absent' ? documentedOnly : undefined,
    readings['handoff-teams'] === 'parallel' ? undefined : teamsApart(readings['handoff-teams']),
    readings['record-times'] === 'ms' ? undefined : timesIn(readings['record-times']),
    readings['record-numbers'] === 'text' ? countersSpelled : undefined,
    readings.ext === 'vapi' ? renamed : undefined,
    readings.nulls === 'both' ? undefined : nulls(readings.nulls),
  ].filter(shape => shape !== undefined)
  return shapes.length === 0 ? undefined : record => shapes.reduce((shaped, shape) => shape(shaped), record)
}

const documentedOnly: Shape = record => UNDOCUMENTED.reduce((left, path) => without(left, path) as Json, record)

function without(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null || step === undefined) return value
  const { [step.replace('[]', '')]: inner, ...others } = value as Json
  if (rest.length === 0 || inner === undefined) return others
  const left = Array.isArray(inner) ? inner.map(element => without(element, rest)) : without(inner, rest)
  return { ...others, [step.replace('[]', '')]: left }
}

const changed = (record: Json, names: readonly string[], change: (value: number) => unknown): Json => {
  const numeric = names.filter(name => typeof record[name] === 'number')
  return { ...record, ...Object.fromEntries(numeric.map(name => [name, change(record[name] as number)])) }
}

const countersSpelled: Shape = record => changed(record, COUNTERS, String)

const timesIn =
  (unit: 's' | 'us' | 'text'): Shape =>
  record => {
    if (unit === 'text') return changed(record, ['ts', ...TIMES], String)
    return changed(record, TIMES, ms => (unit === 's' ? Math.floor(ms / SECOND) : ms * 1_000))
  }

const renamed: Shape = ({ ext, ...others }) => (ext === undefined ? others : { ...others, vapi: ext })

function nulls(reading: 'absent' | 'null'): Shape {
  if (reading === 'absent')
    return record => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null))
  const empty = Object.fromEntries(DOCUMENTED.map(name => [name, null]))
  return record => {
    const present = Object.entries(record).filter(([, value]) => value !== undefined)
    return { ...empty, ...Object.fromEntries(present) }
  }
}

const teamsApart =
  (reading: 'reversed' | 'shorter'): Shape =>
  ({ handoffHistory, ...others }) => {
    if (!Array.isArray(handoffHistory)) return { ...others, handoffHistory }
    const apart = (keys: unknown[]) => (reading === 'reversed' ? keys.toReversed() : keys.slice(1))
    const elements = (handoffHistory as Json[]).map(handoff =>
      Array.isArray(handoff.teamKeys) ? { ...handoff, teamKeys: apart(handoff.teamKeys) } : handoff,
    )
    return { ...others, handoffHistory: elements }
  }
