// Questions for metrics. Those that a page asks at the same time travel in one request, and are answered from one state.
import type { ConversationKey, Explanation, MetricAnswered } from '../../../metrics/answer-metrics.ts'
import type { MetricsRequest } from '../../../metrics/request.ts'
import type { ListedMetric } from '../../declared-metrics.ts'
import { getJson, postJson, RequestFailed } from './client.ts'
import { useAnswer } from './resource.ts'

export type { Explanation, ListedMetric, MetricAnswered }

export type MetricsQuestion = Partial<Omit<MetricsRequest, 'metrics' | 'period'>> &
  Pick<MetricsRequest, 'metrics' | 'period'>

interface Answer {
  metrics?: MetricAnswered[]
  conversations?: ConversationKey[]
  explanation?: Explanation | null
}

interface Waiting {
  question: MetricsQuestion
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

const MOST = 50
const waiting: Waiting[] = []

const post = async (questions: MetricsQuestion[]): Promise<Answer[]> =>
  (await postJson<{ answers: Answer[] }>('v1/metrics/query', { queries: questions })).answers

async function flush(): Promise<void> {
  const batch = waiting.splice(0, MOST)
  if (waiting.length > 0) void flush()
  try {
    const answers = await post(batch.map(({ question }) => question))
    for (const [at, { resolve }] of batch.entries()) resolve(answers[at]!)
  } catch (error) {
    const isOne = batch.length === 1 || !(error instanceof RequestFailed) || error.status !== 400
    if (isOne) for (const { reject } of batch) reject(error)
    // One question that cannot be answered fails alone.
    else for (const one of batch) post([one.question]).then(([answer]) => one.resolve(answer!), one.reject)
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

/** Explanations in the order of the questions; null where a period is not covered or has too few observations. */
export const useExplanations = (questions: readonly MetricsQuestion[]) =>
  useAnswer(questions.length === 0 ? null : `explain ${JSON.stringify(questions)}`, () =>
    Promise.all(questions.map(async one => (await ask({ ...one, ask: 'explanation' })).explanation ?? null)),
  )

export const useListedMetrics = () =>
  useAnswer('metrics', async () => {
    const { metrics } = await getJson<{ metrics: ListedMetric[] }>('v1/metrics')
    return new Map(metrics.map(metric => [metric.name, metric]))
  })
