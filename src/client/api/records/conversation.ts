// The answer of an export: conversations, and the cost of the request (sections 2.10, 2.11 and 4.12).
import type { Optional, Succeeded, Unlisted } from './record.ts'

/** A person that a conversation is assigned to. */
type Assignee = Optional<'userId' | 'name' | 'email' | 'photoUrl' | 'note' | 'assignedAt' | 'status', string> & Unlisted

type Handoff = Optional<'requestedAt' | 'acceptedAt' | 'completedAt', number> &
  Optional<'acceptedBy' | 'organizationId' | 'requestedTeamKey', string> &
  Optional<'teamIds' | 'teamKeys', readonly string[]> &
  Unlisted

type CrmActivity = Optional<
  'type' | 'id' | 'title' | 'date' | 'dueDate' | 'note' | 'firstChannel' | 'secondChannel',
  string
> &
  Optional<'completed' | 'responded' | 'firstEngaged' | 'secondEngaged', boolean> &
  Optional<
    'notesHistory',
    readonly (Optional<'text' | 'agentId' | 'agentName', string> & Optional<'timestamp', unknown> & Unlisted)[]
  > &
  Optional<'metadata', unknown> &
  Unlisted

type TokenUsage = Optional<
  | 'cumulativeInputTokens'
  | 'cumulativeOutputTokens'
  | 'cumulativeTotalTokens'
  | 'cumulativeUsd'
  | 'lastTurnInputTokens'
  | 'lastTurnOutputTokens'
  | 'lastTurnTotalTokens'
  | 'lastTurnUsd'
  | 'lastTurnContextWindow'
  | 'lastTurnInputUsdPer1k'
  | 'lastTurnOutputUsdPer1k'
  | 'lastTurnTs',
  number
> &
  Optional<'lastTurnModelId', string> &
  Optional<'usagePerModel', unknown> &
  Unlisted

interface Nested {
  readonly externalSession?:
    | (Optional<'sessionKey' | 'projectId' | 'environmentAlias' | 'resolvedRuntime', string> &
        Optional<'updatedAt', number> &
        Unlisted)
    | null
  readonly ext?:
    | (Optional<'cost' | 'callDuration', number> &
        Optional<
          'recordingUrl' | 'syncRecordingUrl' | 'callerPhoneNumber' | 'calleePhoneNumber' | 'callStatus' | 'callError',
          string
        > &
        Unlisted)
    | null
  readonly nodesInfo?: (Optional<'currentNode', string> & Unlisted) | null
  readonly voice?:
    | (Optional<'latestSessionId' | 'listenUrl', string> & Optional<'listenUrlUNIX', number> & Unlisted)
    | null
  readonly detailedCost?:
    | (Optional<'totalCreditsConsumed' | 'speechGenCost' | 'transcriberCost' | 'llmCost', number> & Unlisted)
    | null
  readonly csat?:
    | (Optional<'satisfaction10' | 'ease10' | 'submittedAt' | 'surveyVersion', number> &
        Optional<'comment' | 'channel', string> &
        Unlisted)
    | null
  readonly crmAlerts?:
    | (Optional<'overdueECD' | 'overdueActivity' | 'staleLead' | 'responded' | 'newHandoffAssigned', boolean> &
        Unlisted)
    | null
  readonly inboundEngagementState?:
    | (Optional<'firstDecisionAt' | 'lastDecisionAt', number> &
        Optional<'firstDecisionShouldReply' | 'lastDecisionShouldReply' | 'aiOwnedThread' | 'ignoreThread', boolean> &
        Optional<'lastDecisionReason' | 'lastTriggeredBy', string> &
        Unlisted)
    | null
  readonly assignedTo?: Assignee | null
  readonly assignedToUsers?: readonly Assignee[] | null
  readonly handoffHistory?: readonly Handoff[] | null
  readonly crmActivities?: readonly CrmActivity[] | null
  readonly tokenUsage?: TokenUsage | null
}

