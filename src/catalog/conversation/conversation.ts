// The conversation record: every field of section 2.10 of the API document, in its order.

import { oneSpelling, utcDay } from '../layout.ts'
import {
  any,
  boolean,
  count,
  type Derived,
  group,
  loose,
  moment,
  number,
  type PiiClass,
  type RecordType,
  text,
  time,
} from '../shape.ts'
import * as children from './conversation-children.ts'

const identity = { pii: 'identity' as PiiClass }
const content = { pii: 'content' as PiiClass }
const device = { pii: 'device' as PiiClass }
const staff = { pii: 'staff' as PiiClass }
const label = { pii: 'label' as PiiClass }
const word = { pii: 'word' as PiiClass }
const code = { pii: 'code' as PiiClass }
const tokens = { unit: 'tokens' }
const usd = { unit: 'USD' }
const credits = { unit: 'credits' }
const unstated = { unit: 'unit not stated' }
const rating = { unit: 'range not stated', isRating: true } as const

const contactAndLead = {
  userEmail: text('Email address of the contact', identity),
  userName: text('Name of the contact', identity),
  userPhone: text('Phone number of the contact', identity),
  userAddress: text('Postal address of the contact', identity),
  userCompany: text('Company of the contact', identity),
  userWebsite: text('Website of the contact', identity),
  notes: text('Notes on the contact', content),
  note: text('Note on the contact', content),
  userProfilePic: text('Address of the profile picture', identity),
  userImage: text('Address of an image of the contact', identity),
  socialHandle: text('Handle on a social network', identity),
  linkedIn: text('LinkedIn profile', { ...identity, column: 'linkedin' }),
  instagram: text('Instagram profile', identity),
  subIndustry: text('Industry of the contact', word),
  source: text('Where the lead came from', word),
  language: text('Language of the contact', word),
  lang: text('Language code', word),
  currency: text('Currency', word),
  expectedCloseDate: moment('Expected close date, as sent', 'expected_close_at'),
  demoDate: moment('Date of the demo, as sent', 'demo_at'),
  demoTime: text('Time of the demo, as sent', content),
  demoLink: text('Link to the demo', content),
  lostReason: text('Why the lead was lost', content),
  lastActivityDate: moment('Last CRM activity, as sent', 'last_activity_at'),
  stage: text('Stage of the lead, e.g. new', label),
  value: number('Value of the lead', unstated),
  isFollowingBusiness: boolean('The contact follows the business'),
  socialVerified: boolean('The social account is verified'),
}

const environment = {
  ID: text('Id of the conversation', { column: 'conversation_id' }),
  userID: text('Id of the user; on calls the phone number; not unique', identity),
  campaignId: text('Id of the campaign'),
  userOs: text('Operating system', device),
  userBrowser: text('Browser', device),
  ipAddress: text('IP address', device),
  browserTimezone: text('Time zone of the browser', device),
  countryCode: text('Country', word),
  userPlatform: text('Platform that the contact writes from', word),
  channel: text('Channel, as an event reported it; the export has none', {
    ...{ column: '_reported_channel', channel: 'lower' },
    ...word,
  }),
  contactIdentityId: text('Identity of the contact across channels', identity),
  crossChannelContext: text('Context carried over from another channel', content),
  notifyToUserId: text('User to notify', staff),
  origin: any('Where the conversation came from', content),
  linkedChannels: children.linkedChannels,
  tags: children.tags,
  whatsappPhoneNumberId: text('WhatsApp: id of the phone number'),
  whatsappBusinessNumber: text('WhatsApp: number of the business'),
  whatsappDisplayPhoneNumber: text('WhatsApp: number as displayed'),
  whatsappBusinessAccountId: text('WhatsApp: id of the business account'),
}

const countersAndTimes = {
  messagesNum: count('Messages'),
  interactionsNum: count('Interactions'),
  sessionsNum: count('Sessions'),
  totalUserInteractions: count('Interactions of the user'),
  ts: time('The time that the export filters and sorts by'),
  convoTimeSeconds: number('Length of the conversation', { unit: 's' }),
  firstMessageTS: time('First message'),
  lastMessageTS: time('Last message'),
  lastModified: time('Last change of the record'),
  ratingFrom5: number('Rating', rating),
  averageLatency: number('Average latency', unstated),
  lastViewed: time('When it was last looked at'),
  delegatedAt: time('When it was delegated'),
  archivedAt: time('When it was archived'),
  resolvedAt: time('When it was resolved'),
  reopenedAt: time('When it was reopened'),
  hotScore: number('How hot the lead is'),
  leadScore: number('Score of the lead'),
  funnelLastEvaluated: time('When the funnel last looked at it'),
}

