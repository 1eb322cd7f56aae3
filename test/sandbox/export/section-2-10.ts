// Every field of section 2.10 of the API document, by path; `[]` steps into an array's elements.

const list = (prefix: string, names: string): string[] =>
  names
    .trim()
    .split(/\s+/)
    .map(name => `${prefix}${name}`)

const ASSIGNEE = 'userId name email photoUrl note assignedAt status'

export const SECTION_2_10: readonly string[] = [
  ...list(
    '',
    `userEmail userName userPhone userAddress userCompany userWebsite notes note userProfilePic userImage socialHandle
    linkedIn instagram subIndustry source language lang currency expectedCloseDate demoDate demoTime demoLink lostReason
    lastActivityDate stage value isFollowingBusiness socialVerified
    ID userID campaignId userOs userBrowser ipAddress browserTimezone countryCode userPlatform contactIdentityId
    crossChannelContext notifyToUserId origin linkedChannels tags whatsappPhoneNumberId whatsappBusinessNumber
    whatsappDisplayPhoneNumber whatsappBusinessAccountId
    messagesNum interactionsNum sessionsNum totalUserInteractions ts convoTimeSeconds firstMessageTS lastMessageTS
    lastModified ratingFrom5 averageLatency lastViewed delegatedAt archivedAt resolvedAt reopenedAt hotScore leadScore
    funnelLastEvaluated
    state isTyping isBlocked isTest isArchived isResolved smbContact funnelNotificationSent smbContactName archivedBy
    resolvedBy resolvedByEmail lastResolvedAssigneeId reopenReason delegatedBy requestedTeamKey chatAssignedTo endReason
    summary shortSummary funnelSummary smbContactRemovedAt smbLastSeenAt humanClaimedAt humanLastRepliedAt
    pendingAiReplyAt chatAssignedToIds hotLabel
    assignedTo assignedToUsers handoffHistory externalSession ext nodesInfo voice detailedCost csat crmAlerts
    inboundEngagementState crmActivities tokenUsage capturedVariables campaignCalls sessions metrics funnelStepsMatched
    funnelScoreHistory funnelExtractedData`,
  ),
  ...list('assignedTo.', ASSIGNEE),
  ...list('assignedToUsers[].', ASSIGNEE),
  ...list(
    'handoffHistory[].',
    'requestedAt acceptedAt completedAt acceptedBy organizationId requestedTeamKey teamIds teamKeys',
  ),
  ...list('externalSession.', 'sessionKey projectId environmentAlias updatedAt resolvedRuntime'),
  ...list(
    'ext.',
    'cost callDuration recordingUrl syncRecordingUrl callerPhoneNumber calleePhoneNumber callStatus callError',
  ),
  ...list('nodesInfo.', 'currentNode'),
  ...list('voice.', 'latestSessionId listenUrl listenUrlUNIX'),
  ...list('detailedCost.', 'totalCreditsConsumed speechGenCost transcriberCost llmCost'),
  ...list('csat.', 'satisfaction10 ease10 comment channel submittedAt surveyVersion'),
  ...list('crmAlerts.', 'overdueECD overdueActivity staleLead responded newHandoffAssigned'),
  ...list(
    'inboundEngagementState.',
    `firstDecisionAt lastDecisionAt firstDecisionShouldReply lastDecisionShouldReply aiOwnedThread ignoreThread
    lastDecisionReason lastTriggeredBy`,
  ),
  ...list(
    'crmActivities[].',
    `type id title date dueDate note completed responded firstEngaged secondEngaged firstChannel secondChannel
    notesHistory metadata`,
  ),
  ...list('crmActivities[].notesHistory[].', 'text agentId agentName timestamp'),
  ...list(
    'tokenUsage.',
    `cumulativeInputTokens cumulativeOutputTokens cumulativeTotalTokens cumulativeUsd lastTurnInputTokens
    lastTurnOutputTokens lastTurnTotalTokens lastTurnUsd lastTurnContextWindow lastTurnInputUsdPer1k
    lastTurnOutputUsdPer1k lastTurnTs lastTurnModelId usagePerModel`,
  ),
]

/** NUMBERS, BOOLEANS and TEXT_LISTS: the listed fields of type number, boolean and array of strings; other scalars are strings. */
export const NUMBERS = new Set(
  `value messagesNum interactionsNum sessionsNum totalUserInteractions ts convoTimeSeconds firstMessageTS lastMessageTS
  lastModified ratingFrom5 averageLatency lastViewed delegatedAt archivedAt resolvedAt reopenedAt hotScore leadScore
  funnelLastEvaluated smbContactRemovedAt smbLastSeenAt humanClaimedAt humanLastRepliedAt pendingAiReplyAt
  handoffHistory[].requestedAt handoffHistory[].acceptedAt handoffHistory[].completedAt externalSession.updatedAt
  ext.cost ext.callDuration voice.listenUrlUNIX detailedCost.totalCreditsConsumed detailedCost.speechGenCost
  detailedCost.transcriberCost detailedCost.llmCost csat.satisfaction10 csat.ease10 csat.submittedAt csat.surveyVersion
  inboundEngagementState.firstDecisionAt inboundEngagementState.lastDecisionAt
  tokenUsage.cumulativeInputTokens tokenUsage.cumulativeOutputTokens tokenUsage.cumulativeTotalTokens
  tokenUsage.cumulativeUsd tokenUsage.lastTurnInputTokens tokenUsage.lastTurnOutputTokens
  tokenUsage.lastTurnTotalTokens tokenUsage.lastTurnUsd tokenUsage.lastTurnContextWindow
  tokenUsage.lastTurnInputUsdPer1k tokenUsage.lastTurnOutputUsdPer1k tokenUsage.lastTurnTs`.split(/\s+/),
)

export const BOOLEANS = new Set(
  `isFollowingBusiness socialVerified isTyping isBlocked isTest isArchived isResolved smbContact funnelNotificationSent
  crmAlerts.overdueECD crmAlerts.overdueActivity crmAlerts.staleLead crmAlerts.responded crmAlerts.newHandoffAssigned
  inboundEngagementState.firstDecisionShouldReply inboundEngagementState.lastDecisionShouldReply
  inboundEngagementState.aiOwnedThread inboundEngagementState.ignoreThread
  crmActivities[].completed crmActivities[].responded crmActivities[].firstEngaged crmActivities[].secondEngaged`.split(
    /\s+/,
  ),
)

export const TEXT_LISTS = new Set(
  'linkedChannels tags chatAssignedToIds handoffHistory[].teamIds handoffHistory[].teamKeys'.split(' '),
)

/** Objects and arrays whose own fields section 2.10 lists, or that may have any shape. */
export const STRUCTURED = new Set(
  `origin assignedTo assignedToUsers handoffHistory externalSession ext nodesInfo voice detailedCost csat crmAlerts
  inboundEngagementState crmActivities crmActivities[].notesHistory crmActivities[].metadata tokenUsage
  tokenUsage.usagePerModel capturedVariables campaignCalls sessions metrics funnelStepsMatched funnelScoreHistory
  funnelExtractedData`.split(/\s+/),
)
