// The lists and objects of a conversation that become child tables.

import { any, boolean, elements, entries, lift, loose, moment, objects, text, texts, time } from '../shape.ts'

export const handoffHistory = objects('Handoffs to people, oldest first', 'conversation_handoffs', {
  requestedAt: time('When a person was requested'),
  acceptedAt: time('When somebody accepted it'),
  completedAt: time('When the handoff ended'),
  acceptedBy: text('Who accepted it', { pii: 'staff' }),
  organizationId: text('Organization that it went to'),
  requestedTeamKey: text('Key of the requested team'),
  // Two tables, because the document does not say that the two lists are parallel (notes on the API, "Usage").
  teamIds: texts(
    'Teams that a handoff went to, by id: joins `teams` by it',
    'conversation_handoff_team_ids',
    'team_id',
  ),
  teamKeys: texts(
    'Teams that a handoff went to, by key: joins `teams` by it within the organization',
    'conversation_handoff_team_keys',
    'team_key',
  ),
})

export const assignee = {
  userId: text('Id of the assignee', { pii: 'staff' }),
  name: text('Name of the assignee', { pii: 'staff' }),
  email: text('Email address of the assignee', { pii: 'staff' }),
  photoUrl: text('Picture of the assignee', { pii: 'staff' }),
  note: text('Note left with the assignment', { pii: 'content' }),
  assignedAt: moment('When it was assigned, as sent', 'assigned_at', { column: 'assigned_at_text' }),
  status: text('State of the assignment, e.g. pending', { pii: 'word' }),
}

export const assignedToUsers = objects(
  'People to whom the conversation is assigned',
  'conversation_assigned_users',
  assignee,
)

export const crmActivities = objects('CRM activities of the contact', 'crm_activities', {
  type: text('Kind of activity, e.g. Message', { pii: 'word' }),
  id: text('Id of the activity', { column: 'activity_id' }),
  title: text('Title', { pii: 'content' }),
  date: moment('Date of the activity, as sent', 'activity_at', { column: 'activity_date' }),
  dueDate: moment('Due date, as sent', 'due_at'),
  note: text('Note', { pii: 'content' }),
  completed: boolean('Done'),
  responded: boolean('The contact has responded'),
  firstEngaged: boolean('Engaged on the first channel'),
  secondEngaged: boolean('Engaged on the second channel'),
  firstChannel: text('First channel', { pii: 'word', channel: 'as-sent' }),
  secondChannel: text('Second channel, e.g. LinkedIn', { pii: 'word', channel: 'as-sent' }),
  notesHistory: objects('Earlier notes of the activity', 'crm_activity_notes', {
    text: text('The note', { pii: 'content' }),
    agentId: text('Id of its author', { pii: 'staff', column: 'author_id' }),
    agentName: text('Name of its author', { pii: 'staff', column: 'author_name' }),
    timestamp: moment('When it was written, as sent', 'noted_at', { column: 'noted_at_text' }),
  }),
  metadata: any('Whatever else was kept with the activity', { pii: 'content' }),
})

export const usagePerModel = any('Token usage by model, as sent', {
  ...{ column: 'per_model', pii: 'content' },
  unnest: entries('token_usage_by_model', 'model_id', 'Token usage of the conversation by model', 'code', [
    lift('input_tokens', 'count', ['inputTokens', 'cumulativeInputTokens', 'promptTokens'], 'Input tokens'),
    lift('output_tokens', 'count', ['outputTokens', 'cumulativeOutputTokens', 'completionTokens'], 'Output tokens'),
    lift('total_tokens', 'count', ['totalTokens', 'cumulativeTotalTokens'], 'All tokens'),
    lift('usd', 'number', ['usd', 'cumulativeUsd', 'costUsd'], 'Cost in US dollars'),
    lift('cost', 'number', ['cost'], 'Cost, under that name; unit not stated'),
  ]),
})

export const sessions = any('Sessions of the conversation, as sent', {
  pii: 'content',
  unnest: elements('conversation_sessions', 'One row for each session of the conversation', [
    lift('session_id', 'text', ['sessionId', 'sessionID', 'id', 'ID', '_id'], 'Id of the session', {
      ...{ orSelf: 'scalar', pii: 'code' },
    }),
    lift(
      'started_at',
      'time',
      ['startedAt', 'startTs', 'startTS', 'start', 'firstMessageTS', 'createdAt', 'ts'],
      'Start',
    ),
    lift('ended_at', 'time', ['endedAt', 'endTs', 'endTS', 'end', 'lastMessageTS'], 'End'),
    lift('messages_num', 'count', ['messagesNum', 'messageCount', 'messages'], 'Messages in the session'),
  ]),
})

