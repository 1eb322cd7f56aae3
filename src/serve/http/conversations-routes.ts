// `GET /v1/conversations`: a list with filters, page by page, and one conversation with everything that is known of it.
import { z } from '@hono/zod-openapi'
import { ConvohouseError } from '../../core/errors.ts'
import { columnsSeen } from '../column-classes.ts'
import { conversationOf, KEY, MART, NO_TEXTS, textOf } from '../conversation.ts'
import type { DeclaredQuery, SnapshotReaders } from '../readers/snapshot-readers.ts'
import { expectScope, type Routes } from './app.ts'
import { invalidRequest } from './problem.ts'
import { record, snapshotRoute } from './snapshot-route.ts'

/** Newest first; rows without a time come last. */
const STARTED_US = 'CASE WHEN isfinite(c.started_at) THEN epoch_us(c.started_at) ELSE 0 END'
const ORDER = [STARTED_US, ...KEY.map(name => `c.${name}`)]

const sameKey = KEY.map(name => `t.${name} = c.${name}`).join(' AND ')
const equals = (column: string) => (value: string) => `c.${column} = ${textOf(value)}`
const is = (column: string) => (value: string) => `c.${column} = ${value}`

/** Returns the condition that the transcript contains these words: whole words in any order, regardless of case. */
function spoken(words: string): string {
  const between = '[^\\p{L}\\p{N}_]'
  const found = (word: string) => `EXISTS (FROM marts.fct_turns t WHERE ${sameKey}
    AND regexp_matches(lower(t.text), '(^|${between})' || regexp_escape(${textOf(word)}) || '($|${between})'))`
  return words.toLowerCase().trim().split(/\s+/).map(found).join(' AND ')
}

/** An empty list would say that nobody spoke the words. @throws REQUEST_INVALID */
async function expectTexts(query: DeclaredQuery): Promise<void> {
  const { rows } = await query(`SELECT 1 FROM marts.fct_turns WHERE text <> '' LIMIT 1`)
  if (rows.length > 0) return
  throw new ConvohouseError('REQUEST_INVALID', {
    what: `words: ${NO_TEXTS}`,
    hint: 'Search needs `pii: { content: keep }` of `serve` or of its snapshot, and webhooks, which deliver transcripts.',
  })
}

const cursor = z.tuple([z.string().regex(/^-?\d{1,18}$/), z.string(), z.string(), z.string()])

/** @throws REQUEST_INVALID */
function isAfter(given: string): string {
  try {
    const [startedUs, ...ids] = cursor.parse(JSON.parse(Buffer.from(given, 'base64url').toString()))
    return `(${ORDER.join(', ')}) < (${startedUs}, ${ids.map(textOf).join(', ')})`
  } catch {
    throw invalidRequest('after: it is not the `next` of a page')
  }
}

/** The SQL condition of each filter. */
const FILTERS = {
  workspace: equals('workspace_id'),
  agent: equals('agent_id'),
  channel: equals('channel'),
  state: equals('state'),
  language: equals('language'),
  endReason: equals('end_reason'),
  outcome: equals('outcome'),
  leadStage: equals('lead_stage'),
  isResolved: is('is_resolved'),
  wasReopened: is('was_reopened'),
  hasTranscript: is('has_transcript'),
  isCounted: is('is_counted'),
  from: (day: string) => `c.day >= DATE ${textOf(day)}`,
  to: (day: string) => `c.day <= DATE ${textOf(day)}`,
  tag: (tag: string) => `EXISTS (FROM conversation_tags t WHERE ${sameKey} AND t.tag = ${textOf(tag)})`,
  words: spoken,
  after: isAfter,
}

type Filter = keyof typeof FILTERS
const names = Object.keys(FILTERS) as Filter[]

const text = z.string().min(1).max(1_000).optional()
const truth = z.enum(['true', 'false']).optional()
const filters = z.strictObject({
  ...(Object.fromEntries(names.map(name => [name, text])) as Record<Filter, typeof text>),
  ...{ isResolved: truth, wasReopened: truth, hasTranscript: truth, isCounted: truth },
  from: z.iso.date().optional().openapi({ description: 'First local day' }),
  to: z.iso.date().optional().openapi({ description: 'Last local day' }),
  words: text.openapi({ description: 'Words of the transcript, in any order; needs the scope `content`' }),
  after: text.openapi({ description: '`next` of the page before' }),
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
  answer: { conversations: rows, next: z.string().nullable() },
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

async function listOf(query: DeclaredQuery, { limit, ...given }: z.output<typeof filters>, columns: string) {
  const conditions = names.flatMap(name => (given[name] === undefined ? [] : [FILTERS[name](given[name])]))
  const { rows: found, ...state } = await query<{ _key: string }>(`
    SELECT ${columns}, to_json([${[`(${STARTED_US})::VARCHAR`, ...ORDER.slice(1)].join(', ')}])::VARCHAR AS _key
    FROM ${MART} c WHERE ${['true', ...conditions].join(' AND ')}
    ORDER BY ${ORDER.map(column => `${column} DESC`).join(', ')} LIMIT ${limit + 1}`)
  const conversations = found.slice(0, limit).map(({ _key, ...row }) => row)
  const next = found.length > limit ? Buffer.from(found[limit - 1]!._key).toString('base64url') : null
  return { conversations, next, ...state }
}

export const conversationsRoutes =
  (readers: SnapshotReaders): Routes =>
  app => {
    snapshotRoute(readers, LIST, async (given, scopes) => {
      if (given.words !== undefined) {
        expectScope(scopes, ['content'])
        await expectTexts(readers.rows)
      }
      return listOf(readers.rows, given, await columnsSeen(MART, scopes.has('content')))
    })(app)
    snapshotRoute(readers, ONE, (given, scopes) =>
      // All queries read one state.
      readers.reading(async (query, state) => ({
        ...(await conversationOf(query, given, scopes.has('content'))),
        ...state,
      })),
    )(app)
  }
