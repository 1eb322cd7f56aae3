import { metricsOf, sumOf } from '../declaration.ts'

const TAG = { mart: 'tags_daily', where: 'true', dimensions: ['workspace', 'agent', 'channel', 'tag'] } as const

export const TOPICS = metricsOf('Topics', TAG, {
  tagged_conversations: {
    title: 'Conversations by tag',
    ...sumOf('conversations'),
    definition: 'Conversations that began in the period and have a tag, each once for every tag.',
    misleads:
      'Without a split by tag it counts a conversation several times. Beyond the 100 most frequent tags of an agent, channel and day, tags have no name.',
  },
  tag_resolved_rate: {
    title: 'Resolved now, by tag',
    unit: 'share',
    better: 'higher',
    numerator: 'sum(resolved)',
    denominator: 'sum(conversations)',
    definition: 'Share of conversations with a tag that are resolved now.',
    misleads: 'Tags are often set by the person who resolves a conversation.',
  },
  tag_csat_score: {
    title: 'Satisfaction by tag',
    unit: 'score',
    better: 'higher',
    numerator: 'fsum(csat_score_sum)',
    denominator: 'sum(csat_answers)',
    definition: 'Average satisfaction score of conversations with a tag.',
    misleads: 'The vendor does not state the scale, and few contacts answer.',
  },
})
