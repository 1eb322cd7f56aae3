// Changes of marts for which the corpus has no case: long lists, metrics that come and go, other names, other service levels, counts at the limit.
import { beforeAll, expect, it } from 'vitest'
import { DAY, MINUTE } from '../../../src/core/time.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { applyResponseRules } from '../../../src/warehouse/marts/response-rules.ts'
import { corpusWarehouse } from '../corpus/template.ts'
import { freshWindow, landConversations, landMetric, landVoices, SENT_AT_MS } from '../landed-pages.ts'

const app = corpusWarehouse()

const START = Date.UTC(2026, 10, 1, 12)

const one = (ID: string, more: object) => ({
  ...{ ID, firstMessageTS: START, lastMessageTS: START, lastModified: START },
  ...more,
})

/** Changes and their effects in marts. All scenarios run at once: each `yield` waits for a refresh, which takes as long as for one. */
const SCENARIOS: Record<string, () => AsyncGenerator<void>> = {
  'lists of tags and values are bounded: the rest is one row': async function* () {
    const { landing, load, rows } = app.workspace()
    const records = Array.from({ length: 130 }, (_, n) => {
      const text = String(Math.max(n, 2)).padStart(3, '0')
      const metrics = [{ key: 'mood', value: `is ${text}` }]
      return one(`c${n}`, { tags: [text], capturedVariables: { color: text }, metrics })
    })
    await load(await landConversations(landing, { records }))
    yield
    const shown = (table: string, rank: string, text: string, counted: string) =>
      rows(
        `marts.${table}`,
        `count(*)::INTEGER AS n, max(${rank}) AS last, sum(${counted})::INTEGER AS all_rows,
         min(${text}) AS first, max(${text}) AS highest, sum(${counted}) FILTER (is_rest)::INTEGER AS rest`,
      )
    // Number 002 occurs three times.
    const texts = (prefix: string, highest: string) => ({
      ...{ first: `${prefix}002`, highest: `${prefix}${highest}`, all_rows: 130 },
    })
    expect(await shown('tags_daily', 'tag_rank', 'tag', 'conversations')).toEqual([
      { n: 101, last: 101, ...texts('', '101'), rest: 28 },
    ])
    expect(await shown('captured_variables_top', 'value_rank', 'value_text', 'conversations')).toEqual([
      { n: 21, last: 21, ...texts('', '021'), rest: 108 },
    ])
    expect(await shown('custom_metrics_daily', 'value_rank', 'value_text', 'measurements')).toEqual([
      { n: 21, last: 21, ...texts('is ', '021'), rest: 108 },
    ])
  },
  'measurements without an id are those of the metric that exists, not of one that is gone or was declared later':
    async function* () {
      const { landing, load, rows } = app.workspace()
      const gone = await landMetric(landing, { metric: { id: 'a_old', key: 'csat', type: 'enum' } })
      await load(gone)
      const body = Buffer.from(JSON.stringify({ message: 'Not found', code: 'NOT_FOUND' }))
      const sentAtMs = SENT_AT_MS + DAY
      const head = await landing.head(gone.address)
      const address = await landing.land(
        {
          ...{
            ...head,
            status: 404,
            sentAtMs,
            receivedAtMs: sentAtMs,
            sentAtServerMs: sentAtMs,
            bodyBytes: body.length,
          },
          place: { ...head.place, window: freshWindow().name },
        },
        body,
      )
      await load({ address, head: await landing.head(address) })
      await load(await landMetric(landing, { metric: { id: 'z_new', key: 'csat', type: 'number' }, sentAtMs }))
      await load(await landMetric(landing, { metric: { id: 'effort', key: 'customer effort', type: 'number' } }))
      const metrics = [
        { key: 'csat', value: 5 },
        { metricId: 'z_new', value: 3 },
        { key: 'effort', value: 2 },
      ]
      await load(await landConversations(landing, { records: [one('m', { metrics })] }))
      yield
      const shown = () =>
        rows('marts.custom_metrics_daily', 'metric_id, declared_type, value_type, measurements, value_sum')
      const number = { declared_type: 'number', value_type: 'number' }
      const csat = { ...number, metric_id: 'z_new', measurements: '2', value_sum: 8 }
      const effort = { ...number, metric_id: 'effort', measurements: '1', value_sum: 2 }
      expect(await shown()).toEqual([effort, csat])
      // Its key is the id of the other metric.
      await load(await landMetric(landing, { metric: { id: 'met2', key: 'effort', type: 'number' }, sentAtMs }))
      yield
      expect(await shown()).toEqual([{ ...effort, metric_id: 'met2' }, csat])
    },
  'an agent has the new name of its voice': async function* () {
    const { landing, load, rows } = app.corpus('handling')
    const voices = [{ provider: 'azure', voiceId: 'v1', name: 'Katja 2' }]
    await load(await landVoices(landing, { voices, sentAtMs: SENT_AT_MS + MINUTE }))
    yield
    expect(await rows('marts.dim_agents', 'voice_name')).toEqual([{ voice_name: 'Katja 2' }])
  },
  'a sum may become infinite, and finite again': async function* () {
    const { landing, load, rows } = app.workspace()
    for (const [satisfaction10, sum] of [
      [1, 2],
      [1e308, 'Infinity'],
      [2, 4],
    ] as const) {
      const records = ['c', 'd'].map(ID => one(ID, { csat: { satisfaction10, submittedAt: START } }))
      await load(await landConversations(landing, { records }))
      yield
      expect(await rows('marts.conversations_daily', 'csat_score_sum AS sum')).toEqual([{ sum }])
    }
  },
  'a sum of counts ends at the limit of BIGINT, and the difference of two is not beyond it': async function* () {
    const { landing, load, rows } = app.workspace()
    // The largest count that a JSON number can represent; it is a text, since JSON.stringify would lose digits.
    const LARGEST = '9223372036854774784'
    const LIMIT = '9223372036854775807'
    const spent = (ID: string, count: string, day = 0) => ({
      ...{ ID, firstMessageTS: START, lastMessageTS: START + day * DAY, lastModified: START + day * DAY + MINUTE },
      messagesNum: count,
      tokenUsage: {
        ...{ cumulativeInputTokens: count, cumulativeOutputTokens: count, cumulativeTotalTokens: count },
        cumulativeUsd: 1e308,
        usagePerModel: { m: { inputTokens: count, outputTokens: count, totalTokens: count, usd: 1e308 } },
      },
    })
    const first = [spent('a', LARGEST), spent('b', LARGEST), spent('c', `-${LARGEST}`)]
    await load(await landConversations(landing, { records: first }))
    yield
    const texts = (...names: string[]) => ['day', ...names].map(name => `${name}::VARCHAR AS ${name}`).join(', ')
    const daily = () => rows('marts.conversations_daily', texts('messages', 'tokens'))
    expect(await daily()).toEqual([{ day: '2026-11-01', messages: LARGEST, tokens: LARGEST }])
    const second = [spent('c', LARGEST, 1), spent('d', '5', 1)]
    await load(await landConversations(landing, { records: second, sentAtMs: SENT_AT_MS + DAY }))
    yield
    expect(await daily()).toEqual([
      { day: '2026-11-01', messages: LIMIT, tokens: LARGEST },
      { day: '2026-11-02', messages: '0', tokens: LIMIT },
    ])
    expect(await rows('marts.token_usage_daily', texts('tokens'))).toEqual([
      { day: '2026-11-01', tokens: LARGEST },
      { day: '2026-11-02', tokens: LIMIT },
    ])
  },
  'a day has the new tags of a conversation although no fact of it differs': async function* () {
    const { landing, load, rows } = app.workspace()
    for (const tag of ['vip', 'refund']) {
      await load(await landConversations(landing, { records: [one('c', { tags: [tag] })] }))
      yield
      expect(await rows('marts.tags_daily', 'tag')).toEqual([{ tag }])
    }
  },
}

