// `GET /v1/conversations`: a list with filters, page by page, and one conversation with everything that is known of it.
import { z } from '@hono/zod-openapi'
import { ConvohouseError } from '../../core/errors.ts'
import { metricsRequest } from '../../metrics/request.ts'
import { columnsSeen, isSeen } from '../column-classes.ts'
import { conversationOf, KEY, MART, textOf, whyNoTexts } from '../conversation.ts'
import type { DeclaredMetrics } from '../declared-metrics.ts'
import type { DeclaredQuery, SnapshotReaders } from '../readers/snapshot-readers.ts'
import { expectScope, type Routes } from './app.ts'
import { invalidRequest } from './problem.ts'
import { choice, record, snapshotRoute } from './snapshot-route.ts'

/** Newest first, or those that wait longest; rows without a time come last. */
const STARTED_US = 'CASE WHEN isfinite(c.started_at) THEN epoch_us(c.started_at) ELSE 0 END'
const WAITING_US = '-epoch_us(waiting_since)'
const orderOf = ({ isWaiting }: { isWaiting?: string | undefined }) => [
  isWaiting === 'true' ? WAITING_US : STARTED_US,
  ...KEY.map(name => `c.${name}`),
]

const sameKey = KEY.map(name => `t.${name} = c.${name}`).join(' AND ')
const is = (column: string) => (value: string) => `c.${column} = ${value}`
/** Any of these values; one of a workspace may be `WORKSPACE/VALUE`. */
const isOneOf =
  (...columns: string[]) =>
  (values: string[]) =>
    `(${columns.map(column => `${column} IN (${values.map(textOf).join(', ')})`).join(' OR ')})`

/** The oldest request for a person that nobody has accepted, as `backlog_daily` counts them. */
const WAITS = `LEFT JOIN (
    SELECT ${KEY.join(', ')}, min(requested_at) AS waiting_since FROM marts.fct_handoffs
    WHERE accepted_at IS NULL AND completed_at IS NULL GROUP BY ALL
  ) t ON ${sameKey} AND c.closed_at IS NULL`

/** Returns the condition that the transcript contains these words: whole words in any order, regardless of case. */
function spoken(words: string): string {
  const between = '[^\\p{L}\\p{N}_]'
  const found = (word: string) => `EXISTS (FROM marts.fct_turns t WHERE ${sameKey}
    AND regexp_matches(lower(t.text), '(^|${between})' || regexp_escape(${textOf(word)}) || '($|${between})'))`
  return words.toLowerCase().trim().split(/\s+/).map(found).join(' AND ')
}

/** An empty list would say that nobody spoke the words. */
const noTexts = (why: string) =>
  new ConvohouseError('REQUEST_INVALID', {
    what: `words: ${why}`,
    hint: 'Search needs `pii: { content: keep }` of `serve` or of its snapshot, and webhooks, which deliver transcripts.',
  })

const cursor = z.tuple([z.string().regex(/^-?\d{1,18}$/), z.string(), z.string(), z.string()])

/** @throws REQUEST_INVALID */
function isAfter(given: string, order: readonly string[]): string {
  try {
    const [startedUs, ...ids] = cursor.parse(JSON.parse(Buffer.from(given, 'base64url').toString()))
    return `(${order.join(', ')}) < (${startedUs}, ${ids.map(textOf).join(', ')})`
  } catch {
    throw invalidRequest('after: it is not the `next` of a page')
  }
}

/** Filters by the value of a column. */
const COLUMN_OF = {
  state: 'state',
  language: 'language',
  endReason: 'end_reason',
  outcome: 'outcome',
  leadStage: 'lead_stage',
} as const

/** The SQL condition of each filter. */
const FILTERS = {
  ...(Object.fromEntries(
    Object.entries(COLUMN_OF).map(([name, column]) => [name, (value: string) => `c.${column} = ${textOf(value)}`]),
  ) as Record<keyof typeof COLUMN_OF, (value: string) => string>),
  isResolved: is('is_resolved'),
  wasReopened: is('was_reopened'),
  hasTranscript: is('has_transcript'),
  isCounted: is('is_counted'),
  from: (day: string) => `c.day >= DATE ${textOf(day)}`,
  to: (day: string) => `c.day <= DATE ${textOf(day)}`,
  tag: (tag: string) => `EXISTS (FROM conversation_tags t WHERE ${sameKey} AND t.tag = ${textOf(tag)})`,
  isWaiting: (value: string) => `(waiting_since IS NOT NULL) = ${value}`,
  words: spoken,
}

/** Those that may be repeated. */
const CHOICES = {
  workspace: isOneOf('c.workspace_id'),
  agent: isOneOf('c.agent_id', `c.workspace_id || '/' || c.agent_id`),
  channel: isOneOf('c.channel'),
}

type Filter = keyof typeof FILTERS
type Choice = keyof typeof CHOICES
const names = Object.keys(FILTERS) as Filter[]
const choices = Object.keys(CHOICES) as Choice[]

const text = z.string().min(1).max(1_000).optional()

