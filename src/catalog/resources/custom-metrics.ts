// Custom metrics of an agent (sections 2.3 and 4.7). No endpoint lists them, so their ids come from metrics of
// conversations and from the configuration, and many requests may end in a 404.
import { DAY } from '../../core/time.ts'
import type { RecordType } from '../shape.ts'
import { boolean, text, texts, time } from '../shape.ts'
import type { Resource } from './resource.ts'
import { withRequestedId } from './resource.ts'

const customMetric: RecordType = {
  name: 'custom metric',
  table: 'custom_metrics',
  about: 'One row for each custom metric of an agent whose id is known, as it was last returned',
  // System metrics have the same id for every agent.
  id: { key: 'id', column: 'metric_id' },
  perAgent: true,
  fields: {
    id: text('Id of the metric', { column: 'metric_id' }),
    key: text('Key', { pii: 'label', column: 'metric_key' }),
    description: text('Description', { pii: 'content' }),
    type: text('Type, e.g. number or enum', { pii: 'word' }),
    isSystem: boolean('System metric: the API cannot change it'),
    options: texts('Allowed values of a metric of the type enum', 'custom_metric_options', 'option_value', {
      pii: 'label',
    }),
    createdAtUNIX: time('When it was created', { column: 'created_at' }),
    updatedAtUNIX: time('Last change', { column: 'updated_at' }),
  },
}

export const CUSTOM_METRICS = {
  stream: 'custom_metrics',
  answer: 'custom metric',
  path: '/v3/agents/{agentId}/custom-metrics/{metricId}',
  parent: 'agents',
  paging: 'record',
  prepare: withRequestedId('metric', 'id'),
  envelope: ['metric'],
  freshness: { everyMs: DAY, absentEveryMs: 30 * DAY },
  record: customMetric,
  absence: 'not found',
  ids: { tables: ['custom_metrics', 'conversation_metrics'], setting: 'customMetrics' },
  landedAs: 'metric',
} as const satisfies Resource