const stateAndHandling = {
  state: text('State, e.g. requested_chat, human-chatting, ai-chatting, ended_chat', word),
  isTyping: boolean('Somebody is typing'),
  isBlocked: boolean('The contact is blocked'),
  isTest: boolean('A test conversation'),
  isArchived: boolean('Archived'),
  isResolved: boolean('Resolved'),
  smbContact: boolean('A contact of the small-business inbox'),
  funnelNotificationSent: boolean('The funnel has notified'),
  smbContactName: text('Name in the small-business inbox', identity),
  archivedBy: text('Who archived it', staff),
  resolvedBy: text('Who resolved it', staff),
  resolvedByEmail: text('Email address of who resolved it', staff),
  lastResolvedAssigneeId: text('Assignee at the last resolution', staff),
  reopenReason: text('Why it was reopened', content),
  delegatedBy: text('Who delegated it', staff),
  requestedTeamKey: text('Team that was asked for'),
  chatAssignedTo: text('Current assignee', staff),
  endReason: text('Why it ended', word),
  summary: text('Summary', content),
  shortSummary: text('Short summary', content),
  funnelSummary: text('Summary by the funnel', content),
  smbContactRemovedAt: time('When it left the small-business inbox'),
  smbLastSeenAt: time('Last seen in the small-business inbox'),
  humanClaimedAt: time('When a person claimed it'),
  humanLastRepliedAt: time('Last reply by a person'),
  pendingAiReplyAt: time('When the AI is due to reply'),
  chatAssignedToIds: children.chatAssignedToIds,
  hotLabel: text('How hot the lead is, in a word, e.g. hot', word),
  assignedTo: group('Current assignment', children.assignee),
  assignedToUsers: children.assignedToUsers,
  handoffHistory: children.handoffHistory,
}

const nested = {
  externalSession: group('Session of an external runtime', {
    sessionKey: text('Key of the session', identity),
    projectId: text('Project'),
    environmentAlias: text('Environment', word),
    updatedAt: time('Last change'),
    resolvedRuntime: text('Runtime, e.g. legacy', word),
  }),
  // Some records name this group `vapi`.
  ext: group('External call', {
    cost: number('Cost of the call', unstated),
    callDuration: number('Length of the call', unstated),
    recordingUrl: text('Recording', content),
    syncRecordingUrl: text('Recording, synchronised', content),
    callerPhoneNumber: text('Number of the caller', identity),
    calleePhoneNumber: text('Number that was called', identity),
    callStatus: text('Status of the call', word),
    callError: text('Error of the call', content),
  }),
  nodesInfo: group('Place in the agent', children.nodesInfo),
  voice: group('Voice session', {
    latestSessionId: loose('Latest voice session'),
    listenUrl: text('Where to listen in', content),
    listenUrlUNIX: time('When `listenUrl` was made'),
  }),
  detailedCost: group('Cost of the conversation', {
    totalCreditsConsumed: number('All credits', credits),
    speechGenCost: number('Speech generation', unstated),
    transcriberCost: number('Transcription', unstated),
    llmCost: number('Language model', unstated),
  }),
  csat: group('Answer to the satisfaction survey', {
    satisfaction10: number('Satisfaction', rating),
    ease10: number('Ease', rating),
    comment: text('Comment', content),
    channel: text('Channel of the survey', { ...word, channel: 'as-sent' }),
    submittedAt: time('When it was answered'),
    surveyVersion: number('Version of the survey'),
  }),
  crmAlerts: group('Alerts of the CRM', {
    overdueECD: boolean('The expected close date has passed'),
    overdueActivity: boolean('An activity is overdue'),
    staleLead: boolean('The lead is stale'),
    responded: boolean('The contact has responded'),
    newHandoffAssigned: boolean('A new handoff was assigned'),
  }),
  inboundEngagementState: group('Whether the AI answers inbound messages', {
    firstDecisionAt: time('First decision'),
    lastDecisionAt: time('Last decision'),
    firstDecisionShouldReply: boolean('First decision: reply'),
    lastDecisionShouldReply: boolean('Last decision: reply'),
    aiOwnedThread: boolean('The AI owns the thread'),
    ignoreThread: boolean('The thread is ignored'),
    lastDecisionReason: text('Why it was decided so', content),
    lastTriggeredBy: text('What triggered it, e.g. phrase', word),
  }),
  crmActivities: children.crmActivities,
  tokenUsage: group('Tokens that language models used', {
    cumulativeInputTokens: count('Input, all turns', tokens),
    cumulativeOutputTokens: count('Output, all turns', tokens),
    cumulativeTotalTokens: count('All, all turns', tokens),
    cumulativeUsd: number('Cost, all turns', usd),
    lastTurnInputTokens: count('Input, last turn', tokens),
    lastTurnOutputTokens: count('Output, last turn', tokens),
    lastTurnTotalTokens: count('All, last turn', tokens),
    lastTurnUsd: number('Cost, last turn', usd),
    lastTurnContextWindow: count('Context window, last turn', unstated),
    lastTurnInputUsdPer1k: number('Price of 1,000 input tokens', { ...usd, column: 'last_turn_input_usd_per_1k' }),
    lastTurnOutputUsdPer1k: number('Price of 1,000 output tokens', { ...usd, column: 'last_turn_output_usd_per_1k' }),
    lastTurnTs: time('Last turn'),
    lastTurnModelId: text('Model of the last turn', code),
    usagePerModel: children.usagePerModel,
  }),
}

