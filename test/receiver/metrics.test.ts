// The receiver's metrics, parsed as Prometheus does.
import { expect, it } from 'vitest'
import { describeWithPromtool } from '../promtool.ts'
import { families, sampleOf } from '../telemetry/scrape.ts'
import { startTestReceiver, WORKSPACE } from './test-receiver.ts'

const event = { event: 'webhook_test', createdAt: 1, message: 'a' }

await describeWithPromtool("the receiver's metrics", promtool => {
  it('count kept and refused webhooks, in the format of Prometheus', async () => {
    const { receiver, post } = await startTestReceiver()
    await post(event)
    await post({ ...event, workspaceSecret: 'a wrong secret' })
    const answer = await fetch(`${receiver.url}/metrics`)
    expect(answer.headers.get('Content-Type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const text = await answer.text()
    expect(await promtool.check(['check', 'metrics'], text)).toEqual({ code: 0, output: '' })
    expect([...families(text).keys()].sort()).toEqual([
      'convohouse_spool_bytes_total',
      'convohouse_spool_open_segments',
      'convohouse_spool_sync_seconds',
      'convohouse_webhooks_ack_seconds',
      'convohouse_webhooks_acked_total',
      'convohouse_webhooks_events_total',
      'convohouse_webhooks_received_total',
      'convohouse_webhooks_refused_total',
    ])
    expect(sampleOf(text, 'convohouse_webhooks_received_total')).toBe(2)
    expect(sampleOf(text, 'convohouse_webhooks_acked_total')).toBe(1)
    expect(sampleOf(text, 'convohouse_webhooks_refused_total', { reason: 'wrong-secret', workspace: WORKSPACE })).toBe(
      1,
    )
    expect(sampleOf(text, 'convohouse_webhooks_refused_total', { reason: 'disk-refuses', workspace: '' })).toBe(0)
    expect(sampleOf(text, 'convohouse_webhooks_events_total', { workspace: WORKSPACE })).toBe(1)
    expect(sampleOf(text, 'convohouse_webhooks_ack_seconds')).toBe(1)
    expect(sampleOf(text, 'convohouse_spool_open_segments')).toBeGreaterThan(0)
  })
})
