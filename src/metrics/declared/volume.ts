import { countOf, duration, metricsOf, share, sumOf } from '../declaration.ts'

/** The mart with one row for each conversation. */
export const CONVERSATIONS = {
  mart: 'fct_conversations',
  dimensions: ['workspace', 'agent', 'channel', 'language', 'country', 'outcome', 'assignee'],
} as const
const { dimensions } = CONVERSATIONS

export const VOLUME = metricsOf('Volume', CONVERSATIONS, {
  conversations: {
    title: 'Conversations',
    ...countOf(),
    dimensions: [...dimensions, 'state', 'end_reason'],
    definition: 'Conversations that began in the period, without tests.',
    misleads:
      'Conversations without a message of a contact are never exported, so it counts fewer than the vendor’s own pages may show.',
  },
  contacts: {
    title: 'Contacts',
    unit: 'count',
    // None is unknown: a policy may drop them.
    numerator: 'nullif(count(DISTINCT contact_id), 0)',
    isAdditive: false,
    behind: 'contact_id IS NOT NULL',
    definition: 'Different contacts who began a conversation in the period.',
    misleads:
      'A contact who writes on two channels counts twice unless an address or number joins them, and the contacts of two periods must not be added up.',
  },
  messages_per_conversation: {
    title: 'Messages per conversation',
    unit: 'count',
    numerator: 'sum(messages)',
    denominator: 'count(messages)',
    definition: 'Messages of conversations that began in the period, divided by these conversations.',
    misleads: 'Long conversations are no worse than short ones, and recent ones still grow.',
  },
  sessions: {
    title: 'Sessions',
    ...sumOf('sessions'),
    behind: 'sessions > 0',
    definition: 'Sessions of conversations that began in the period, over their whole lives.',
    misleads: 'It is no bill: exports bill sessions when they read them, and read some conversations again.',
  },
  conversation_duration_median: {
    title: 'Duration of conversations (median)',
    ...duration('duration_seconds', { better: null }),
    definition: 'Median time from the first to the last message.',
    misleads: 'A contact who returns after a week prolongs a conversation by a week.',
  },
  transcript_share: {
    title: 'Conversations with a transcript',
    ...share('has_transcript'),
    definition: 'Share of conversations whose messages are known.',
    misleads: 'Only webhooks deliver messages: reply times rest on these conversations alone.',
  },
})
