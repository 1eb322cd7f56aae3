import { countOf, duration, metricsOf, share } from '../declaration.ts'

const FEW = 'Only conversations with a transcript have it: see the share of conversations with a transcript.'

const FIRST_REPLY = {
  mart: 'fct_conversations',
  dimensions: ['workspace', 'agent', 'channel', 'language'],
  misleads: FEW,
} as const
const REPLY = { mart: 'fct_responses', dimensions: ['workspace', 'agent', 'channel'], misleads: FEW } as const
const REPLIES = `is_counted AND metric IN ('first_response', 'next_response')`
const SLA = {
  mart: 'fct_responses',
  where: 'is_counted AND sla_name IS NOT NULL',
  dimensions: ['workspace', 'agent', 'channel', 'sla', 'wait'],
} as const
const HANDOFF = {
  mart: 'fct_handoffs',
  dimensions: ['workspace', 'agent', 'channel', 'accepted_by', 'organization', 'team'],
} as const

export const SERVICE = [
  ...metricsOf('Service', FIRST_REPLY, {
    first_response_median: {
      title: 'First reply (median)',
      ...duration('first_response_seconds'),
      definition: 'Median time from the contact’s first message to the first reply by the agent or a person.',
    },
    first_human_response_median: {
      title: 'First reply by a person (median)',
      ...duration('first_human_response_seconds'),
      dimensions: ['workspace', 'agent', 'channel', 'language', 'assignee'],
      definition: 'Median time from the contact’s first message to the first reply by a person.',
      misleads: `It contains the time that the agent spent on the conversation before. ${FEW}`,
    },
  }),
  ...metricsOf('Service', REPLY, {
    agent_reply_median: {
      title: 'Replies of the agent (median)',
      where: `${REPLIES} AND responder = 'agent'`,
      ...duration('wait_seconds'),
      definition: 'Median wait of a contact for a reply, where the agent gave it.',
    },
    person_reply_median: {
      title: 'Replies of people (median)',
      where: `${REPLIES} AND responder = 'person'`,
      ...duration('wait_business_seconds'),
      dimensions: ['workspace', 'agent', 'channel', 'responder'],
      definition: 'Median wait of a contact for a reply within business hours, where a person gave it.',
    },
  }),
  ...metricsOf('Service', SLA, {
    sla_met_rate: {
      title: 'Service level met',
      ...share('is_met', { of: 'is_met IS NOT NULL', better: 'higher' }),
      definition: 'Share of the judged waits that ended within their target.',
      misleads:
        'The many replies of agents outweigh the waits for people: split it by wait. Waits that have not ended are not judged.',
    },
    sla_unjudged_rate: {
      title: 'Waits without a judgement',
      ...share('is_met IS NULL', { better: 'lower' }),
      definition: 'Share of the waits with a target of which nobody knows whether they met it, or that have not ended.',
      misleads: 'It is high in the newest days because their waits have not ended.',
    },
  }),
  ...metricsOf('Service', HANDOFF, {
    handoffs: {
      title: 'Handoffs',
      ...countOf(),
      definition: 'Handoffs to people that were requested in the period.',
      misleads: 'One conversation may have several.',
    },
    handoff_acceptance_rate: {
      title: 'Handoffs accepted',
      ...share('is_accepted', { better: 'higher' }),
      definition: 'Share of handoffs that a person accepted.',
      misleads: 'Handoffs of the last hours may still be accepted.',
    },
    handoff_wait_median: {
      title: 'Wait for a person (median)',
      ...duration('wait_seconds'),
      definition: 'Median time from the request of a person to the acceptance.',
      misleads: 'Handoffs that nobody accepted have no wait and are left out.',
    },
    handoff_wait_p90: {
      title: 'Wait for a person (90th percentile)',
      ...duration('wait_seconds', { q: 0.9 }),
      definition: 'Time within which nine of ten accepted handoffs were accepted.',
      misleads: 'Handoffs that nobody accepted have no wait and are left out.',
    },
    handoff_handling_median: {
      title: 'Handling by a person (median)',
      ...duration('handling_seconds', { better: null }),
      definition: 'Median time from the acceptance of a handoff to its end.',
      misleads: 'People may leave a handoff open after the work is done.',
    },
  }),
]
