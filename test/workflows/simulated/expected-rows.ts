// Expected rows of a conversation record, derived only from the field list of the API document (section 2.10). Independent of the
// catalog, its SQL and DuckDB. Times are numbers, in ms.
export type ExpectedRow = Record<string, unknown>
export type ExpectedTables = Map<string, ExpectedRow[]>

type Json = Record<string, unknown>

export const words = (text: string): string[] => text.trim().split(/\s+/)

const TEXTS =
  words(`userEmail userName userPhone userAddress userCompany userWebsite notes note userProfilePic userImage
  socialHandle instagram subIndustry source language lang currency demoTime demoLink lostReason stage
  userID campaignId userOs userBrowser ipAddress browserTimezone countryCode userPlatform contactIdentityId
  crossChannelContext notifyToUserId whatsappPhoneNumberId whatsappBusinessNumber whatsappDisplayPhoneNumber
  whatsappBusinessAccountId state smbContactName archivedBy resolvedBy resolvedByEmail lastResolvedAssigneeId reopenReason
  delegatedBy requestedTeamKey chatAssignedTo endReason summary shortSummary funnelSummary hotLabel`)
const COUNTS = words('messagesNum interactionsNum sessionsNum totalUserInteractions')
const NUMBERS = words('value convoTimeSeconds ratingFrom5 averageLatency hotScore leadScore')
const TIMES =
  words(`ts firstMessageTS lastMessageTS lastModified lastViewed delegatedAt archivedAt resolvedAt reopenedAt
  funnelLastEvaluated smbContactRemovedAt smbLastSeenAt humanClaimedAt humanLastRepliedAt pendingAiReplyAt`)
const BOOLEANS = words(`isFollowingBusiness socialVerified isTyping isBlocked isTest isArchived isResolved smbContact
  funnelNotificationSent`)
const ANY = words(
  'origin capturedVariables campaignCalls sessions metrics funnelStepsMatched funnelScoreHistory funnelExtractedData',
)
const LISTS = words('linkedChannels tags chatAssignedToIds assignedToUsers handoffHistory crmActivities')

/** Keys of nested objects: `plain` values (texts, numbers, booleans) are stored unchanged, `times` as timestamps. */
const OBJECTS: Record<string, { plain: string[]; times?: string[] }> = {
  externalSession: { plain: words('sessionKey projectId environmentAlias resolvedRuntime'), times: ['updatedAt'] },
  ext: {
    plain: words(
      'cost callDuration recordingUrl syncRecordingUrl callerPhoneNumber calleePhoneNumber callStatus callError',
    ),
  },
  nodesInfo: { plain: ['currentNode'] },
  voice: { plain: words('latestSessionId listenUrl'), times: ['listenUrlUNIX'] },
  detailedCost: { plain: words('totalCreditsConsumed speechGenCost transcriberCost llmCost') },
  csat: { plain: words('satisfaction10 ease10 comment channel surveyVersion'), times: ['submittedAt'] },
  crmAlerts: { plain: words('overdueECD overdueActivity staleLead responded newHandoffAssigned') },
  inboundEngagementState: {
    plain: words(`firstDecisionShouldReply lastDecisionShouldReply aiOwnedThread ignoreThread lastDecisionReason
      lastTriggeredBy`),
    times: words('firstDecisionAt lastDecisionAt'),
  },
  tokenUsage: {
    plain: words(`cumulativeInputTokens cumulativeOutputTokens cumulativeTotalTokens cumulativeUsd lastTurnInputTokens
      lastTurnOutputTokens lastTurnTotalTokens lastTurnUsd lastTurnContextWindow lastTurnModelId`),
    times: ['lastTurnTs'],
  },
}

const ASSIGNEE = words('userId name email photoUrl note status')

const snaked = new Map<string, string>()

/** Cached, because every row looks up the same few names. */
export function snake(key: string): string {
  const name = snaked.get(key) ?? asSnake(key)
  snaked.set(key, name)
  return name
}

const asSnake = (key: string): string =>
  key
    .replace(/(TS|ID|ECD|UNIX)$/, word => `_${word}`)
    .replace(/[A-Z]+/g, letters => (letters.length > 1 ? letters : `_${letters}`))
    .toLowerCase()
    .replace(/_+/g, '_')
    .replace(/^_/, '')

const present = (value: unknown): unknown => value ?? null
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const object = (value: unknown): Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Json) : {}

