import { average, countOf, metricsOf, share } from '../declaration.ts'
import { CONVERSATION } from './volume.ts'

const FEW_ANSWER = 'Few contacts answer, and those who do are not like the others.'

export const SATISFACTION = metricsOf('Satisfaction', [
  {
    name: 'csat_score',
    title: 'Satisfaction',
    mart: 'fct_conversations',
    unit: 'score',
    better: 'higher',
    ...average('csat_score'),
    dimensions: CONVERSATION,
    definition:
      'Average satisfaction score of the surveys that contacts answered, by the day on which the conversation began.',
    misleads: `The vendor does not state the scale. ${FEW_ANSWER}`,
  },
  {
    name: 'csat_ease',
    title: 'Ease',
    mart: 'fct_conversations',
    unit: 'score',
    better: 'higher',
    ...average('csat_ease'),
    dimensions: CONVERSATION,
    definition: 'Average ease score of the surveys that contacts answered.',
    misleads: `The vendor does not state the scale. ${FEW_ANSWER}`,
  },
  {
    name: 'rating',
    title: 'Rating',
    mart: 'fct_conversations',
    unit: 'score',
    better: 'higher',
    ...average('rating_from5'),
    dimensions: CONVERSATION,
    definition: 'Average of the ratings in `ratingFrom5`.',
    misleads: `The vendor does not state the scale. ${FEW_ANSWER}`,
  },
  {
    name: 'csat_answers',
    title: 'Survey answers',
    mart: 'fct_conversations',
    ...countOf('csat_score IS NOT NULL'),
    dimensions: CONVERSATION,
    definition: 'Conversations whose satisfaction survey was answered with a score.',
    misleads: 'A later answer replaces an earlier one.',
  },
  {
    name: 'csat_answer_rate',
    title: 'Share of answered surveys',
    mart: 'fct_conversations',
    ...share('csat_score IS NOT NULL'),
    dimensions: CONVERSATION,
    definition: 'Share of all conversations whose survey was answered with a score.',
    misleads: 'The vendor does not say to whom a survey was sent, so all conversations are its base.',
  },
])
