import { averageScore, countOf, metricsOf, share } from '../declaration.ts'
import { CONVERSATIONS } from './volume.ts'

const NO_SCALE = 'The vendor does not state the scale. Few contacts answer, and those who do are not like the others.'

export const SATISFACTION = metricsOf('Satisfaction', CONVERSATIONS, {
  csat_score: {
    title: 'Satisfaction',
    ...averageScore('csat_score'),
    definition:
      'Average satisfaction score of the surveys that contacts answered, by the day on which the conversation began.',
    misleads: NO_SCALE,
  },
  csat_ease: {
    title: 'Ease',
    ...averageScore('csat_ease'),
    definition: 'Average ease score of the surveys that contacts answered.',
    misleads: NO_SCALE,
  },
  rating: {
    title: 'Rating',
    ...averageScore('rating_from5'),
    definition: 'Average of the ratings in `ratingFrom5`.',
    misleads: NO_SCALE,
  },
  csat_answers: {
    title: 'Survey answers',
    ...countOf('csat_score IS NOT NULL'),
    definition: 'Conversations whose satisfaction survey was answered with a score.',
    misleads: 'A later answer replaces an earlier one.',
  },
  csat_answer_rate: {
    title: 'Share of answered surveys',
    ...share('csat_score IS NOT NULL'),
    definition: 'Share of all conversations whose survey was answered with a score.',
    misleads: 'The vendor does not say to whom a survey was sent, so all conversations are its base.',
  },
})
