import { average, countOf, metricsOf } from '../declaration.ts'
import type { DimensionName } from '../dimensions.ts'

const LEAD = [
  'workspace',
  'agent',
  'channel',
  'lead_stage',
  'currency',
  'temperature',
  'assignee',
] as const satisfies readonly DimensionName[]

export const LEADS = metricsOf('Leads', [
  {
    name: 'leads',
    title: 'Leads',
    mart: 'fct_leads',
    ...countOf(),
    dimensions: LEAD,
    definition: 'Conversations that began in the period and whose contact is a lead: with a stage or a value.',
    misleads: 'Stages are those of now, not of the period.',
  },
  {
    name: 'lead_value',
    title: 'Value of leads',
    mart: 'fct_leads',
    unit: 'money',
    better: 'higher',
    numerator: 'fsum(lead_value)',
    n: 'count(lead_value)',
    minimum: 1,
    unitBy: 'currency',
    behind: 'lead_value IS NOT NULL',
    dimensions: LEAD,
    definition: 'Sum of the values of leads, in one currency.',
    misleads: 'People enter the values, and one wrong value moves the sum.',
  },
  {
    name: 'lead_score',
    title: 'Score of leads',
    mart: 'fct_leads',
    unit: 'score',
    better: 'higher',
    ...average('lead_score'),
    dimensions: LEAD,
    definition: 'Average score of the leads that have one.',
    misleads: 'The vendor does not state the scale.',
  },
  {
    name: 'funnel_conversations',
    title: 'Conversations by funnel step',
    mart: 'funnel_daily',
    where: 'true',
    unit: 'count',
    numerator: 'coalesce(sum(conversations), 0)',
    dimensions: ['workspace', 'agent', 'channel', 'funnel_step'],
    definition: 'Conversations that reached a step of the funnel, each once for every step.',
    misleads: 'Without a split by step it counts a conversation several times.',
  },
])
