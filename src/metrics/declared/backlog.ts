import { metricsOf, sumOf } from '../declaration.ts'

const BACKLOG_DAILY = {
  mart: 'backlog_daily',
  where: 'true',
  better: 'lower',
  isLevel: true,
  dimensions: ['workspace', 'agent', 'channel'],
  misleads:
    'It rests on when ends and resolutions are known to have happened: a conversation that nobody ends stays in it.',
} as const

export const BACKLOG = metricsOf('Backlog', BACKLOG_DAILY, {
  backlog_open: {
    title: 'Open at the end of the day',
    ...sumOf('open'),
    definition: 'Conversations that had begun and not ended at the end of the period’s last day.',
  },
  backlog_waiting: {
    title: 'Waiting for a person at the end of the day',
    ...sumOf('waiting'),
    definition: 'Conversations whose handoff nobody had accepted at the end of the period’s last day.',
  },
  backlog_older_than_1_day: {
    title: 'Unresolved for more than a day',
    ...sumOf('older_than_1_day'),
    definition:
      'Conversations that had begun more than a day before the end of the period’s last day and were not resolved by then.',
  },
  backlog_older_than_7_days: {
    title: 'Unresolved for more than a week',
    ...sumOf('older_than_7_days'),
    definition:
      'Conversations that had begun more than seven days before the end of the period’s last day and were not resolved by then.',
  },
})