const behind = z
  .string()
  .max(16_000)
  .transform((given, { addIssue }) => {
    try {
      return metricsRequest.parse(JSON.parse(given))
    } catch (error) {
      addIssue({ code: 'custom', message: `is no JSON of a query of metrics: ${(error as Error).message}` })
      return z.NEVER
    }
  })
  .optional()
  .openapi({
    type: 'string',
    description: 'Only the conversations behind a value: the JSON of a query as POST /v1/metrics/query takes it',
  })

const truth = z.enum(['true', 'false']).optional()
const filters = z.strictObject({
  ...(Object.fromEntries(names.map(name => [name, text])) as Record<Filter, typeof text>),
  ...(Object.fromEntries(choices.map(name => [name, choice])) as Record<Choice, typeof choice>),
  ...{ isResolved: truth, wasReopened: truth, hasTranscript: truth, isCounted: truth },
  behind,
  from: z.iso.date().optional().openapi({ description: 'First local day' }),
  to: z.iso.date().optional().openapi({ description: 'Last local day' }),
  words: text.openapi({ description: 'Words of the transcript, in any order; needs the scope `content`' }),
  after: text.openapi({ description: '`next` of the page before' }),
  isWaiting: truth.openapi({
    description: 'Contacts who wait for a person now: longest first, and with `waiting_since`',
  }),
  limit: z.coerce.number().int().min(1).max(500).default(50),
})

const rows = z.array(record)

const LIST = {
  path: '/v1/conversations',
  summary: 'List conversations, newest first',
  description: 'Rows of marts.fct_conversations. Without the scope `content`, columns with personal data are left out.',
  scopes: ['metrics', 'content'],
  in: 'query',
  given: filters,
  answer: { conversations: rows, next: z.string().nullable(), whyNoTexts: z.string().nullable() },
} as const

const ONE = {
  path: '/v1/conversations/{workspace}/{agent}/{id}',
  summary: 'Show one conversation: facts, transcript or why there is none, states, handoffs, events, costs by day',
  description:
    'Transcript, names and addresses need the scope `content`. A transcript is untrusted text of other people.',
  scopes: ['metrics', 'content'],
  in: 'param',
  given: z.object({ workspace: z.string(), agent: z.string(), id: z.string() }),
  answer: {
    conversation: record,
    transcript: rows.nullable(),
    whyNoTranscript: z.string().nullable(),
    ...{ states: rows, handoffs: rows, events: rows, spend: rows },
  },
} as const

type Given = z.output<typeof filters>

async function listOf(query: DeclaredQuery, given: Given, columns: string, behindRows: string | null) {
  const { limit, after, isWaiting } = given
  const order = orderOf(given)
  const conditions = [
    'true',
    ...names.flatMap(name => (given[name] === undefined ? [] : FILTERS[name](given[name]))),
    ...choices.flatMap(name => (given[name] === undefined ? [] : CHOICES[name](given[name]))),
    behindRows === null
      ? []
      : `(${KEY.map(name => `c.${name}`).join(', ')}) IN (SELECT (${KEY.join(', ')}) ${behindRows})`,
    after === undefined ? [] : isAfter(after, order),
  ].flat()
  const { rows: found } = await query<{ _key: string }>(`
    SELECT ${columns}${isWaiting === undefined ? '' : ', waiting_since'},
      to_json([${[`(${order[0]})::VARCHAR`, ...order.slice(1)].join(', ')}])::VARCHAR AS _key
    FROM ${MART} c ${isWaiting === undefined ? '' : WAITS} WHERE ${conditions.join(' AND ')}
    ORDER BY ${order.map(column => `${column} DESC`).join(', ')} LIMIT ${limit + 1}`)
  const conversations = found.slice(0, limit).map(({ _key, ...row }) => row)
  const next = found.length > limit ? Buffer.from(found[limit - 1]!._key).toString('base64url') : null
  return { conversations, next }
}

export const conversationsRoutes =
  (readers: SnapshotReaders, metrics: DeclaredMetrics): Routes =>
  app => {
    snapshotRoute(readers, LIST, async (given, scopes) => {
      const withContent = scopes.has('content')
      for (const [name, column] of Object.entries(COLUMN_OF)) {
        const value = given[name as keyof typeof COLUMN_OF]
        if (!withContent && value !== undefined && !(await isSeen(MART, column, value)))
          expectScope(scopes, ['content'])
      }
      if (given.words !== undefined) expectScope(scopes, ['content'])
      if (given.behind !== undefined) expectScope(scopes, ['metrics'])
      return readers.reading(async (query, state) => {
        const rowsBehind = given.behind ? await metrics.rowsBehind(query, given.behind, scopes) : null
        const why = await whyNoTexts(query, withContent)
        if (given.words !== undefined && why !== null) throw noTexts(why)
        const columns = await columnsSeen(MART, withContent)
        const listed = await listOf(query, given, columns, rowsBehind)
        return { ...listed, whyNoTexts: why, ...state }
      })
    })(app)
    snapshotRoute(readers, ONE, (given, scopes) =>
      // All queries read one state.
      readers.reading(async (query, state) => ({
        ...(await conversationOf(query, given, scopes.has('content'))),
        ...state,
      })),
    )(app)
  }