const other = {
  capturedVariables: children.capturedVariables,
  campaignCalls: children.campaignCalls,
  sessions: children.sessions,
  metrics: children.metrics,
  funnelStepsMatched: children.funnelStepsMatched,
  funnelScoreHistory: children.funnelScoreHistory,
  funnelExtractedData: children.funnelExtractedData,
}

/** Returns the SQL of the date in a time zone at a UTC moment; both arguments are SQL. */
const dayIn = (timeZone: string, moment: string): string =>
  timeZone === `'UTC'` ? utcDay(moment) : `(${moment} AT TIME ZONE ${timeZone})::DATE`

/** Returns the SQL of the first of these expressions that is one word; of other texts it is `unknown`. */
function channelOf(...[reported, userPlatform, origin]: readonly [string, string, string]): string {
  const texts = [reported, userPlatform, `CASE WHEN json_type(${origin}) = 'VARCHAR' THEN ${origin}->>'$' END`]
  return oneSpelling(`first_word([${texts.join(', ')}])`)
}

const derived: Derived[] = [
  {
    column: 'channel',
    sqlType: 'VARCHAR',
    about:
      'Channel: the first word of what an event reported, `user_platform` and `origin`; `web-chat` is spelled `webchat`; `unknown` if none is a word',
    pii: 'none',
    from: ['channel', 'userPlatform', 'origin'],
    sql: () => channelOf('s."channel"', 's."userPlatform"', 's."origin"'),
    stored: () => channelOf('_reported_channel', 'user_platform', 'origin'),
  },
  {
    column: 'day',
    sqlType: 'DATE',
    about: "Day of the first message (else of `ts`) in the workspace's time zone",
    pii: 'none',
    from: ['firstMessageTS', 'ts'],
    sql: ({ timeZone }) => dayIn(timeZone, 'coalesce(to_moment(s."firstMessageTS"), to_moment(s."ts"))'),
    stored: ({ timeZone }) => dayIn(timeZone, 'coalesce(first_message_ts, ts)'),
  },
]

export const conversation: RecordType = {
  name: 'conversation',
  table: 'conversations',
  about: 'One row for each conversation (chat session) of an agent, as the latest export returned it',
  id: { key: 'ID', column: 'conversation_id' },
  perAgent: true,
  selectable: true,
  fields: { ...contactAndLead, ...environment, ...countersAndTimes, ...stateAndHandling, ...nested, ...other },
  aliases: { vapi: 'ext' },
  derived,
  modifiedKey: 'lastModified',
}
