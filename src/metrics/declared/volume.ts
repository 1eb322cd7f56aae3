import { countOf, metricsOf, quantile, share } from '../declaration.ts'
import type { DimensionName } from '../dimensions.ts'

/** Dimensions of the marts with one row for each conversation. */
export const CONVERSATION = [
  'workspace',
  'agent',
  'channel',
  'language',
  'country',
  'outcome',
  'assignee',
] as const satisfies readonly DimensionName[]

export const VOLUME = metricsOf('Volume', [
  {
    name: 'conversations',
    title: 'Conversations',
    mart: 'fct_conversations',
    ...countOf(),
    dimensions: [...CONVERSATION, 'state', 'end_reason'],
    definition: 'Conversations that began in the period, without tests.',
    misleads:
      'Conversations without a message of a contact are never exported, so it counts fewer than the vendor’s own pages may show.',
  },
  {
    name: 'contacts',
    title: 'Contacts',
    mart: 'fct_conversations',
    unit: 'count',
    numerator: 'count(DISTINCT contact_id)',
    isAdditive: false,
    behind: 'contact_id IS NOT NULL',
    dimensions: CONVERSATION,
    definition: 'Different contacts who began a conversation in the period.',
    misleads:
      'A contact who writes on two channels counts twice unless an address or number joins them, and the contacts of two periods must not be added up.',
  },
  {
    name: 'messages_per_conversation',
    title: 'Messages per conversation',
    mart: 'fct_conversations',
    unit: 'count',
    numerator: 'sum(messages)',
    denominator: 'count(messages)',
    dimensions: CONVERSATION,
    definition: 'Messages of conversations that began in the period, divided by these conversations.',
    misleads: 'Long conversations are no worse than short ones, and recent ones still grow.',
  },
  {
    name: 'sessions',
    title: 'Sessions',
    mart: 'fct_conversations',
    unit: 'count',
    numerator: 'coalesce(sum(sessions), 0)',
    behind: 'sessions > 0',
    dimensions: CONVERSATION,
    definition: 'Sessions of conversations that began in the period, over their whole lives.',
    misleads: 'It is no bill: exports bill sessions when they read them, and read some conversations again.',
  },
  {
    name: 'conversation_duration_median',
    title: 'Duration of conversations (median)',
    mart: 'fct_conversations',
    unit: 'seconds',
    ...quantile('duration_seconds', 0.5),
    dimensions: CONVERSATION,
    definition: 'Median time from the first to the last message.',
    misleads: 'A contact who returns after a week prolongs a conversation by a week.',
  },
  {
    name: 'transcript_share',
    title: 'Conversations with a transcript',
    mart: 'fct_conversations',
    ...share('has_transcript'),
    dimensions: CONVERSATION,
    definition: 'Share of conversations whose messages are known.',
    misleads: 'Only webhooks deliver messages: reply times rest on these conversations alone.',
  },
])
