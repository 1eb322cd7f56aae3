import { averageScore, countOf, metricsOf, sumOf } from '../declaration.ts'

const LEAD = {
  mart: 'fct_leads',
  dimensions: ['workspace', 'agent', 'channel', 'lead_stage', 'currency', 'temperature', 'assignee'],
} as const

export const LEADS = metricsOf('Leads', LEAD, {
  leads: {
    title: 'Leads',
    ...countOf(),
    definition: 'Conversations that began in the period and whose contact is a lead: with a stage or a value.',
    misleads: 'Stages are those of now, not of the period.',
  },
  lead_value: {
    title: 'Value of leads',
    unit: 'money',
    better: 'higher',
    numerator: 'fsum(lead_value)',
    n: 'count(lead_value)',
    minimum: 1,
    unitBy: 'currency',
    behind: 'lead_value IS NOT NULL',
    definition: 'Sum of the values of leads, in one currency.',
    misleads:
      'People enter the values, and one wrong value moves the sum; values without a stated currency are counted, but not added up.',
  },
  lead_score: {
    title: 'Score of leads',
    ...averageScore('lead_score'),
    definition: 'Average score of leads.',
    misleads: 'The vendor does not state the scale, and leads that were never scored have its default, 0.',
  },
  funnel_conversations: {
    title: 'Conversations by funnel step',
    mart: 'funnel_daily',
    where: 'true',
    ...sumOf('conversations'),
    dimensions: ['workspace', 'agent', 'channel', 'funnel_step'],
    definition: 'Conversations that reached a step of the funnel, each once for every step.',
    misleads: 'Without a split by step it counts a conversation several times.',
  },
})
