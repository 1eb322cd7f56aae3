import { type MetricUnit, metricsOf } from '../declaration.ts'
import { CONVERSATIONS } from './volume.ts'

const BOOKED =
  'The growth is booked on the day on which an export or event showed it, so a day that was read late has the spending of several.'

const SPEND = { mart: 'fct_spend', dimensions: ['workspace', 'agent', 'channel'], misleads: BOOKED } as const

/** Returns the fields of one measure of cost. Different measures may include each other and are never added up. */
const spent = (column: string, what: string, unit: MetricUnit) => ({
  unit,
  numerator: `fsum(${column})`,
  n: `count(${column})`,
  minimum: 0,
  behind: `${column} <> 0`,
  definition: `${what} that conversations of any age used in the period.`,
})

/** Returns the fields of a measure whose unit the vendor does not state. */
const unstated = (column: string, what: string) =>
  spent(column, `${what}, in a unit that the vendor does not state,`, 'unstated')

const PER_CONVERSATION = {
  ...CONVERSATIONS,
  unit: 'usd',
  better: 'lower',
  numerator: 'fsum(tokens_usd)',
  behind: 'tokens_usd > 0',
} as const

export const SPENDING = [
  ...metricsOf('Spend', SPEND, {
    tokens_usd: { title: 'Cost of tokens', ...spent('tokens_usd', 'Cost of the tokens in USD', 'usd') },
    credits: { title: 'Credits', ...spent('credits', 'Credits', 'unstated') },
    llm_cost: { title: 'Cost of language models', ...unstated('llm_cost', 'Cost of language models') },
    speech_cost: { title: 'Cost of speech', ...unstated('speech_cost', 'Cost of generated speech') },
    transcriber_cost: { title: 'Cost of transcription', ...unstated('transcriber_cost', 'Cost of transcription') },
    call_cost: { title: 'Cost of calls', ...unstated('call_cost', 'Cost of external calls') },
    tokens: { title: 'Tokens', ...spent('tokens', 'Tokens', 'tokens'), numerator: 'coalesce(sum(tokens), 0)' },
    model_tokens_usd: {
      title: 'Cost of tokens by model',
      ...spent('tokens_usd', '', 'usd'),
      mart: 'fct_token_usage',
      dimensions: [...SPEND.dimensions, 'model'],
      definition: 'Cost of the tokens in USD that a model used in the period.',
      misleads: `Usage without a model is not in it. ${BOOKED}`,
    },
  }),
  ...metricsOf('Spend', PER_CONVERSATION, {
    usd_per_conversation: {
      title: 'Cost of tokens per conversation',
      denominator: 'count(*)',
      definition:
        'Cost of the tokens over the whole lives of the conversations that began in the period, divided by their number.',
      misleads: 'Recent conversations still cost more.',
    },
    usd_per_resolved: {
      title: 'Cost of tokens per resolved conversation',
      denominator: 'count(*) FILTER (was_resolved)',
      definition:
        'Cost of the tokens of all conversations that began in the period, divided by those that have ever been resolved.',
      misleads: 'It is the price of a resolution only if conversations are marked as resolved.',
    },
  }),
]