/** The fields of a conversation that the document lists. */
export type ConversationFields = { readonly ID: string } & Optional<
  | 'userEmail'
  | 'userName'
  | 'userPhone'
  | 'userAddress'
  | 'userCompany'
  | 'userWebsite'
  | 'notes'
  | 'note'
  | 'userProfilePic'
  | 'userImage'
  | 'socialHandle'
  | 'linkedIn'
  | 'instagram'
  | 'subIndustry'
  | 'source'
  | 'language'
  | 'lang'
  | 'currency'
  | 'expectedCloseDate'
  | 'demoDate'
  | 'demoTime'
  | 'demoLink'
  | 'lostReason'
  | 'lastActivityDate'
  | 'userID'
  | 'campaignId'
  | 'userOs'
  | 'userBrowser'
  | 'ipAddress'
  | 'browserTimezone'
  | 'countryCode'
  | 'userPlatform'
  | 'contactIdentityId'
  | 'crossChannelContext'
  | 'notifyToUserId'
  | 'whatsappPhoneNumberId'
  | 'whatsappBusinessNumber'
  | 'whatsappDisplayPhoneNumber'
  | 'whatsappBusinessAccountId'
  | 'smbContactName'
  | 'archivedBy'
  | 'resolvedBy'
  | 'resolvedByEmail'
  | 'lastResolvedAssigneeId'
  | 'reopenReason'
  | 'delegatedBy'
  | 'requestedTeamKey'
  | 'chatAssignedTo'
  | 'endReason'
  | 'summary'
  | 'shortSummary'
  | 'funnelSummary'
  | 'stage'
  | 'state'
  | 'hotLabel',
  string
> &
  Optional<
    | 'value'
    | 'messagesNum'
    | 'interactionsNum'
    | 'sessionsNum'
    | 'totalUserInteractions'
    | 'ts'
    | 'convoTimeSeconds'
    | 'firstMessageTS'
    | 'lastMessageTS'
    | 'lastModified'
    | 'ratingFrom5'
    | 'averageLatency'
    | 'lastViewed'
    | 'delegatedAt'
    | 'archivedAt'
    | 'resolvedAt'
    | 'reopenedAt'
    | 'hotScore'
    | 'leadScore'
    | 'funnelLastEvaluated'
    | 'smbContactRemovedAt'
    | 'smbLastSeenAt'
    | 'humanClaimedAt'
    | 'humanLastRepliedAt'
    | 'pendingAiReplyAt',
    number
  > &
  Optional<
    | 'isFollowingBusiness'
    | 'socialVerified'
    | 'isTyping'
    | 'isBlocked'
    | 'isTest'
    | 'isArchived'
    | 'isResolved'
    | 'smbContact'
    | 'funnelNotificationSent',
    boolean
  > &
  Optional<'linkedChannels' | 'tags' | 'chatAssignedToIds', readonly string[]> &
  Optional<
    | 'origin'
    | 'capturedVariables'
    | 'campaignCalls'
    | 'sessions'
    | 'metrics'
    | 'funnelStepsMatched'
    | 'funnelScoreHistory'
    | 'funnelExtractedData',
    unknown
  > &
  Nested

/** A conversation (section 2.10). The document states the unit of few times and of no cost. */
export type Conversation = ConversationFields & Unlisted

/** The bill of a request, and the rest of the period's quota, in sessions (section 2.11). */
export type Usage = Optional<
  | 'billableUsedThisRequest'
  | 'billableUsedThisPeriod'
  | 'includedQuota'
  | 'billableRemainingThisPeriod'
  | 'overageUsedThisPeriod'
  | 'overagePacksCharged'
  | 'exportRequestCount',
  number
> &
  Optional<'periodKey' | 'summary' | 'logId', string> &
  Unlisted

/** One page, or one selection, of an agent's conversations (sections 2.11 and 4.12). `scannedConvoCount` includes the skipped ones. */
export type ExportedConversations = Succeeded & {
  readonly data: readonly Conversation[]
  readonly usage?: Usage
  readonly rateLimit?: Optional<'requestsPerHour' | 'remainingHour', number> & Unlisted
  readonly query?: Optional<'sort', string> & Optional<'fromTs' | 'toTs', number> & Unlisted
} & Optional<'hasMore', boolean> &
  Optional<'nextCursor' | 'mode' | 'source', string> &
  Optional<'limit' | 'scannedConvoCount', number>
