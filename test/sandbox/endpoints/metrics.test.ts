import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import type { Metric } from '../../../src/sandbox/world/agents/metrics.ts'
import { exportPage, firstAgent, open } from '../caller.ts'
import { ask, resources } from './writer.ts'

type Answer = { success: boolean; message?: string; metric: Metric; code?: string }

const path = (sandbox: Sandbox, id: string) => `/v3/agents/${firstAgent(sandbox)}/custom-metrics/${id}`
const get = (sandbox: Sandbox, id: string) => ask<Answer>(sandbox, 'GET', path(sandbox, id))
const put = (sandbox: Sandbox, id: string, metric: unknown) =>
  ask<Answer>(sandbox, 'PUT', path(sandbox, id), { metric })

describe('a custom metric', () => {
  it('is found by every id that conversations carry', async () => {
    const sandbox = await open()
    const { data } = await exportPage(sandbox, firstAgent(sandbox), { limit: 100 })
    const carried = data.flatMap(({ metrics }) => (metrics ?? []) as { metricId: string; key: string; type: string }[])
    const distinct = [...new Map(carried.map(metric => [metric.metricId, metric])).values()]
    expect(distinct.length).toBe(5)
    for (const { metricId: id, key, type } of distinct)
      expect((await get(sandbox, id)).body).toMatchObject({ success: true, metric: { id, key, type } })
  })

  it('has every documented field, and options only if it is an enum', async () => {
    const sandbox = await open()
    const { metrics } = await resources(sandbox)
    for (const { id, isSystem } of metrics.filter(({ agentId }) => agentId === firstAgent(sandbox))) {
      const { metric } = (await get(sandbox, id)).body
      const fields = ['createdAtUNIX', 'description', 'id', 'isSystem', 'key', 'type', 'updatedAtUNIX']
      const options = metric.type === 'enum' ? ['options'] : []
      expect(Object.keys(metric).sort()).toEqual([...fields, ...options].sort())
      expect(metric.isSystem).toBe(isSystem)
    }
    expect(new Set(metrics.map(({ isSystem }) => isSystem))).toEqual(new Set([true, false]))
  })

  it('changes only in the given fields, and stays changed', async () => {
    const sandbox = await open()
    const { metric: before } = (await get(sandbox, 'met_sentiment')).body
    const { status, body } = await put(sandbox, 'met_sentiment', { options: ['up', 'down'] })
    const updatedAtUNIX = Math.floor(sandbox.clock.now() / 1000)
    expect([status, body.metric]).toEqual([200, { ...before, options: ['up', 'down'], updatedAtUNIX }])
    expect((await get(sandbox, 'met_sentiment')).body.metric).toEqual(body.metric)
    expect((await put(sandbox, 'met_sentiment', {})).body.metric).toEqual(body.metric)
    const other = sandbox.world.agentIds()[1]
    const untouched = await ask<Answer>(sandbox, 'GET', `/v3/agents/${other}/custom-metrics/met_sentiment`)
    expect(untouched.body.metric.options).toEqual(before.options)
  })

  it('loses its options when it is no enum any more', async () => {
    const sandbox = await open()
    expect((await put(sandbox, 'met_sentiment', { type: 'number' })).body.metric).not.toHaveProperty('options')
  })

  it.each([
    ['the key of another metric', { key: 'effort' }],
    ['the key of a system metric', { key: 'solved' }],
    ['an empty key', { key: '' }],
    ['options of a number', { type: 'number', options: ['a'] }],
    ['a description that is no text', { description: 1 }],
  ])('is not updated with %s', async (_what, metric) => {
    const sandbox = await open()
    const { metric: before } = (await get(sandbox, 'met_sentiment')).body
    const { status, body } = await put(sandbox, 'met_sentiment', metric)
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST'])
    expect((await get(sandbox, 'met_sentiment')).body.metric).toEqual(before)
  })
})
