// Questions for metrics. Those that a page asks at the same time travel in one request, and are answered from one state.
import type { Cell, ConversationKey, Explanation, MetricAnswered } from '../../../metrics/answer-format.ts'
import type { MetricsRequest } from '../../../metrics/request.ts'
import type { ListedMetric } from '../../declared-metrics.ts'
import { getJson, type Problem, postJson, RequestFailed } from './client.ts'
import { problemOf, useAnswer } from './resource.ts'

export type { Explanation, ListedMetric, MetricAnswered }

export type MetricsQuestion = Partial<Omit<MetricsRequest, 'metrics' | 'period'>> &
  Pick<MetricsRequest, 'metrics' | 'period'>

interface Answer {
  metrics?: MetricAnswered[]
  conversations?: ConversationKey[]
  explanation?: Explanation | null
  error?: Problem
}

interface Waiting {
  question: MetricsQuestion
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/** An answer has at most 200,000 cells: 25 questions may each have ten values of a split for every day of a year. */
const MOST = 25
const waiting: Waiting[] = []

async function flush(): Promise<void> {
  const batch = waiting.splice(0, MOST)
  if (waiting.length > 0) void flush()
  try {
    const queries = batch.map(({ question }) => question)
    const { answers } = await postJson<{ answers: Answer[] }>('v1/metrics/query', { queries })
    for (const [at, { resolve, reject }] of batch.entries()) {
      const { error } = answers[at]!
      if (error) reject(new RequestFailed(error))
      else resolve(answers[at]!)
    }
  } catch (error) {
    for (const { reject } of batch) reject(error)
  }
}

export function ask(question: MetricsQuestion): Promise<Answer> {
  return new Promise((resolve, reject) => {
    waiting.push({ question, resolve, reject })
    if (waiting.length === 1) setTimeout(() => void flush())
  })
}

/** The values of metrics. */
export const useMetrics = (question: MetricsQuestion | null) =>
  useAnswer(question && JSON.stringify(question), async () => (await ask(question!)).metrics!)

/** Returns the value of all, over the whole period of an answer without a grain. */
export const totalOf = ({ series }: MetricAnswered): Cell => series.at(-1)!.cells[0]!

/** The days of a period: the server knows those of a relative one. Null asks nothing. */
export function usePeriodDays(period: MetricsQuestion['period'] | null, filters: MetricsQuestion['filters'] = {}) {
  const answer = useMetrics(period === null ? null : { metrics: ['conversations'], period, filters })
  return { ...answer, data: answer.data?.[0]?.period ?? null }
}

/** Answers in the order of the questions: of one that fails its problem, unless all fail. */
async function eachOf<T>(asked: readonly Promise<T>[]): Promise<(T | Problem)[]> {
  const settled = await Promise.allSettled(asked)
  const failed = settled.filter(one => one.status === 'rejected')
  if (failed.length > 0 && failed.length === asked.length) throw failed[0]!.reason
  return settled.map(one => (one.status === 'fulfilled' ? one.value : problemOf(one.reason)))
}

/** The first metric of each question, or why it has none. */
export const useEach = (questions: readonly MetricsQuestion[]) =>
  useAnswer(questions.length === 0 ? null : `each ${JSON.stringify(questions)}`, () =>
    eachOf(questions.map(async one => (await ask(one)).metrics![0]!)),
  )

/** Explanations of those questions whose periods are covered and have enough observations. */
export const useExplanations = (questions: readonly MetricsQuestion[]) =>
  useAnswer(questions.length === 0 ? null : `explain ${JSON.stringify(questions)}`, async () => {
    const answers = await eachOf(questions.map(one => ask({ ...one, ask: 'explanation' })))
    return answers.flatMap(answer => ('explanation' in answer && answer.explanation) || [])
  })

export const useListedMetrics = () =>
  useAnswer('metrics', async () => {
    const { metrics } = await getJson<{ metrics: ListedMetric[] }>('v1/metrics')
    return new Map(metrics.map(metric => [metric.name, metric]))
  })
