// The declared metrics, answered from the snapshot. All answers of one request are from one state.
import { z } from 'zod'
import { ConvohouseError } from '../core/errors.ts'
import type { queryAnswers } from '../metrics/answer-format.ts'
import {
  answerMetrics,
  conversationsBehind,
  explainMetric,
  type MetricsContext,
  NO_DAY,
  rowsBehind,
} from '../metrics/answer-metrics.ts'
import type { Metric } from '../metrics/declaration.ts'
import { columnsOf, DIMENSIONS, type DimensionName } from '../metrics/dimensions.ts'
import { dimensionsUsed, type MetricsRequest, metricNamed, metricsRequest, mostCells } from '../metrics/request.ts'
import { errorAnswer } from '../warehouse/query/http/protocol.ts'
import type { Scope } from './access/tokens.ts'
import { type ColumnClasses, isPlain } from './column-classes.ts'
import { AnswerCache } from './readers/answer-cache.ts'
import type { DeclaredQuery, SnapshotReaders, SnapshotState } from './readers/snapshot-readers.ts'

export const metricsQueries = z.strictObject({
  /** Answered in order, all from one state. */
  queries: z.array(metricsRequest).min(1).max(50),
})

type QueryAnswer = z.output<(typeof queryAnswers)[number]>

/** In the place of an answer: one failing query of several. */
type Refusal = ReturnType<typeof errorAnswer>['body']

/** A metric as clients see it. */
const SHOWN = [
  ...(['name', 'title', 'subject', 'definition', 'misleads', 'unit', 'better'] as const),
  ...(['minimum', 'needsCoverage', 'isLevel', 'unitBy'] as const),
]

export interface ListedMetric extends Pick<Metric, (typeof SHOWN)[number]> {
  hasConversations: boolean
  dimensions: { name: DimensionName; title: string }[]
}

/** Buckets of all series of one request, of which 100,000 take 10 MB and hold up other requests for half a second. */
const MAX_CELLS = 200_000

const COLUMNS = `SELECT table_name || '.' || column_name AS name FROM duckdb_columns() WHERE schema_name = 'marts'`

export class DeclaredMetrics {
  private readonly metrics: readonly Metric[]
  private readonly classes: ColumnClasses
  private readonly answers = new AnswerCache<QueryAnswer>()

  constructor(metrics: readonly Metric[], classes: ColumnClasses) {
    this.metrics = metrics
    this.classes = classes
  }

  list(scopes: ReadonlySet<Scope>): ListedMetric[] {
    return this.metrics.map(metric => ({
      ...(Object.fromEntries(SHOWN.map(field => [field, metric[field]])) as Pick<Metric, (typeof SHOWN)[number]>),
      hasConversations: metric.behind !== null,
      dimensions: metric.dimensions
        .filter(name => this.isShown(metric, name, scopes))
        .map(name => ({ name, title: DIMENSIONS[name].title })),
    }))
  }

  /** The error of one of several queries is its answer. @throws METRIC_UNKNOWN, METRIC_INVALID, SCOPE_MISSING of a single one */
  answer(
    readers: Pick<SnapshotReaders, 'reading'>,
    { queries }: z.output<typeof metricsQueries>,
    scopes: ReadonlySet<Scope>,
  ): Promise<{ answers: (QueryAnswer | Refusal)[] } & SnapshotState> {
    let cells = 0
    const expectAllowed = (query: MetricsRequest) => {
      this.expectShown(query, scopes)
      const most = cells + mostCells(query, NO_DAY)
      if (most > MAX_CELLS)
        throw new ConvohouseError('METRIC_INVALID', {
          what: `The answer may have ${most} cells, and one may have ${MAX_CELLS}.`,
          hint: 'Ask for fewer metrics, a coarser grain, a shorter period or a smaller `top`; or in several requests.',
        })
      cells = most
    }
    return readers.reading(async (rows, state) => {
      const context = await this.contextOf(rows)
      const answered = async (query: MetricsRequest) => {
        expectAllowed(query)
        return this.answers.get(`${state.version} ${JSON.stringify(query)}`, async () => {
          const answer = await answerOne(context, query)
          // Objects take some five times the memory of their text.
          return { answer, bytes: 5 * JSON.stringify(answer).length }
        })
      }
      const refused = (error: unknown) => {
        if (queries.length === 1 || !(error instanceof ConvohouseError)) throw error
        return errorAnswer(error).body
      }
      return { answers: await Promise.all(queries.map(query => answered(query).catch(refused))), ...state }
    })
  }

  /** Returns the rows of the conversations behind a value as SQL. @throws METRIC_UNKNOWN, METRIC_INVALID, SCOPE_MISSING */
  async rowsBehind(query: DeclaredQuery, request: MetricsRequest, scopes: ReadonlySet<Scope>): Promise<string> {
    this.expectShown(request, scopes)
    return rowsBehind(await this.contextOf(query), request)
  }

  /** Names of people are shown with the scope `content` only; so are words, where the policy keeps texts in their place. */
  private isShown({ mart }: Metric, dimension: DimensionName, scopes: ReadonlySet<Scope>): boolean {
    if (scopes.has('content')) return true
    const classes = this.classes.get(`marts.${mart}`)
    return columnsOf([dimension]).every(column => isPlain(classes?.get(column) ?? 'content'))
  }

  private expectShown(request: MetricsRequest, scopes: ReadonlySet<Scope>): void {
    for (const name of request.metrics) {
      const metric = metricNamed(this.metrics, name)
      const hidden = dimensionsUsed(request).find(
        dimension => metric.dimensions.includes(dimension) && !this.isShown(metric, dimension, scopes),
      )
      if (hidden !== undefined)
        throw new ConvohouseError('SCOPE_MISSING', {
          what: `The dimension ${hidden} has personal data, which needs a token with the scope content.`,
          hint: 'Split and filter by another dimension, or create a token with `--scope metrics,content`.',
        })
    }
  }

  private async contextOf(query: DeclaredQuery): Promise<MetricsContext> {
    const columns = new Set((await query<{ name: string }>(COLUMNS)).rows.map(({ name }) => name))
    return { rows: async <R>(sql: string) => (await query<R>(sql)).rows, columns, metrics: this.metrics }
  }
}

async function answerOne(context: MetricsContext, query: MetricsRequest): Promise<QueryAnswer> {
  if (query.ask === 'conversations') return conversationsBehind(context, query)
  if (query.ask === 'explanation') return explainMetric(context, query)
  return { metrics: await answerMetrics(context, query) }
}
