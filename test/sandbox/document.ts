// The API document as tables: its endpoints with the shapes of their answers, and the fields of records and events.
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { EventName } from '../../src/catalog/events/event-types.ts'

const each = <T extends z.ZodType>(type: T, names: string): Record<string, T> =>
  Object.fromEntries(names.split(/\s+/).map(name => [name, type]))
const texts = (names: string) => each(z.string(), names)
const numbers = (names: string) => each(z.number(), names)
const booleans = (names: string) => each(z.boolean(), names)
const lists = (names: string) => each(z.array(z.string()), names)
const anything = (names: string) => each(z.unknown(), names)
const optional = z.string().nullish()

const envelope = (fields: z.ZodRawShape) =>
  z.strictObject({ success: z.literal(true), message: z.string().min(1), ...fields })

/** Section 7. */
export const ErrorBody = z.strictObject({
  message: z.string().min(1),
  code: z.string().min(1),
  issues: z.array(z.strictObject({ message: z.string() })).min(1),
})

/** Section 2.2. */
const Variable = z.strictObject({
  ...texts('id in type key description agentId userId'),
  ...booleans('required reusable isEnv isSystem isGlobal'),
  ...anything('value defaultValue'),
})

/** Section 2.1. */
const Tool = z.strictObject({
  ...texts('id name description method serverUrl serverUrlSecret createdAt updatedAt agentId userId'),
  ...booleans('isDefault disabled isExtTool isGlobal'),
  ...lists('variablesIds backchannellingPhrases channels'),
  extId: z.string().nullable(),
  toolsSettings: z.unknown(),
  fields: z.array(Variable),
})

/** Section 2.3. */
const Metric = z.strictObject({
  ...texts('id key description type'),
  isSystem: z.boolean(),
  options: z.array(z.string()).optional(),
  ...each(z.int(), 'createdAtUNIX updatedAtUNIX'),
})

/** Section 2.4. */
const AuditEntry = z.strictObject({
  ...texts('agentId field oldValue newValue actor'),
  source: z.enum(['user_update', 'template_clone', 'agent_clone', 'system_migration']),
  ts: z.int().max(1e11),
})

/** Section 2.5. */
const Voice = z.strictObject({
  ...texts('voiceId name provider previewUrl'),
  filters: z.strictObject(each(z.string().optional(), 'accent gender useCase language')),
})

/** Section 2.6. */
const Workspace = z.strictObject({
  ...texts('uid email displayName workspaceName photoURL region'),
  ...lists('workspaceEmails'),
  hasEverPaid: z.boolean(),
})

/** Section 2.7. */
const Organization = z.strictObject({
  ...texts('ID firebaseUid agencyId userId ownerID orgId workspaceId name email squarePhotoURL dashboardUsername'),
  ...texts('dashboardPassword magicCode usedSecret FB_PUSH_TOKEN type status preferredLanguage dashboardLayout'),
  ...each(optional, 'signupSource stripeCustomerId'),
  ...lists('widgetIDs canAccess allowedChannels allowedIntegrations clientTabOrder defaultClientAccess adminIDs'),
  ...lists('defaultClientTabOrder supportIDs predefinedTags convoTags'),
  ...booleans('isAdmin isOrgAdmin canDelegateChats canSelfEdit allowCreateAgents hideAdvancedSettings'),
  ...booleans('enableHumanHandoff isNewSignup'),
  ...numbers('index ts lastModified lastEmailSentTS lastInvitationTs'),
  widgets: z.array(z.unknown()),
  cannedResponses: z.array(z.strictObject(texts('key content'))),
  notificationsSettings: z.strictObject({ ...texts('notifyThrough notifyIf'), ...booleans('emailNotifyOnNewLead') }),
  handoff: z.strictObject(numbers('maxAssignees')),
  internal: z.strictObject(booleans('hasChangedPassword')),
  settings: z.strictObject(booleans('disableClientAccess')),
  teams: z.array(z.strictObject(texts('ID key label description orgId'))),
  onboardingState: z.strictObject({
    currentStep: z.number(),
    isCompleted: z.boolean(),
    completedSteps: z.array(z.number()),
    personalInfo: z.strictObject(texts('fullName companyName role industry')),
    preferences: z.strictObject({ ...texts('primaryUseCase'), ...lists('communicationPreferences goals') }),
    setupData: z.strictObject({ ...lists('selectedAgents'), ...anything('customizations') }),
  }),
})

/** Section 2.8. */
const Team = z.strictObject({
  ...texts('ID orgId key label description'),
  ...lists('memberIds'),
  ...numbers('ts lastModified'),
})