/** Converts seconds, ms or µs, distinguished by magnitude (notes on the API, "Unit of a timestamp"); null for 0, which means that there is no time. */
export function timeMs(raw: unknown): number | null {
  if (typeof raw === 'string') return /^[1-9]\d{9,15}$/.test(raw) ? timeMs(Number(raw)) : null
  if (typeof raw !== 'number' || raw <= 0 || raw >= 1e17) return null
  return raw < 1e11 ? raw * 1_000 : raw < 1e14 ? raw : raw / 1_000
}

/** Parses ISO-8601 (UTC if it has no offset) and epochs of 10 to 16 digits; null for any other text. */
function textTimeMs(raw: unknown): number | null {
  if (typeof raw !== 'string' && typeof raw !== 'number') return null
  const text = String(raw)
  if (/^[1-9][0-9]{9,15}$/.test(text)) return timeMs(Number(text))
  const parts = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/.exec(text)
  if (parts === null) return null
  const [, day, clock = '00:00', seconds = ':00', zone = 'Z'] = parts
  const offset = zone === 'Z' ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`
  const ms = Date.parse(`${day}T${clock}${seconds}${offset}`)
  const isDay = new Date(`${day}T00:00:00Z`).getUTCDate() === Number(day!.slice(8))
  return Number.isNaN(ms) || !isDay ? null : ms
}

/** A value as text: a string unchanged, anything else as JSON. */
const asText = (value: unknown): string | null =>
  value === null || value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value)

const isScalar = (value: unknown): boolean => value !== null && value !== undefined && typeof value !== 'object'

/** A number, or text that JSON accepts as a number; null for other values and for text of integers that a double cannot hold exactly. */
const asNumber = (value: unknown): number | null => {
  if (typeof value === 'number') return value
  if (typeof value !== 'string' || !/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(value)) return null
  const number = Number(value)
  return Number.isFinite(number) && !(Math.abs(number) > Number.MAX_SAFE_INTEGER && /^-?\d+$/.test(value))
    ? number
    : null
}

/** A whole number; null for any other value. */
const asCount = (value: unknown): number | null => {
  const number = asNumber(value)
  return Number.isSafeInteger(number) ? number : null
}

/** The fields of `record` that are not in `known`; null if there are none. */
function unlisted(record: Json, known: Iterable<string>): Json | null {
  const listed = known instanceof Set ? known : new Set(known)
  const left = Object.entries(record).filter(([key, value]) => !listed.has(key) && value !== null)
  return left.length > 0 ? Object.fromEntries(left) : null
}

function assignee(value: unknown, prefix: string): ExpectedRow {
  const given = object(value)
  return {
    ...Object.fromEntries(ASSIGNEE.map(key => [prefix + snake(key), present(given[key])])),
    [`${prefix}assigned_at_text`]: present(given.assignedAt),
    [`${prefix}assigned_at`]: textTimeMs(given.assignedAt),
  }
}

/** An object without a prototype, which V8 stores as a dictionary from the start: ordinary objects of 150 fields took 2 ms a row. */
const emptyRow = (): ExpectedRow => Object.create(null) as ExpectedRow

/** Adds the columns of nested objects. */
function addNested(row: ExpectedRow, record: Json): void {
  for (const [name, { plain, times = [] }] of Object.entries(OBJECTS)) {
    // Some records name the object of the external voice platform `vapi`.
    const value = object(name === 'ext' ? (record.ext ?? record.vapi) : record[name])
    for (const key of plain) row[`${snake(name)}_${snake(key)}`] = present(value[key])
    for (const key of times) row[`${snake(name)}_${snake(key)}`] = timeMs(value[key])
  }
  const usage = object(record.tokenUsage)
  row.token_usage_last_turn_input_usd_per_1k = present(usage.lastTurnInputUsdPer1k)
  row.token_usage_last_turn_output_usd_per_1k = present(usage.lastTurnOutputUsdPer1k)
  row.token_usage_per_model = present(usage.usagePerModel)
}

const OTHERS = ['expectedCloseDate', 'demoDate', 'lastActivityDate', 'linkedIn', 'ID', 'assignedTo', 'vapi']
const LISTED = new Set([TEXTS, COUNTS, NUMBERS, TIMES, BOOLEANS, ANY, LISTS, OTHERS, Object.keys(OBJECTS)].flat())

function extraOf(record: Json): Json | null {
  const top = unlisted(record, LISTED) ?? {}
  const cost = unlisted(object(record.detailedCost), OBJECTS.detailedCost!.plain)
  const extra = { ...top, ...(cost && { detailedCost: cost }) }
  return Object.keys(extra).length > 0 ? extra : null
}

function channelOf(record: Json): string | null {
  const origin = typeof record.origin === 'string' ? record.origin : ''
  const channel = String(record.userPlatform || origin).toLowerCase()
  return channel === 'web-chat' ? 'webchat' : channel || null
}

/** Normalizes the spelling of a channel. */
const spelled = (channel: unknown): unknown =>
  typeof channel === 'string' && /^web-?chat$/i.test(channel) ? 'webchat' : present(channel)

/** The row of `conversations`. */
function conversationRow(record: Json): ExpectedRow {
  const row = emptyRow()
  const day = timeMs(record.firstMessageTS) ?? timeMs(record.ts)
  for (const key of [...TEXTS, ...BOOLEANS, ...ANY]) row[snake(key)] = present(record[key])
  for (const key of NUMBERS) row[snake(key)] = asNumber(record[key])
  for (const key of COUNTS) row[snake(key)] = asCount(record[key])
  for (const key of TIMES) row[snake(key)] = timeMs(record[key])
  addNested(row, record)
  return Object.assign(row, assignee(record.assignedTo, 'assigned_to_'), {
    linkedin: present(record.linkedIn),
    expected_close_date: present(record.expectedCloseDate),
    expected_close_at: textTimeMs(record.expectedCloseDate),
    demo_date: present(record.demoDate),
    demo_at: textTimeMs(record.demoDate),
    last_activity_date: present(record.lastActivityDate),
    last_activity_at: textTimeMs(record.lastActivityDate),
    channel: channelOf(record),
    csat_channel: spelled(object(record.csat).channel),
    day: day === null ? null : new Date(day).toISOString().slice(0, 10),
    extra: extraOf(record),
  })
}

/** Rows of handoffs and of their teams. */
function handoffs(record: Json): [string, ExpectedRow][] {
  return list(record.handoffHistory).flatMap((value, index): [string, ExpectedRow][] => {
    const handoff = object(value)
    const [ids, keys] = [list(handoff.teamIds), list(handoff.teamKeys)]
    const own = words('requestedAt acceptedAt completedAt acceptedBy organizationId requestedTeamKey teamIds teamKeys')
    return [
      [
        'conversation_handoffs',
        {
          position: index + 1,
          requested_at: timeMs(handoff.requestedAt),
          accepted_at: timeMs(handoff.acceptedAt),
          completed_at: timeMs(handoff.completedAt),
          accepted_by: present(handoff.acceptedBy),
          organization_id: present(handoff.organizationId),
          requested_team_key: present(handoff.requestedTeamKey),
          extra: unlisted(handoff, own),
        },
      ],
      ...ids.map((id, place): [string, ExpectedRow] => [
        'conversation_handoff_team_ids',
        { handoff_position: index + 1, position: place + 1, team_id: present(id) },
      ]),
      ...keys.map((key, place): [string, ExpectedRow] => [
        'conversation_handoff_team_keys',
        { handoff_position: index + 1, position: place + 1, team_key: present(key) },
      ]),
    ]
  })
}

/** Rows of CRM activities and of their notes. */
function crmActivities(record: Json): [string, ExpectedRow][] {
  const plain = words('type title note completed responded firstEngaged secondEngaged firstChannel secondChannel')
  return list(record.crmActivities).flatMap((value, index): [string, ExpectedRow][] => {
    const activity = object(value)
    const row = {
      position: index + 1,
      ...Object.fromEntries(plain.map(key => [snake(key), present(activity[key])])),
      first_channel: spelled(activity.firstChannel),
      second_channel: spelled(activity.secondChannel),
      activity_id: present(activity.id),
      activity_date: present(activity.date),
      activity_at: textTimeMs(activity.date),
      due_date: present(activity.dueDate),
      due_at: textTimeMs(activity.dueDate),
      metadata: present(activity.metadata),
      extra: unlisted(activity, [...plain, ...words('id date dueDate metadata notesHistory')]),
    }
    const notes = list(activity.notesHistory).map((given, place): [string, ExpectedRow] => {
      const note = object(given)
      return [
        'crm_activity_notes',
        {
          activity_position: index + 1,
          position: place + 1,
          text: present(note.text),
          author_id: present(note.agentId),
          author_name: present(note.agentName),
          noted_at_text: present(note.timestamp),
          noted_at: textTimeMs(note.timestamp),
          extra: unlisted(note, words('text agentId agentName timestamp')),
        },
      ]
    })
    return [['crm_activities', row], ...notes]
  })
}

const texts = (table: string, column: string, value: unknown): [string, ExpectedRow][] =>
  list(value).map((text, index) => [table, { position: index + 1, [column]: text }])

const entries = (table: string, key: string, value: unknown, row: (entry: unknown) => ExpectedRow) =>
  Object.entries(object(value)).map(([name, entry]): [string, ExpectedRow] => [table, { [key]: name, ...row(entry) }])

const elements = (table: string, value: unknown, row: (element: Json) => ExpectedRow) =>
  list(value).map((element, index): [string, ExpectedRow] => [table, { position: index + 1, ...row(object(element)) }])

/** A captured variable as text: of an object with a scalar `value`, that scalar; otherwise the entry itself. */
const captured = (entry: unknown): ExpectedRow => ({
  value_text: asText(isScalar(object(entry).value) ? object(entry).value : entry),
})

/** Rows of all child tables, without the key of the conversation. */
function childRows(record: Json): [string, ExpectedRow][] {
  return [
    ...texts('conversation_linked_channels', 'channel', list(record.linkedChannels).map(spelled)),
    ...texts('conversation_tags', 'tag', record.tags),
    ...texts('conversation_assigned_ids', 'user_id', record.chatAssignedToIds),
    ...list(record.assignedToUsers).map((value, index): [string, ExpectedRow] => [
      'conversation_assigned_users',
      { position: index + 1, ...assignee(value, ''), extra: unlisted(object(value), [...ASSIGNEE, 'assignedAt']) },
    ]),
    ...handoffs(record),
    ...crmActivities(record),
    ...entries('token_usage_by_model', 'model_id', object(record.tokenUsage).usagePerModel, entry => ({
      input_tokens: present(object(entry).inputTokens),
      output_tokens: present(object(entry).outputTokens),
      total_tokens: present(object(entry).totalTokens),
      usd: present(object(entry).usd),
      cost: present(object(entry).cost),
    })),
    ...entries('conversation_captured_variables', 'name', record.capturedVariables, captured),
    ...entries('conversation_funnel_data', 'name', record.funnelExtractedData, captured),
    ...elements('conversation_sessions', record.sessions, session => ({
      session_id: present(session.sessionId),
      started_at: timeMs(session.startedAt),
      ended_at: timeMs(session.endedAt),
      messages_num: present(session.messagesNum),
    })),
    ...elements('conversation_metrics', record.metrics, metric => ({
      metric_id: present(metric.metricId),
      metric_key: present(metric.key),
      value_text: isScalar(metric.value) ? asText(metric.value) : null,
      value_number: isScalar(metric.value) ? asNumber(metric.value) : null,
      measured_at: timeMs(metric.measuredAt),
    })),
    ...elements('conversation_campaign_calls', record.campaignCalls, call => ({
      call_id: present(call.callId),
      campaign_id: present(call.campaignId),
      status: present(call.status),
      called_at: timeMs(call.startedAt),
      duration: present(call.callDuration ?? call.duration ?? call.durationSeconds),
    })),
    ...elements('conversation_funnel_steps', record.funnelStepsMatched, step => ({
      step: present(step.stepId),
      matched_at: timeMs(step.matchedAt),
    })),
    ...elements('conversation_funnel_scores', record.funnelScoreHistory, score => ({
      score: asNumber(score.score),
      scored_at: timeMs(score.at),
      reason: present(score.reason),
    })),
  ]
}

/** Rows by table, each with the key of its conversation. */
export function expectedTables(records: Iterable<{ agentId: string; record: Json }>): ExpectedTables {
  const tables: ExpectedTables = new Map()
  for (const { agentId, record } of records) {
    const key = { agent_id: agentId, conversation_id: record.ID }
    for (const [table, row] of [['conversations', conversationRow(record)] as const, ...childRows(record)]) {
      const rows = tables.get(table) ?? []
      rows.push(Object.assign(row, key))
      tables.set(table, rows)
    }
  }
  return tables
}
