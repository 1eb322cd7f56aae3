// Sections 4.7 and 4.8: custom metrics.
import { expect } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import type { Metric } from '../../../src/sandbox/world/agents/metrics.ts'
import { exportPage, firstAgent } from '../caller.ts'
import { ask } from '../endpoints/writer.ts'
import { each, expectRefused, isServed, type Section } from './sentences.ts'

const path = (sandbox: Sandbox, id: string) => `/v3/agents/${firstAgent(sandbox)}/custom-metrics/${id}`
const get = (sandbox: Sandbox, id: string) => ask<{ metric: Metric }>(sandbox, 'GET', path(sandbox, id))
const put = (sandbox: Sandbox, id: string, metric: unknown) =>
  ask<{ metric: Metric }>(sandbox, 'PUT', path(sandbox, id), { metric })

const withoutTimes = ({ updatedAtUNIX: _, ...metric }: Metric) => metric

export const METRIC_READ: Section = {
  sentences: [
    ['is GET …/custom-metrics/{metricId}', isServed('GET /v3/agents/{agentId}/custom-metrics/{metricId}')],
    [
      'the answer has `success` and the metric',
      async open => {
        const { status, body } = await get(await open(), 'met_sentiment')
        const metric = {
          id: 'met_sentiment',
          key: expect.any(String),
          description: expect.any(String),
          type: 'enum',
          isSystem: false,
          options: expect.arrayContaining([expect.any(String)]),
          createdAtUNIX: expect.any(Number),
          updatedAtUNIX: expect.any(Number),
        }
        expect([status, body]).toEqual([200, { success: true, metric }])
      },
    ],
    ['an id that does not exist is a 404', async open => expectRefused(await get(await open(), 'met_none'), 404)],
  ],
}

export const METRIC_UPDATED: Section = {
  sentences: [
    ['is PUT …/custom-metrics/{metricId}', isServed('PUT /v3/agents/{agentId}/custom-metrics/{metricId}')],
    [
      'the body has up to four fields of a metric, wrapped in `metric`',
      async open => {
        const sandbox = await open()
        const sent = { key: 'mood', description: 'How it went', options: ['up', 'down'], type: 'enum' }
        expect((await put(sandbox, 'met_sentiment', sent)).body.metric).toMatchObject(sent)
        expectRefused(await ask(sandbox, 'PUT', path(sandbox, 'met_sentiment'), sent), 400)
      },
    ],
    [
      'only the given fields change',
      async open => {
        const sandbox = await open()
        const { metric: before } = (await get(sandbox, 'met_sentiment')).body
        let expected = withoutTimes(before)
        for (const sent of [{ key: 'mood' }, { description: 'How it went' }, { options: ['up', 'down'] }, {}]) {
          expected = { ...expected, ...sent }
          expect(withoutTimes((await put(sandbox, 'met_sentiment', sent)).body.metric)).toEqual(expected)
          expect(withoutTimes((await get(sandbox, 'met_sentiment')).body.metric)).toEqual(expected)
        }
        // Neither does a change of the type change the options, although only an `enum` metric has them.
        await put(sandbox, 'met_sentiment', { type: 'number' })
        await put(sandbox, 'met_sentiment', { type: 'enum' })
        expect(withoutTimes((await get(sandbox, 'met_sentiment')).body.metric)).toEqual(expected)
      },
    ],
    [
      'options are those of an enum, and a new list replaces the old one',
      async open => {
        const sandbox = await open()
        for (const options of [['a', 'b', 'c'], ['c'], []])
          expect((await put(sandbox, 'met_sentiment', { options })).body.metric.options).toEqual(options)
        expect((await get(sandbox, 'met_effort')).body.metric).not.toHaveProperty('options')
      },
    ],
    [
      'the answer has `success`, a message and the metric',
      async open => {
        const { status, body } = await put(await open(), 'met_sentiment', { description: 'a' })
        const metric = expect.objectContaining({ id: 'met_sentiment', description: 'a' })
        expect([status, body]).toEqual([200, { success: true, message: expect.any(String), metric }])
      },
    ],
    [
      'a new key that exists fails the update as a whole',
      async open => {
        const sandbox = await open()
        const { metric: before } = (await get(sandbox, 'met_sentiment')).body
        for (const key of ['effort', 'solved'])
          expectRefused(await put(sandbox, 'met_sentiment', { key, description: 'a' }), 400)
        expect((await get(sandbox, 'met_sentiment')).body.metric).toEqual(before)
        // Its own key is not a new one.
        expect((await put(sandbox, 'met_sentiment', { key: 'sentiment' })).status).toBe(200)
      },
    ],
    [
      'a system metric cannot be updated',
      async open => {
        const sandbox = await open()
        const { metric: before } = (await get(sandbox, 'met_solved')).body
        const refused = await put(sandbox, 'met_solved', { description: 'a' })
        expectRefused(refused, sandbox.readings['system-metric'] === '400' ? 400 : 403)
        expect((await get(sandbox, 'met_solved')).body.metric).toEqual(before)
      },
      each('system-metric', ['400']),
    ],
    [
      'a change of the type converts no data of the past',
      async open => {
        const sandbox = await open()
        const measured = async () =>
          (await exportPage(sandbox, firstAgent(sandbox), { limit: 100 })).data.map(({ metrics }) => metrics)
        const before = await measured()
        expect(JSON.stringify(before)).toContain('met_sentiment')
        expect((await put(sandbox, 'met_sentiment', { type: 'number' })).status).toBe(200)
        expect(await measured()).toEqual(before)
      },
    ],
  ],
}