/** Section 2.9. */
const CrawlerPage = z.strictObject({
  page: z.strictObject({
    ...texts('id url urlHash userId'),
    ...each(optional, 'title description imageUrl'),
    ...numbers('scrapedAt mdCharCount htmlCharCount'),
    failed: z.boolean(),
  }),
  content: z.strictObject({
    ...texts('urlScraped urlHash'),
    scrapeResponse: z.strictObject({
      metadata: z.strictObject(each(optional, 'title description ogImage favicon')),
      urlScraped: z.string(),
      ...lists('urlsDiscovered'),
      ...each(z.string().optional(), 'markdown html'),
      err: z.unknown(),
    }),
  }),
})

/** Some fields of each group of section 2.12. */
const Agent = z.looseObject({
  ...texts('ID title description ownerID storageID theme agentPlatform region webhookUrl SECRET_API_KEY'),
  ...booleans('disabled isDeployed starred gdprCompliance disableHumanHandoff manualControl enableNodes'),
  ...numbers('createdAtUNIX lastModified vg_temperature'),
  ...lists('kbTags assignedToolsIds convoTags'),
  ...each(z.looseObject({}), 'voiceConfig vgOptions advanced limits marketplace vapiConfig'),
  nodes: z.array(z.looseObject({ ...texts('id type'), toolsIds: z.array(z.string()) })).min(3),
  tools: z.array(Tool).min(1),
})

/** Section 2.11. */
const ExportAnswer = envelope({
  data: z.array(z.looseObject({ ID: z.string() })).min(1),
  usage: z.strictObject({
    ...texts('periodKey summary logId'),
    ...numbers('billableUsedThisRequest billableUsedThisPeriod includedQuota billableRemainingThisPeriod'),
    ...numbers('overageUsedThisPeriod overagePacksCharged exportRequestCount'),
  }),
  rateLimit: z.strictObject(numbers('requestsPerHour remainingHour')),
  hasMore: z.boolean(),
  nextCursor: z.string().optional(),
  ...numbers('limit scannedConvoCount'),
  mode: z.enum(['paginated', 'selected']),
  source: z.string(),
  query: z.strictObject({ sort: z.enum(['asc', 'desc']), ...each(z.number().nullable(), 'fromTs toTs') }),
})

export interface Endpoint {
  name: string
  /** The JSON body of a request that succeeds. */
  body?: object
  answer: z.ZodType
}

/** Sections 4.1 to 4.16, deletions last. */
export const ENDPOINTS: readonly Endpoint[] = [
  {
    name: 'POST /v3/agents/{agentId}/tools',
    body: { tool: { name: 'a', description: 'b' } },
    answer: envelope({ data: Tool }),
  },
  { name: 'GET /v3/agents/{agentId}/tools', answer: envelope({ data: z.array(Tool).min(1) }) },
  {
    name: 'POST /v3/agents/{agentId}/variables',
    body: { variable: { key: 'a' } },
    answer: envelope({ data: Variable }),
  },
  { name: 'GET /v3/agents/{agentId}/variables', answer: envelope({ data: z.array(Variable).min(5) }) },
  {
    name: 'GET /v3/agents/{agentId}/audit-log',
    answer: z.strictObject({ success: z.literal(true), entries: z.array(AuditEntry).min(20), nextCursorTs: z.int() }),
  },
  { name: 'PATCH /v3/workspaces/{id}', body: { updates: {} }, answer: envelope({ data: Workspace }) },
  {
    name: 'GET /v3/agents/{agentId}/custom-metrics/{metricId}',
    answer: z.strictObject({ success: z.literal(true), metric: Metric }),
  },
  {
    name: 'PUT /v3/agents/{agentId}/custom-metrics/{metricId}',
    body: { metric: {} },
    answer: envelope({ metric: Metric }),
  },
  {
    name: 'GET /v3/voices',
    answer: z.strictObject({
      ...numbers('total limit offset'),
      ...lists('providersQueried'),
      providersFailed: z.array(z.strictObject(texts('provider error'))),
      voices: z.array(Voice).min(20),
    }),
  },
  {
    name: 'GET /v3/workspaces/{workspaceId}/crawler/jobs/{jobId}/pages/{pageId}',
    answer: envelope({ data: CrawlerPage }),
  },
  { name: 'GET /v3/agents/{agentId}/convos/export', answer: ExportAnswer },
  { name: 'GET /v3/orgs/{orgId}', answer: envelope({ data: Organization }) },
  {
    name: 'GET /v3/orgs/{orgId}/teams',
    answer: envelope({ teams: z.array(Team).min(1), total: z.int(), hasMore: z.boolean() }),
  },
  {
    name: 'GET /v3/agents/search',
    answer: z.strictObject({ agents: z.array(Agent).min(1), starredAgents: z.array(Agent).min(1) }),
  },
  {
    name: 'DELETE /v3/workspaces/{workspaceId}/crawler/jobs/{jobId}',
    answer: envelope({}),
  },
  { name: 'DELETE /v3/orgs/{orgId}', answer: envelope({ deletedClientsCount: z.int().min(1) }) },
]

