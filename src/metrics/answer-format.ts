// The answers to requests for metrics, as OpenAPI describes them to clients.
import { z } from 'zod'
import { METRIC_UNITS } from './declaration.ts'
import { DIMENSIONS, type DimensionName } from './dimensions.ts'

const text = z.string().nullable()
const number = z.number().nullable()
const flag = (description: string) => z.boolean().meta({ description })
const object = <Shape extends z.ZodRawShape>(id: string, shape: Shape) => z.object(shape).meta({ id })

const value = {
  value: number.meta({
    description:
      'Null without enough observations, of unlike or unknown units, or if nothing was exported. With incomplete coverage it is that of the exported part',
  }),
  n: z.number().meta({ description: 'Number of observations' }),
  isCovered: flag('True if everything concerned was exported'),
}

const compared = object('ComparedValue', value)
export type Compared = z.infer<typeof compared>

const cell = object('Cell', {
  ...value,
  isUnfinished: flag('True if the period has not ended in the data: the value still changes'),
  comparedWith: compared.nullable().meta({
    description:
      'The same in the period before; null if none was asked for, if either is unfinished or not covered, or a sum over more days',
  }),
})
export type Cell = z.infer<typeof cell>

const splitValue = object('SplitValue', {
  ...{ workspaceId: text, value: text, label: text },
  isOther: flag('True for all values beyond the first ones'),
})
export type SplitValue = z.infer<typeof splitValue>

const seriesOfValue = object('Series', {
  split: splitValue.nullable().meta({ description: 'Null for the total over all values' }),
  cells: z.array(cell).meta({ description: 'One for each bucket, in order' }),
  total: cell
    .nullable()
    .meta({ description: 'The whole period; null for a level with several buckets, which has no total' }),
})

export type Series = z.infer<typeof seriesOfValue>

const period = object('Period', { from: z.string(), to: z.string() })
const bucket = object('Bucket', { key: z.string(), from: z.string(), to: z.string() })

const metricAnswered = object('MetricAnswer', {
  metric: z.string(),
  unit: z.enum(METRIC_UNITS),
  period,
  periodBefore: period.nullable(),
  buckets: z.array(bucket),
  series: z
    .array(seriesOfValue)
    .meta({ description: 'The values of the split by rank, then all others; last, the total over all values' }),
  sql: z.string().meta({ description: 'Computed the values' }),
})
export type MetricAnswered = z.infer<typeof metricAnswered>
export type MetricAnswer = Omit<MetricAnswered, 'sql'>

const conversationKey = object('ConversationKey', {
  ...{ workspace_id: z.string(), agent_id: z.string(), conversation_id: z.string(), day: z.string() },
})
export type ConversationKey = z.infer<typeof conversationKey>

const behind = object('ConversationsBehind', {
  conversations: z.array(conversationKey),
  truncated: flag('True if there are more than `limit`'),
  sql: z.string(),
})
export type Behind = z.infer<typeof behind>

const parts = object('Parts', { numerator: z.number(), denominator: z.number() })
const contribution = object('Contribution', {
  key: splitValue,
  rate: z.number().meta({ description: 'By the change of the value itself; of a count all of it' }),
  mix: z.number().meta({ description: 'By the change of its weight' }),
  ...{ before: parts, after: parts },
})

const explanation = object('Explanation', {
  ...{ metric: z.string(), period, periodBefore: period, split: z.enum(Object.keys(DIMENSIONS) as DimensionName[]) },
  ...{ before: z.number(), after: z.number(), contributions: z.array(contribution), sql: z.string() },
})
export type Explanation = z.infer<typeof explanation>

const explanationAnswer = object('ExplanationAnswer', {
  explanation: explanation.nullable(),
  whyNone: text.meta({ description: 'The reason why there is no explanation' }),
})
export type ExplanationAnswer = z.infer<typeof explanationAnswer>

/** By `ask`: `values`, `conversations`, `explanation`. */
export const queryAnswers = [
  object('MetricAnswers', { metrics: z.array(metricAnswered) }),
  behind,
  explanationAnswer,
] as const
