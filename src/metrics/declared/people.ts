import { metricsOf, sumOf } from '../declaration.ts'

const PERSON = { mart: 'people_daily', where: 'true', dimensions: ['workspace', 'agent', 'person'] } as const

export const PEOPLE = metricsOf('People', PERSON, {
  person_handoffs_accepted: {
    title: 'Handoffs accepted by people',
    ...sumOf('handoffs_accepted'),
    definition: 'Handoffs requested in the period that a person accepted.',
    misleads: 'Accepting is not answering.',
  },
  person_assigned: {
    title: 'Conversations assigned to people',
    ...sumOf('assigned'),
    definition: 'Conversations that began in the period and are assigned to a person now.',
    misleads: 'A conversation that was passed on counts for its last assignee only.',
  },
  person_resolutions: {
    title: 'Resolutions by people',
    ...sumOf('resolutions'),
    definition: 'Conversations that a person resolved last, by the day of the resolution.',
    misleads: 'An automatic rule may resolve in the name of a person.',
  },
})