const { conversation: documented } = JSON.parse(
  readFileSync(new URL('../catalog/api-v3-fields.json', import.meta.url), 'utf8'),
) as { conversation: Record<string, string> }

/** Section 2.10: the type of each field by its path. The last eight are undocumented, like some fields of real records. */
const FIELDS: Record<string, string> = {
  ...documented,
  ...{ title: 'any', lastMessage: 'any', widgetVersion: 'any', unreadCount: 'any', attachments: 'any' },
  'detailedCost.twilioCost': 'number',
  'crmActivities[].priority': 'string',
  'handoffHistory[].queuePosition': 'number',
}

const TYPES: Record<string, z.ZodType> = {
  ...{ string: z.string(), number: z.number(), boolean: z.boolean(), 'array of string': z.array(z.string()) },
  ...anything('any unstated'),
}

/** Returns the schema of the object at a path, whose fields are all optional and may be null. */
const objectAt = (prefix: string): z.ZodType =>
  z.strictObject(
    Object.fromEntries(
      Object.entries(FIELDS).flatMap(([path, type]) => {
        const name = path.startsWith(prefix) ? path.slice(prefix.length) : ''
        return /^\w+$/.test(name) ? [[name, typeAt(path, type).nullish()]] : []
      }),
    ),
  )

const typeAt = (path: string, type: string): z.ZodType =>
  TYPES[type] ?? (type === 'object' ? objectAt(`${path}.`) : z.array(objectAt(`${path}[].`)))

export const CONVERSATION_FIELDS = Object.keys(documented).filter(path => /^\w+$/.test(path))

export const Conversation = objectAt('')

const CHANNEL = z.enum(['voice', 'ext', 'web-chat', 'whatsapp', 'instagram', 'gb-chat', 'telephony', 'webchat'])
const may = (names: string) => each(z.string().optional(), names)

const changes = (resource: string, fields: z.ZodRawShape) =>
  ['created', 'updated', 'deleted'].map(operation => [
    `${resource}_${operation}`,
    z.strictObject({ ...fields, operation: z.literal(operation) }),
  ])

const OF_AGENT = { ...texts('agentId'), ...may('agentName') }

/** Section 6.3, without the fields that every payload has. */
export const EVENTS: Record<EventName, z.ZodType> = {
  ...Object.fromEntries([
    ...changes('agent', { ...OF_AGENT, agentPlatform: z.enum(['vg', 'vf']).optional() }),
    ...changes('organisation', { ...texts('organisationId'), ...may('organisationName') }),
    ...changes('client', { ...texts('organisationId clientId'), ...may('organisationName clientName clientEmail') }),
  ]),
  message_received: z.strictObject({
    ...OF_AGENT,
    ...texts('convoId messageContent'),
    ...may('messageType from'),
    channel: z.enum(['whatsapp', 'instagram', 'webchat']),
  }),
  conversation_updated: z.strictObject({
    ...OF_AGENT,
    ...texts('convoId'),
    ...may('sessionId channel'),
    region: z.enum(['eu', 'na']).optional(),
    lightConvoData: z.looseObject({}),
    turns: z.array(z.looseObject({})).min(1),
    messagesHistory: z.array(z.looseObject({})).optional(),
    operation: z.literal('updated'),
  }),
  lead_captured: z.strictObject({
    ...OF_AGENT,
    ...may('leadName leadEmail leadPhone'),
    channel: CHANNEL,
    operation: z.literal('captured'),
  }),
  form_submitted: z.strictObject({
    ...OF_AGENT,
    ...texts('convoId'),
    formType: z.enum(['ui_engine_form', 'ui_engine_input']),
    formData: z.looseObject({}),
    channel: CHANNEL,
  }),
  chat_delegated: z.strictObject({
    ...OF_AGENT,
    ...texts('convoId assignedToUserId customerName customerEmail'),
    ...may('assignedToUserName assignedToUserEmail delegatedByUserId delegatedByUserName customerPhone'),
    channel: CHANNEL,
    operation: z.literal('delegated'),
  }),
  bug_reported: z.strictObject({
    ...OF_AGENT,
    ...texts('convoId bugDescription reportedByUserId reportedByUserName'),
    ...may('imageUrl reportedByUserEmail'),
    channel: CHANNEL,
    operation: z.literal('reported'),
  }),
}