const failures = new Map<string, unknown>()

beforeAll(async () => {
  let running = Object.entries(SCENARIOS).map(([name, begin]) => ({ name, steps: begin() }))
  while (running.length > 0) {
    const waiting: typeof running = []
    for (const one of running) {
      const step = await one.steps.next().catch(error => void failures.set(one.name, error))
      if (step && !step.done) waiting.push(one)
    }
    if (waiting.length > 0) await refreshMarts(app.warehouse.writer)
    running = waiting
  }
})

it.each(Object.keys(SCENARIOS))('%s', name => {
  if (failures.has(name)) throw failures.get(name)
})

// The change begins a new epoch, in which the marts are computed again.
it('waits lose targets and business hours that are no longer configured', async () => {
  const { id, rows } = app.corpus('service-levels')
  const none = { timeZone: 'Europe/Berlin', businessHours: null, serviceLevels: [] }
  await applyResponseRules(app.warehouse.writer, id, none)
  await refreshMarts(app.warehouse.writer)
  const waits = await rows('marts.fct_responses', 'sla_name, wait_business_seconds AS business, wait_seconds AS wait')
  expect(waits).toHaveLength(7)
  expect(waits.every(({ sla_name, business, wait }) => sla_name === null && business === wait)).toBe(true)
  expect(await rows('_business_hours')).toEqual([])
})
