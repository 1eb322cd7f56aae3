// Declared figures over HTTP: values, comparison and coverage, the conversations behind a value, what explains a change.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { METRICS } from '../../src/metrics/all-metrics.ts'
import { queryAnswers, type Series } from '../../src/metrics/answer-format.ts'
import { metricOf } from '../../src/metrics/declaration.ts'
import { DeclaredMetrics } from '../../src/serve/declared-metrics.ts'
import { rowsIn } from '../publish/published.ts'
import { bearer, send, served, tokenFor } from './served.ts'

const at = served()

const ask = async (...queries: object[]) => {
  const headers = bearer(await tokenFor(at.tokens, 'metrics', 'content'))
  return send(at.running, '/v1/metrics/query', { method: 'POST', headers, body: { queries } })
}

const EVER = { from: '0001-01-01', to: '9999-12-31' }
const OCTOBER = { from: '2026-10-01', to: '2026-10-31' }

describe('declared figures', () => {
  it('are listed with their definitions, without dimensions of people for a token that may not see names', async () => {
    const listed = async (...scopes: ('metrics' | 'content')[]) =>
      (await send(at.running, '/v1/metrics', { headers: bearer(await tokenFor(at.tokens, ...scopes)) })).json
    const { metrics, asOf } = await listed('metrics', 'content')
    expect(metrics).toHaveLength(METRICS.length)
    expect(metrics[0]).toMatchObject({ name: 'conversations', unit: 'count', definition: expect.any(String) })
    expect(Date.parse(asOf)).not.toBeNaN()
    const namesOf = (all: { dimensions: { name: string }[] }[]) =>
      new Set(all.flatMap(one => one.dimensions.map(({ name }) => name)))
    expect([...namesOf(metrics)]).toEqual(expect.arrayContaining(['assignee', 'agent', 'channel', 'tag']))
    const few = namesOf((await listed('metrics')).metrics)
    expect([...few]).toEqual(expect.arrayContaining(['agent', 'channel', 'tag']))
    for (const name of ['assignee', 'accepted_by', 'responder', 'person']) expect([...few]).not.toContain(name)
    const body = { queries: [{ metrics: ['conversations'], period: EVER, split: 'assignee' }] }
    const headers = bearer(await tokenFor(at.tokens, 'metrics'))
    const refused = await send(at.running, '/v1/metrics/query', { method: 'POST', headers, body })
    expect([refused.status, refused.json.error.code]).toEqual([403, 'SCOPE_MISSING'])
  })

  it('are the same when a value of the split, or none, is the filter', async () => {
    const asked = { metrics: ['handoffs'], period: EVER }
    const [{ metrics }] = (await ask({ ...asked, split: 'team', top: 100 })).json.answers
    const series = metrics[0].series.slice(0, -1) as Series[]
    expect(series.map(({ split }) => split!.value)).toContain(null)
    for (const { split, total } of series) {
      const filters = { team: [`${split!.workspaceId}/${split!.value ?? ''}`] }
      const filtered = (await ask({ ...asked, filters })).json.answers[0].metrics[0]
      expect(filtered.series.at(-1).total.value).toBe(total!.value)
    }
  })

  it('answer many questions from one state: values by split, the conversations behind them, and refusals', async () => {
    const { json } = await ask(
      { metrics: ['conversations', 'resolution_rate'], period: EVER, split: 'channel', top: 2 },
      {
        ...{ metrics: ['conversations'], period: EVER, ask: 'conversations' },
        ...{ filters: { channel: ['webchat'] }, limit: 1000 },
      },
    )
    const [{ metrics }, { conversations }] = json.answers
    const count = async (where: string) =>
      (await rowsIn(at.path, `SELECT count(*)::INTEGER FROM marts.fct_conversations WHERE ${where}`))[0]![0]
    const total = await count('is_counted')
    const [volume, rate] = metrics
    expect(volume.series.at(-1)).toMatchObject({ split: null, total: { value: total, n: total } })
    const isOther = volume.series.map((one: { split: { isOther: boolean } | null }) => one.split?.isOther ?? null)
    expect(isOther).toEqual([false, false, true, null])
    expect(rate.sql).toContain('marts.fct_conversations')
    expect(conversations).toHaveLength((await count("is_counted AND channel = 'webchat'")) as number)
    for (const [query, code] of [
      [{ metrics: ['nonsense'], period: EVER }, 'METRIC_UNKNOWN'],
      [{ metrics: ['lead_value'], period: EVER }, 'METRIC_INVALID'],
      [{ metrics: ['conversations'], period: EVER, grain: 'day' }, 'METRIC_INVALID'],
      [{ metrics: ['conversations'], period: EVER, split: 'tag' }, 'METRIC_INVALID'],
      [{ metrics: ['tagged_conversations'], period: OCTOBER, grain: 'hour' }, 'METRIC_INVALID'],
      [{ metrics: ['conversations'], period: 'last-week' }, 'REQUEST_INVALID'],
      [{ metrics: ['conversations'], period: EVER, compare: true }, 'METRIC_INVALID'],
      [{ metrics: ['conversations'], period: OCTOBER, filters: { channel: ['a\0b'] } }, 'REQUEST_INVALID'],
      [{ metrics: ['conversations'], period: OCTOBER, ask: 'conversations', bucket: '2026-10-05' }, 'METRIC_INVALID'],
      [{ metrics: ['lead_value'], period: OCTOBER, ask: 'explanation', split: 'currency' }, 'METRIC_INVALID'],
    ] as const) {
      const { json: refusal } = await ask(query)
      expect([query, refusal.error?.code]).toEqual([query, code])
    }
  })

  it('say that a period was not exported instead of comparing with nothing', async () => {
    const compared = await ask({ metrics: ['conversations'], period: OCTOBER, compare: true })
    const [{ metrics }] = compared.json.answers
    expect(metrics[0].series.at(-1).total).toMatchObject({ isCovered: false, comparedWith: null })
    const query = { metrics: ['conversations'], period: OCTOBER, split: 'channel', ask: 'explanation' }
    const whyNone = 'A period was not exported completely.'
    expect((await ask(query)).json.answers).toEqual([{ explanation: null, whyNone }])
    const never = await ask({ metrics: ['conversations'], period: { from: '1999-01-01', to: '1999-01-31' } })
    const { value, n, isCovered } = never.json.answers[0].metrics[0].series.at(-1).total
    expect({ value, n, isCovered }).toEqual({ value: null, n: 0, isCovered: false })
  })

  it('count what daily figures count, not their rows, and rank by it', async () => {
    const { json } = await ask({ metrics: ['tagged_conversations'], period: EVER, split: 'tag', top: 3 })
    const { series } = json.answers[0].metrics[0]
    const totals = series.map((one: { total: { value: number; n: number } }) => one.total)
    for (const { value, n } of totals) expect(n).toBe(value)
    const byHand = await rowsIn(
      at.path,
      'SELECT sum(conversations)::INTEGER FROM marts.tags_daily GROUP BY tag ORDER BY 1 DESC LIMIT 3',
    )
    expect(totals.slice(0, 3).map(({ n }: { n: number }) => n)).toEqual(byHand.map(([count]) => count))
  })

  it('say when conversations were cut, and what another dimension would need', async () => {
    const query = { metrics: ['conversations'], period: EVER, ask: 'conversations', limit: 1 }
    const [{ conversations, truncated, sql }] = (await ask(query)).json.answers
    expect([conversations.length, truncated, sql]).toEqual([1, true, expect.stringContaining('SELECT')])
    expect((await ask({ ...query, limit: 1000 })).json.answers[0].truncated).toBe(false)
    const { json } = await ask({ metrics: ['conversations'], period: EVER, split: 'tag' })
    expect(json.error.hint).toContain('channel')
  })

  it('are refused before an answer could fill the memory', async () => {
    const period = { from: '2024-01-01', to: '2026-12-31' }
    const query = { metrics: Array(16).fill('tagged_conversations'), period, grain: 'day', split: 'tag', top: 9 }
    const { answers } = (await ask(...Array(10).fill(query))).json
    const codes = answers.map((one: { error?: { code: string } }) => one.error?.code)
    expect(codes).toEqual([undefined, ...Array(9).fill('METRIC_INVALID')])
    expect((await ask({ ...query, top: 100 })).json.error.code).toBe('METRIC_INVALID')
  })

  it('have the forms that OpenAPI describes', async () => {
    const asked = { metrics: ['leads', 'lead_value'], period: OCTOBER, split: 'currency', compare: true }
    const filters = { workspace: ['days-that-are-covered'], agent: ['1 whole'] }
    const period = { from: '2026-11-12', to: '2026-11-12' }
    const day = { metrics: ['conversations'], period, filters, split: 'channel' }
    const queries = [asked, { ...day, ask: 'conversations' }, { ...day, ask: 'explanation' }]
    const { answers } = (await ask(...queries, { ...asked, metrics: ['nonsense'] })).json
    expect(answers.slice(0, 3).map((answer: unknown) => z.union(queryAnswers).parse(answer))).toEqual(
      answers.slice(0, 3),
    )
    expect(answers[2].explanation.contributions).not.toEqual([])
    const { components, paths } = (await send(at.running, '/openapi.json')).json
    expect(components.schemas.MetricAnswer.properties.unit.enum).toContain('share')
    const { schema } = paths['/v1/metrics/query'].post.responses['200'].content['application/json']
    expect(schema.properties.answers.items.anyOf.map(({ $ref }: { $ref: string }) => $ref.split('/').at(-1))).toEqual([
      ...['MetricAnswers', 'ConversationsBehind', 'ExplanationAnswer', 'Problem'],
    ])
  })

  it('that fail leave the others of the request answered', async () => {
    const asked = { metrics: ['conversations'], period: EVER }
    const { status, json } = await ask({ ...asked, metrics: ['nonsense'] }, asked, { ...asked, split: 'tag' })
    expect([status, json.answers]).toMatchObject([
      200,
      [
        { error: { code: 'METRIC_UNKNOWN', what: expect.any(String), hint: expect.any(String) } },
        { metrics: [{ metric: 'conversations' }] },
        { error: { code: 'METRIC_INVALID' } },
      ],
    ])
  })

  it('of users quote no value of the data in an error', async () => {
    const own = metricOf({
      ...{ name: 'own', title: '', subject: '', definition: '', misleads: '', unit: 'count', dimensions: [] },
      ...{ mart: 'fct_conversations', numerator: 'sum(assignee_id::DOUBLE)', where: 'assignee_id IS NOT NULL' },
      behind: 'assignee_id::DOUBLE > 0',
    })
    const { running } = await at.start({ metrics: new DeclaredMetrics([own], at.classes), tokens: at.tokens })
    const headers = bearer(await tokenFor(at.tokens, 'metrics'))
    const query = { metrics: ['own'], period: EVER }
    const refused = { code: 'METRIC_INVALID', what: 'The SQL of a metric fails on values of the snapshot.' }
    const body = { queries: [query] }
    const { json } = await send(running, '/v1/metrics/query', { method: 'POST', headers, body })
    expect(json.error).toMatchObject(refused)
    const path = `/v1/conversations?behind=${encodeURIComponent(JSON.stringify(query))}`
    expect((await send(running, path, { headers })).json.error).toMatchObject(refused)
  })
})
