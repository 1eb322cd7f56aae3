import { metricsOf } from '../declaration.ts'
import type { DimensionName } from '../dimensions.ts'

const AGENT = ['workspace', 'agent', 'channel'] as const satisfies readonly DimensionName[]

const LATE =
  'It rests on when ends and resolutions are known to have happened: a conversation that nobody ends stays in it.'

const level = (name: string, column: string, title: string, definition: string) => ({
  name,
  title,
  mart: 'backlog_daily',
  where: 'true',
  unit: 'count' as const,
  better: 'lower' as const,
  numerator: `coalesce(sum(${column}), 0)`,
  isLevel: true,
  dimensions: AGENT,
  definition,
  misleads: LATE,
})

export const BACKLOG = metricsOf('Backlog', [
  level(
    'backlog_open',
    'open',
    'Open at the end of the day',
    'Conversations that had begun and not ended at the end of the period’s last day.',
  ),
  level(
    'backlog_waiting',
    'waiting',
    'Waiting for a person at the end of the day',
    'Conversations whose handoff nobody had accepted at the end of the period’s last day.',
  ),
  level(
    'backlog_older_than_1_day',
    'older_than_1_day',
    'Unresolved for more than a day',
    'Conversations that had begun more than a day before the end of the period’s last day and were not resolved by then.',
  ),
  level(
    'backlog_older_than_7_days',
    'older_than_7_days',
    'Unresolved for more than a week',
    'Conversations that had begun more than seven days before the end of the period’s last day and were not resolved by then.',
  ),
])
