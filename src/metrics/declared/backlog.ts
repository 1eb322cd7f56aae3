import { metricsOf, sumOf } from '../declaration.ts'

const BACKLOG_DAILY = {
  mart: 'backlog_daily',
  where: 'true',
  better: 'lower',
  isLevel: true,
  dimensions: ['workspace', 'agent', 'channel'],
  misleads: 'A conversation that nobody resolves or ends stays in it, and one that ended unresolved has left it.',
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
    definition:
      'Handoffs that nobody had accepted at the end of the period’s last day, of conversations that had not ended.',
  },
  backlog_older_than_1_day: {
    title: 'Open for more than a day',
    ...sumOf('older_than_1_day'),
    definition:
      'Conversations that had begun more than a day before the end of the period’s last day and were open then.',
  },
  backlog_older_than_7_days: {
    title: 'Open for more than a week',
    ...sumOf('older_than_7_days'),
    definition:
      'Conversations that had begun more than seven days before the end of the period’s last day and were open then.',
  },
})
