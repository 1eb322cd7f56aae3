import { metricsOf } from '../declaration.ts'
import type { DimensionName } from '../dimensions.ts'

const TAG = ['workspace', 'agent', 'channel', 'tag'] as const satisfies readonly DimensionName[]

const tags = { mart: 'tags_daily', where: 'true', dimensions: TAG }

export const TOPICS = metricsOf('Topics', [
  {
    ...tags,
    name: 'tagged_conversations',
    title: 'Conversations by tag',
    unit: 'count',
    numerator: 'coalesce(sum(conversations), 0)',
    definition: 'Conversations that began in the period and have a tag, each once for every tag.',
    misleads:
      'Without a split by tag it counts a conversation several times. Beyond the 100 most frequent tags of an agent, channel and day, tags have no name.',
  },
  {
    ...tags,
    name: 'tag_resolved_rate',
    title: 'Resolved now, by tag',
    unit: 'share',
    better: 'higher',
    numerator: 'sum(resolved)',
    denominator: 'sum(conversations)',
    definition: 'Share of conversations with a tag that are resolved now.',
    misleads: 'Tags are often set by the person who resolves a conversation.',
  },
  {
    ...tags,
    name: 'tag_csat_score',
    title: 'Satisfaction by tag',
    unit: 'score',
    better: 'higher',
    numerator: 'fsum(csat_score_sum)',
    denominator: 'sum(csat_answers)',
    definition: 'Average satisfaction score of conversations with a tag.',
    misleads: 'The vendor does not state the scale, and few contacts answer.',
  },
])