export const metrics = any('Custom metrics measured on the conversation, as sent', {
  pii: 'content',
  unnest: elements('conversation_metrics', 'One row for each metric measured on the conversation', [
    lift('metric_id', 'text', ['metricId', 'metricID', 'id', 'ID'], 'Id of the metric'),
    lift('metric_key', 'text', ['key', 'metricKey', 'name', 'label'], 'Key of the metric', { pii: 'label' }),
    lift('value_text', 'text', ['value', 'result', 'answer'], 'Value as text', { orSelf: 'scalar', pii: 'content' }),
    lift('value_number', 'number', ['value', 'result', 'answer'], 'Value as a number, where it is one', {
      orSelf: 'scalar',
      pii: 'content',
    }),
    lift('measured_at', 'time', ['measuredAt', 'ts', 'timestamp', 'createdAt', 'updatedAt'], 'When it was measured'),
  ]),
})

export const campaignCalls = any('Calls made to the contact by campaigns, as sent', {
  pii: 'content',
  unnest: elements('conversation_campaign_calls', 'One row for each campaign call', [
    lift('call_id', 'text', ['callId', 'callID', 'id', 'ID', 'sid'], 'Id of the call', {
      orSelf: 'scalar',
      pii: 'identity',
    }),
    lift('campaign_id', 'text', ['campaignId', 'campaignID'], 'Id of the campaign'),
    lift('status', 'text', ['status', 'callStatus', 'state'], 'Outcome of the call', { pii: 'word' }),
    lift('called_at', 'time', ['calledAt', 'startedAt', 'ts', 'timestamp', 'createdAt'], 'When it was made'),
    lift('duration', 'number', ['callDuration', 'duration', 'durationSeconds'], 'How long it took; unit not stated'),
  ]),
})

export const capturedVariables = any('Variables that the agent captured, as sent', {
  pii: 'content',
  unnest: entries('conversation_captured_variables', 'name', 'One row for each captured variable', 'label', [
    lift('value_text', 'text', ['value'], 'Value as text', { orSelf: 'whole', pii: 'content' }),
  ]),
})

export const funnelStepsMatched = any('Funnel steps that the conversation reached, as sent', {
  pii: 'content',
  unnest: elements('conversation_funnel_steps', 'One row for each funnel step reached', [
    lift('step', 'text', ['stepId', 'step', 'id', 'key', 'name', 'label'], 'The step', {
      orSelf: 'scalar',
      pii: 'label',
    }),
    lift('matched_at', 'time', ['matchedAt', 'ts', 'timestamp', 'at'], 'When it was reached'),
  ]),
})

export const funnelScoreHistory = any('Scores that the funnel gave, as sent', {
  pii: 'content',
  unnest: elements('conversation_funnel_scores', 'One row for each score that the funnel gave', [
    lift('score', 'number', ['score', 'value', 'leadScore'], 'The score', { orSelf: 'scalar' }),
    lift('scored_at', 'time', ['scoredAt', 'ts', 'timestamp', 'evaluatedAt', 'at'], 'When it was given'),
    lift('reason', 'text', ['reason', 'why', 'note'], 'Why', { pii: 'content' }),
  ]),
})

export const funnelExtractedData = any('Data that the funnel extracted, as sent', {
  pii: 'content',
  unnest: entries('conversation_funnel_data', 'name', 'One row for each value that the funnel extracted', 'label', [
    lift('value_text', 'text', ['value'], 'Value as text', { orSelf: 'whole', pii: 'content' }),
  ]),
})

export const linkedChannels = texts('Other channels of the same contact', 'conversation_linked_channels', 'channel', {
  ...{ channel: 'as-sent', pii: 'word' },
})
export const tags = texts('Tags', 'conversation_tags', 'tag', { pii: 'label' })
export const chatAssignedToIds = texts('Ids of all assignees', 'conversation_assigned_ids', 'user_id', { pii: 'staff' })

export const nodesInfo = { currentNode: loose('Node of the agent that the conversation is at', { pii: 'label' }) }
