import { type MetricFields, metricsOf } from '../declaration.ts'
import type { DimensionName } from '../dimensions.ts'

const SPEND = ['workspace', 'agent', 'channel'] as const satisfies readonly DimensionName[]

const BOOKED =
  'The growth is booked on the day on which an export or event showed it, so a day that was read late has the spending of several.'

/** Returns the metric of one measure of cost. Different measures may include each other and are never added up. */
const spent = (measure: { name: string; column: string; title: string; what: string; unit: MetricFields['unit'] }) => ({
  name: measure.name,
  title: measure.title,
  mart: 'fct_spend',
  unit: measure.unit,
  numerator: `fsum(${measure.column})`,
  behind: `${measure.column} <> 0`,
  dimensions: SPEND,
  definition: `${measure.what} that conversations of any age used in the period.`,
  misleads: BOOKED,
})

export const SPENDING = metricsOf('Spend', [
  spent({
    name: 'tokens_usd',
    column: 'tokens_usd',
    title: 'Cost of tokens',
    what: 'Cost of the tokens in USD',
    unit: 'usd',
  }),
  spent({ name: 'credits', column: 'credits', title: 'Credits', what: 'Credits', unit: 'unstated' }),
  spent({
    name: 'llm_cost',
    column: 'llm_cost',
    title: 'Cost of language models',
    what: 'Cost of language models, in a unit that the vendor does not state,',
    unit: 'unstated',
  }),
  spent({
    name: 'speech_cost',
    column: 'speech_cost',
    title: 'Cost of speech',
    what: 'Cost of generated speech, in a unit that the vendor does not state,',
    unit: 'unstated',
  }),
  spent({
    name: 'transcriber_cost',
    column: 'transcriber_cost',
    title: 'Cost of transcription',
    what: 'Cost of transcription, in a unit that the vendor does not state,',
    unit: 'unstated',
  }),
  spent({
    name: 'call_cost',
    column: 'call_cost',
    title: 'Cost of calls',
    what: 'Cost of external calls, in a unit that the vendor does not state,',
    unit: 'unstated',
  }),
  {
    ...spent({ name: 'tokens', column: 'tokens', title: 'Tokens', what: 'Tokens', unit: 'tokens' }),
    numerator: 'coalesce(sum(tokens), 0)',
  },
  {
    name: 'model_tokens_usd',
    title: 'Cost of tokens by model',
    mart: 'fct_token_usage',
    unit: 'usd',
    numerator: 'fsum(tokens_usd)',
    behind: 'tokens_usd <> 0',
    dimensions: [...SPEND, 'model'],
    definition: 'Cost of the tokens in USD that a model used in the period.',
    misleads: `Usage without a model is not in it. ${BOOKED}`,
  },
  {
    name: 'usd_per_conversation',
    title: 'Cost of tokens per conversation',
    mart: 'fct_conversations',
    unit: 'usd',
    better: 'lower',
    numerator: 'fsum(tokens_usd)',
    denominator: 'count(*)',
    behind: 'tokens_usd > 0',
    dimensions: SPEND,
    definition:
      'Cost of the tokens over the whole lives of the conversations that began in the period, divided by their number.',
    misleads: 'Recent conversations still cost more.',
  },
  {
    name: 'usd_per_resolved',
    title: 'Cost of tokens per resolved conversation',
    mart: 'fct_conversations',
    unit: 'usd',
    better: 'lower',
    numerator: 'fsum(tokens_usd)',
    denominator: 'count(*) FILTER (was_resolved)',
    behind: 'tokens_usd > 0',
    dimensions: SPEND,
    definition:
      'Cost of the tokens of all conversations that began in the period, divided by those that have ever been resolved.',
    misleads: 'It is the price of a resolution only if conversations are marked as resolved.',
  },
])
