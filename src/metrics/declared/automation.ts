import { countOf, duration, metricsOf, share } from '../declaration.ts'
import { CONVERSATIONS } from './volume.ts'

export const AUTOMATION = metricsOf('Automation and resolution', CONVERSATIONS, {
  involvement_rate: {
    title: 'Involvement rate',
    ...share('agent_took_part', { better: 'higher' }),
    definition: 'Share of conversations in which the agent answered at all.',
    misleads: 'Used tokens count as an answer too, since transcripts may be missing or incomplete.',
  },
  automation_rate: {
    title: 'Automation rate',
    ...share(`outcome = 'resolved_by_agent'`, { better: 'higher' }),
    definition:
      'Share of conversations that the agent took part in and that ended resolved without a person: involvement rate × agent’s resolution rate.',
    misleads:
      'It rises when people close conversations without answering, and recent conversations may still be resolved.',
  },
  agent_resolution_rate: {
    title: 'Resolution rate of the agent',
    ...share(`outcome = 'resolved_by_agent'`, { of: 'agent_took_part', better: 'higher' }),
    definition: 'Share of the conversations in which the agent took part that ended resolved without a person.',
    misleads: 'It says nothing about the conversations that never reach the agent.',
  },
  takeover_rate: {
    title: 'Takeover rate',
    ...share('person_took_part', { better: 'lower' }),
    definition:
      'Share of conversations in which a person took over: accepted a handoff, was assigned, claimed it, or wrote.',
    misleads: 'An assignment counts although the person may never have written.',
  },
  resolution_rate: {
    title: 'Resolution rate',
    ...share('was_resolved', { better: 'higher' }),
    definition: 'Share of conversations that have ever been resolved, by whomever.',
    misleads: 'Conversations of the last days have had less time to be resolved.',
  },
  resolved_by_person_rate: {
    title: 'Resolved by a person',
    ...share(`outcome = 'resolved_by_person'`),
    definition: 'Share of conversations that ended resolved after a person took over.',
    misleads: 'The agent may have done most of the work before.',
  },
  reopening_rate: {
    title: 'Reopening rate',
    ...share('was_reopened', { of: 'was_resolved', better: 'lower' }),
    definition: 'Share of the conversations that were ever resolved that were reopened afterwards.',
    misleads: 'Conversations resolved lately have had less time to be reopened.',
  },
  abandonment_rate: {
    title: 'Abandoned while waiting for a person',
    ...share(`outcome = 'abandoned'`, { better: 'lower' }),
    definition: 'Share of conversations that ended while a requested person had not accepted.',
    misleads: 'A contact who was helped elsewhere looks like one who gave up.',
  },
  unresolved_rate: {
    title: 'Ended unresolved',
    ...share(`outcome = 'ended_unresolved'`, { better: 'lower' }),
    definition: 'Share of conversations that ended without a resolution, and not while waiting for a person.',
    misleads: 'Workspaces that never mark conversations as resolved show nearly all of them here.',
  },
  open_conversations: {
    title: 'Open conversations',
    ...countOf(`outcome = 'open'`),
    definition: 'Conversations that began in the period and have not ended yet.',
    misleads: 'The vendor may leave conversations open that nobody will continue.',
  },
  time_to_resolution_median: {
    title: 'Time to resolution (median)',
    ...duration('seconds_to_first_resolution'),
    definition: 'Median time from the start to the first known resolution.',
    misleads: 'It leaves out the conversations that are not resolved, which are often the slow ones.',
  },
})
