// `lightConvoData`: the part of the conversation record that an event carries.

/**
 * Fields of section 2.10 that people watch. Not all that changes is among them (`sessions`, `detailedCost`, `metrics`, `voice` and
 * others are not): that is what an export is for.
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

/** The light fields of a record; null where it has none, so that what a record has lost is told too. */
export function lightOf(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(LIGHT_FIELDS.map(name => [name, record[name] ?? null]))
}
