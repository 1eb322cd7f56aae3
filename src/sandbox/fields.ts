// The top-level fields of an exported conversation: the columns of its CSV form.

/** Section 2.10, in the document's order; then those that records carry although the document does not list them. */
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
